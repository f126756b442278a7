/** The toolbar in the example shop, as a developer meets it: put in by the service, under the shop's own policy. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { violations } from '../support/axe.ts';
import { useBrowser } from '../support/browser.ts';
import { type RunningShop, startShop } from '../support/shop.ts';

describe('the toolbar in the shop', () => {
  const browser = useBrowser();
  let shop: RunningShop;

  before(async () => {
    shop = await startShop();
  });
  after(async () => {
    await shop?.close();
  });

  const bar = (page: Page) => page.locator('hindsight-toolbar');
  const item = (page: Page, text: string | RegExp) => bar(page).locator('.item', { hasText: text });
  const pop = (page: Page) => bar(page).locator('.pop');

  it('says of the orders that they are read in a loop, and leads to the line', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${shop.origin}/orders`);
    await item(page, 'queries').hover();
    await pop(page).waitFor();
    expect(await item(page, 'queries').innerText()).to.match(/N\+1\s*·\s*21/);
    expect(await pop(page).innerText())
      .to.match(/20 × select .*order_lines/)
      .and.to.include('orders.ts:');
    await pop(page)
      .getByRole('link', { name: /order_lines/ })
      .click();
    await page.waitForURL(/\/_profiler\/[0-9a-f]{6}\?panel=database/);
    expect(await page.locator('#g1').isVisible()).to.equal(true);
    expect(await bar(page).count(), 'none on the profiler’s own pages').to.equal(0);
    expect(problems).to.deep.equal([]);
  });

  it('says by which redirect a page was come to', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${shop.origin}/login`);
    await page.locator('input[name=email]').fill('ada@shop.example');
    await page.locator('input[name=password]').fill('long enough');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(/\/account\//);
    await item(page, /from\s*POST \/login/).waitFor();
    const href = (await item(page, /POST \/login/).getAttribute('href')) ?? '';
    await page.goto(href);
    expect(await page.title()).to.include('POST /login');
    expect(problems).to.deep.equal([]);
  });

  it('lists what the page asks for by script, with what went wrong', async () => {
    const { page } = await browser.open();
    await page.goto(`${shop.origin}/`);
    await item(page, 'time').waitFor();
    await page.evaluate(
      "Promise.all(['/api/products', '/api/stock', '/api/none'].map((path) => fetch(path)))",
    );
    // On a busy machine one that went well may be slow, which is told before the 404.
    await item(page, /calls\s*3\s*1 failed\s*(?:404|[\d.]+\s*m?s)/).hover();
    await pop(page).waitFor();
    const rows = pop(page).locator('tbody tr', { has: page.locator('a') });
    await rows.nth(2).waitFor();
    const hrefs = await rows.locator('a').evaluateAll((links) => links.map((link) => String(link)));
    for (const href of hrefs) expect((await page.request.get(href)).status()).to.equal(200);
  });

  it('changes nothing of what axe-core finds, and adds nothing', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${shop.origin}/checkout`);
    await item(page, 'time').waitFor();
    const withBar = await violations(page);
    await page.evaluate(`localStorage.setItem('hindsight.toolbar', '{"closed":true}')`);
    await page.goto(`${shop.origin}/checkout`);
    await page.waitForTimeout(300);
    expect(await bar(page).count()).to.equal(0);
    expect(withBar).to.deep.equal(await violations(page));
    expect(problems).to.deep.equal([]);
  });

  it('has told the service what the browser measured', async () => {
    const { page, problems } = await browser.open();
    const sent = page.waitForResponse((response) => response.url().endsWith('/_profiler/-/report'));
    await page.goto(`${shop.origin}/orders`);
    expect((await sent).status()).to.be.within(200, 204);
    await item(page, 'time').hover();
    await pop(page).getByText('First byte').waitFor();
    expect(await pop(page).innerText()).to.match(/First byte\s+[\d.]+ m?s in the browser/);
    expect(problems).to.deep.equal([]);
  });
});
