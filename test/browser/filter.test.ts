/** The filter box in a real browser: with script at once, without it by the same form on the server. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { useBrowser, watchCopies } from '../support/browser.ts';
import { everyPanel } from '../support/every-page.ts';
import { addCrowd, log } from '../support/observed-samples.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';

describe('the filter box', () => {
  const browser = useBrowser();
  const fixture = createPageFixture(everyPanel());
  const server = usePages(fixture);
  let address: string;

  before(async () => {
    const { token } = await fixture.record({
      more: (context) => {
        addCrowd(context, { queries: 40, lines: 900 });
        context.add('log', log({ level: 'warn', message: 'the last' }));
      },
    });
    address = `${server.address}/_profiler/${token}`;
  });

  const rows = (page: Page): Promise<number> => page.locator('#log-lines-rows > tbody > tr:visible').count();

  it('narrows the rows at once, counts them beside the box and says so', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${address}?panel=logs&rows=single`);
    const all = await rows(page);
    expect(all).to.be.greaterThan(20);
    await page.locator('[data-filter=log-lines-rows]').fill('bab has');
    const text = `1 of ${all} shown; press Enter to search all 901`;
    expect(await page.locator('#said').textContent()).to.equal(text);
    expect(await page.locator('.shown').textContent()).to.equal(text);
    expect(await rows(page)).to.equal(1);
    await page.locator('[data-filter=log-lines-rows]').fill('');
    expect(await rows(page)).to.equal(all);
    expect(await page.locator('.shown').textContent()).to.equal('');
    expect(problems).to.deep.equal([]);
  });

  it('looks through all rows on the server, and survives a reload', async () => {
    const { page } = await browser.open();
    await page.goto(`${address}?panel=logs&rows=single`);
    await page.locator('[data-filter=log-lines-rows]').fill('order by aed');
    await page.locator('[name="level.info"]').check();
    await page.locator('[data-filter=log-lines-rows]').press('Enter');
    await page.waitForURL(/find=order/);
    const found = await rows(page);
    expect(found).to.be.greaterThan(0);
    await page.reload();
    expect(await rows(page)).to.equal(found);
    expect(await page.locator('[data-filter=log-lines-rows]').inputValue()).to.equal('order by aed');
    expect(await page.locator('[name="level.info"]').isChecked()).to.equal(true);
  });

  it('copies the message of a log line, and nothing else', async () => {
    const { page } = await browser.open();
    await page.goto(`${address}?panel=logs&rows=single`);
    const copied = await watchCopies(page);
    await page.locator('#l1').hover();
    await page.locator('#l1 .copy').click();
    await page.locator('#said', { hasText: 'Copied' }).waitFor({ state: 'attached' });
    expect(await copied()).to.match(/^\w+ has been looked at and found to be in order by \w+$/);
  });
});
