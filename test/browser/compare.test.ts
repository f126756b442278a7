/** Routes and comparisons in a real browser: the key that marks, the filter, both pages without script. */
import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Context } from '../../app/profiler/record/context.ts';
import { useBrowser, type OpenPage } from '../support/browser.ts';
import { everyPanel } from '../support/every-page.ts';
import { addBusyPage, addCrowd, lasting } from '../support/observed-samples.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';

describe('routes and comparisons in a browser', () => {
  const browser = useBrowser();
  const fixture = createPageFixture(everyPanel());
  const server = usePages(fixture);
  /** Newest first: plain, busy, crowded. */
  const tokens: string[] = [];

  before(async () => {
    const work: ((context: Context) => void)[] = [
      (context) => {
        addCrowd(context, { queries: 200, lines: 500 });
      },
      addBusyPage,
      (context) => void lasting(context, 12),
    ];
    for (const [index, more] of work.entries()) {
      const { token } = await fixture.record({
        url: `/orders/${index}`,
        more: (context) => {
          context.add('route', { pattern: `/orders/:id${'/long'.repeat(index * 20)}`, method: 'GET', params: {}, handler: 'show', source: null }); // prettier-ignore
          more(context);
        },
      });
      tokens.unshift(token);
    }
    while ((await fixture.profiles.read(tokens[0] ?? ''))?.source !== 'stored')
      await new Promise((resolve) => setTimeout(resolve, 5));
  });

  async function open(path: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
    const opened = await browser.open(options);
    await opened.page.goto(`${server.address}/_profiler/${path}`);
    return opened;
  }
  const said = (page: Page): Promise<string | null> => page.locator('#said').textContent();
  const menu = (page: Page): ReturnType<Page['locator']> => page.locator('[data-compare]');

  it('marks the row that has the focus, says so, and opens both with the second', async () => {
    const [newest = '', busy = ''] = tokens;
    const { page, problems } = await open('');
    await page.keyboard.press('x');
    expect(await said(page)).to.equal('Move to a request first, with j and k.');
    await page.locator(`#r-${newest} .go`).focus();
    await page.keyboard.press('x');
    expect(await said(page)).to.equal(
      `${newest} is marked for comparison; press x on another request to compare both.`,
    );
    expect(await menu(page).textContent()).to.equal(`Compare ${newest}`);
    expect(await page.locator(`#r-${newest}`).getAttribute('class')).to.contain('marked');
    await page.locator(`#r-${busy} .go`).focus();
    await page.keyboard.press('x');
    await page.waitForURL(`**/compare?a=${newest}&b=${busy}`);
    expect(await page.locator('.ab .card').count()).to.equal(2);
    expect(await menu(page).textContent()).to.equal('Compare');
    expect(problems).to.deep.equal([]);
  });

  it('marks a profile, keeps the mark across pages, and takes it away again', async () => {
    const [newest = '', busy = ''] = tokens;
    const { page } = await open(newest);
    await page.keyboard.press('x');
    await page.goto(`${server.address}/_profiler/${busy}`);
    expect(await menu(page).getAttribute('href')).to.equal(`/_profiler/compare?a=${newest}`);
    await page.goto(`${server.address}/_profiler/${newest}`);
    await page.keyboard.press('x');
    expect(await said(page)).to.equal(`${newest} is no longer marked for comparison.`);
    expect(await menu(page).getAttribute('href')).to.equal('/_profiler/compare');
  });

  it('is one selection by key and by box, and compares when two are selected', async () => {
    const [newest = '', busy = '', third = ''] = tokens;
    const { page } = await open('');
    const box = (token: string): ReturnType<Page['locator']> => page.locator(`#r-${token} [name=t]`);
    const button = page.getByRole('button', { name: 'Compare selected' });
    expect(await button.isDisabled()).to.equal(true);
    await page.locator(`#r-${newest} .go`).focus();
    await page.keyboard.press('x');
    expect(await box(newest).isChecked()).to.equal(true);
    await page.keyboard.press('x');
    expect(await box(newest).isChecked()).to.equal(false);
    await box(busy).check();
    expect(await menu(page).textContent()).to.equal(`Compare ${busy}`);
    await box(newest).check();
    await box(third).check();
    expect(await button.isDisabled()).to.equal(true);
    await box(third).uncheck();
    await button.click();
    await page.waitForURL(/compare\?t=/);
    expect(await page.locator('.ab .card').count()).to.equal(2);
  });

  it('compares by the form, without script', async () => {
    const [newest = '', busy = ''] = tokens;
    const { page } = await open('compare', { javaScriptEnabled: false });
    expect(await page.locator('.js-only:visible').count()).to.equal(0);
    await page.locator('input[name=a]').fill(newest);
    await page.locator('input[name=b]').fill(busy);
    await page.getByRole('button', { name: 'Compare' }).click();
    expect(await page.locator('#summary').textContent()).to.match(/^B took .* longer/);
    await page.getByRole('link', { name: 'Swap A and B' }).click();
    expect(await page.locator('#summary').textContent()).to.match(/^B took .* less/);
  });

  it('narrows the routes while somebody types, and by the form without script', async () => {
    const { page } = await open('routes');
    const rows = page.locator('#rt tbody tr:visible');
    expect(await rows.count()).to.equal(3);
    await page.getByLabel('Filter routes').last().fill('long/long');
    expect(await rows.count()).to.equal(2);
    expect(await said(page)).to.equal('2 of 3 shown');
    const { page: plain } = await open('routes', { javaScriptEnabled: false });
    await plain.locator('input[name=find]').fill('long/long');
    await plain.getByRole('button', { name: 'Filter' }).click();
    expect(await plain.locator('#rt tbody tr').count()).to.equal(2);
  });

  it('sorts by a click on a column, and leads to a route and its requests', async () => {
    const { page, problems } = await open('routes');
    await page.getByRole('link', { name: 'Requests', exact: true }).last().click();
    expect(await page.locator('th[aria-sort]').textContent()).to.contain('Requests');
    await page.locator('#rt .go').first().click();
    expect(await page.locator('#over-time svg').isVisible()).to.equal(true);
    await page.locator('#over-time summary').click();
    expect(await page.locator('#over-time tbody tr').first().isVisible()).to.equal(true);
    await page.getByRole('link', { name: 'All requests' }).click();
    expect(await page.locator('#rows tbody tr').count()).to.be.greaterThan(0);
    expect(problems).to.deep.equal([]);
  });
});
