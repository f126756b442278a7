/** A place in a real browser: its source opens where one is, the editor by a key; without script it is a page. */
import { expect } from 'chai';
import { violationsInBothThemes } from '../support/axe.ts';
import { useBrowser } from '../support/browser.ts';
import { everyPanel } from '../support/every-page.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';

/** An editor that a browser without one can show to have opened. */
const EDITOR = { url: 'http://127.0.0.1:9/open?file=%f&line=%l', root: '/srv/shop' };

describe('the source of a place in a browser', () => {
  const browser = useBrowser();
  const excerpt = {
    from: 20,
    lines: Array.from({ length: 31 }, (_value, index) => `line(${index + 20});`),
  };
  const fixture = createPageFixture(everyPanel(), {
    editor: EDITOR,
    sourceAt: () => ({ excerpt, changedAt: null }),
  });
  const server = usePages(fixture);
  let address: string;

  before(async () => {
    const { token } = await fixture.record({
      more: (context) => {
        const line = { level: 'info', channel: 'shop', context: null, atMs: 1 } as const;
        context.add('log', { ...line, message: 'placed order 7', caller: 'src/orders.ts:35' });
      },
    });
    address = `${server.address}/_profiler/${token}?panel=logs`;
  });

  it('opens on the page, with the line in view and what ran there, and closes to where one was', async () => {
    for (const width of [390, 1440]) {
      const { page, problems } = await browser.open({ viewport: { width, height: 800 } });
      await page.goto(address);
      const place = page.locator('main a[data-source]').first();
      await place.focus();
      await page.keyboard.press('Enter');
      const dialog = page.locator('dialog[open]');
      await dialog.locator('.hot').waitFor();
      expect(await dialog.locator('.hot').innerText()).to.include('line(35);');
      expect(await dialog.innerText()).to.include('placed order 7');
      expect(page.url()).to.equal(address);
      const box = await dialog.boundingBox();
      expect(box!.x).to.be.at.least(0);
      expect(box!.x + box!.width).to.be.at.most(width);
      if (width === 390)
        expect(await violationsInBothThemes(page, { within: 'dialog[open]' })).to.deep.equal([]);
      await page.keyboard.press('Escape');
      expect(await dialog.count()).to.equal(0);
      expect(await page.evaluate<string>('document.activeElement.textContent')).to.equal('src/orders.ts:35');
      expect(problems).to.deep.equal([]);
    }
  });

  for (const where of ['the place that has the focus', 'the dialog'])
    it(`e opens the editor: ${where}`, async () => {
      // It is left on its way to the editor.
      const { page } = await browser.openFresh();
      await page.goto(address);
      const place = page.locator('main a[data-source]').first();
      await place.focus();
      if (where === 'the dialog') {
        await page.keyboard.press('Enter');
        await page.locator('dialog[open] .hot').waitFor();
      }
      const opened = page.waitForRequest(/:9\/open/);
      await page.keyboard.press('e');
      expect((await opened).url()).to.equal('http://127.0.0.1:9/open?file=/srv/shop/src/orders.ts&line=35');
    });

  it('is a page without script, which leads to the editor and back', async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await page.goto(address);
    await page.locator('main a[data-source]').first().click();
    expect(page.url()).to.match(/\/source\/[0-9a-f]{12}$/);
    expect(await page.locator('.hot').innerText()).to.include('line(35);');
    expect(await page.locator('[data-key=e]').getAttribute('href')).to.match(
      /^http:\/\/127\.0\.0\.1:9\/open/,
    );
    await page.locator('[data-close]:visible').click();
    expect(page.url()).to.match(/\/_profiler\/[0-9a-f]{6}$/);
  });
});
