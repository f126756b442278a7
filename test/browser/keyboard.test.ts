/** The keyboard on the profiler's pages: the help lists what works there, and what it lists works. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { violations } from '../support/axe.ts';
import { useBrowser, watchCopies } from '../support/browser.ts';
import { everyPanel } from '../support/every-page.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';

describe('the keyboard', () => {
  const browser = useBrowser();
  const fixture = createPageFixture(everyPanel());
  const server = usePages(fixture);
  const tokens: string[] = [];

  before(async () => {
    for (const url of ['/first', '/second', '/third']) {
      tokens.push((await fixture.record({ url })).token);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });

  async function open(path: string): Promise<Page> {
    const { page } = await browser.open();
    await page.goto(server.address + path);
    return page;
  }

  /** Keys of each line of the help, `g r`. */
  async function helpOf(page: Page): Promise<string[]> {
    await page.keyboard.press('?');
    const lines = await page.locator('#keys dt').allInnerTexts();
    await page.keyboard.press('Escape');
    expect(await page.locator('#keys').isVisible()).to.equal(false);
    return lines.map((line) => line.replace(' then', '').trim());
  }

  it('goes to each panel by the letter that the help names, and home', async () => {
    const page = await open(`/_profiler/${tokens[1]}?panel=request#from`);
    const places = (await helpOf(page)).filter((line) => line.startsWith('g '));
    expect(new Set(places).size).to.equal(places.length);
    expect(places.length).to.equal((await page.locator('nav.panels a').count()) + 1);
    const targets = await page
      .locator('[data-go]')
      .evaluateAll((links) => links.map((link) => (link as unknown as { href: string }).href));
    expect(new Set(targets).size).to.equal(places.length);
    for (const place of places.filter((_, at) => at % 4 === 0)) {
      // From the list no key leads to a panel.
      if (!page.url().includes('panel=')) await page.goBack();
      const target = await page.locator(`[data-go="${place.at(-1)}"]`).getAttribute('href');
      expect(page.url()).to.not.equal(server.address + (target ?? ''));
      await page.keyboard.press('g');
      await page.keyboard.press(place.at(-1) ?? '');
      await page.waitForURL(server.address + (target ?? ''));
    }
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.waitForURL(/_profiler\/$/);
  });

  it('goes to the newer and the older request at the same panel', async () => {
    const page = await open(`/_profiler/${tokens[1]}?panel=configuration`);
    expect(await helpOf(page)).to.include('[ ]');
    await page.keyboard.press('[');
    await page.waitForURL(`**/_profiler/${tokens[2]}?panel=configuration`);
    await page.keyboard.press(']');
    await page.waitForURL(`**/_profiler/${tokens[1]}?panel=configuration`);
  });

  it('copies the panel as Markdown', async () => {
    const page = await open(`/_profiler/${tokens[1]}?panel=configuration`);
    expect(await helpOf(page)).to.include('m');
    const copied = await watchCopies(page);
    await page.keyboard.press('m');
    await page.locator('#said', { hasText: 'Copied' }).waitFor({ state: 'attached' });
    const text = await copied();
    expect(text)
      .to.match(/^# `GET \/second`: 200 OK\n/)
      .and.include('\n## Configuration\n');
  });

  it('is left alone while one types, and with Ctrl, Alt or Meta', async () => {
    const page = await open(`/_profiler/${tokens[1]}?panel=configuration`);
    await page.keyboard.press('/');
    await page.keyboard.type('[gh]');
    expect(await page.locator('#q').inputValue()).to.equal('[gh]');
    await page.locator('#q').blur();
    for (const key of ['Control+[', 'Alt+[', 'Meta+[']) await page.keyboard.press(key);
    await page.waitForTimeout(200);
    expect(page.url()).to.include(String(tokens[1]));
  });

  it('goes to the search by Ctrl K, which completes filters, panels, routes and requests', async () => {
    const page = await open(`/_profiler/${tokens[1]}?panel=request`);
    const box = page.locator('#q');
    const options = page.locator('#finds [role=option]');
    await page.keyboard.press('Control+k');
    // Before anything is typed: filters, commands, the last requests.
    await options.filter({ hasText: 'GET /second' }).waitFor();
    expect(await options.allInnerTexts())
      .to.include('status:')
      .and.include('Pin');
    await page.keyboard.type('con');
    await options.filter({ hasText: 'GET /second' }).waitFor();
    expect(await options.allInnerTexts())
      .to.include('Configuration')
      .and.satisfy((texts: string[]) =>
        texts.some((text) => text.startsWith(`200 GET /second ${tokens[1]} · `)),
      );
    expect(await violations(page, { within: 'header.top' })).to.deep.equal([]);
    await page.keyboard.press('ArrowDown');
    expect(await box.getAttribute('aria-activedescendant')).to.equal('find-0');
    expect(await options.first().getAttribute('aria-selected')).to.equal('true');
    await page.keyboard.press('Escape');
    expect(await options.count()).to.equal(0);
    await box.fill('');
    await page.keyboard.type('/th stat');
    expect(await options.allInnerTexts()).to.deep.equal(['status:', 'status>=']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.type('2');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await box.inputValue()).to.equal('/th status:2xx ');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/search\?/);
    expect(await box.inputValue()).to.equal('status:2xx /th');
    expect(await page.locator('#found tbody tr[id]').count()).to.equal(1);
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('third');
    await options.filter({ hasText: 'GET /third' }).click();
    await page.waitForURL(`**/${tokens[2]}`);
  });
});
