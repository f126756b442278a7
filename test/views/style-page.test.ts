/** The style page in a real browser: axe-core, light and dark; no overflow at any width; whole in print and without script. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { createServer, type Server } from 'node:http';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createAssets } from '../../app/controllers/profiler/assets.ts';
import { setSecurityHeaders } from '../../app/middleware/security-headers.ts';
import { violationsInBothThemes } from '../support/axe.ts';
import { useBrowser, overflowsAt } from '../support/browser.ts';
import { renderStylePage } from '../support/style-page.ts';

/** Partials that more than one page shows. */
const SHARED = [
  'action-form', 'document-end', 'document-start', 'empty', 'findings-line', 'kv', 'markdown-link', 'metrics', 'panel-body',
  'panel-error', 'panels-list', 'panels-menu', 'periods', 'pin-form', 'request-table', 'request-url', 'section-head', 'select', 'strip',
  'tabs', 'thrown-chain', 'thrown-frame', 'thrown-link', 'thrown-logs', 'thrown-record', 'thrown-where', 'tools', 'top', 'trend',
]; // prettier-ignore

/** Partials that a view takes in, those of its own partials included. */
function includedBy(path: string, seen = new Set<string>()): Set<string> {
  for (const [, name] of readFileSync(path, 'utf8').matchAll(/include\('((?:partials|panels)\/[a-z-]+)'/g)) {
    if (name === undefined || seen.has(name)) continue;
    seen.add(name);
    includedBy(join('views', `${name}.ejs`), seen);
  }
  return seen;
}

describe('the style page', () => {

  it('shows every shared partial', () => {
    const shown = includedBy('test/views/style-page.ejs');
    expect(SHARED.filter((name) => !shown.has(`partials/${name}`))).to.deep.equal([]);
  });

  it('names each id once, and labels every region and control', () => {
    const $ = load(renderStylePage());
    const ids = $('[id]').toArray().map((element) => $(element).attr('id')); // prettier-ignore
    expect(ids.length).to.equal(new Set(ids).size);
    expect($('[role=region]:not([aria-label])').length).to.equal(0);
  });

  describe('in a browser', () => {
    const browser = useBrowser();
    let server: Server;
    let address: string;

    before(async function () {
      const html = renderStylePage();
      const assets = createAssets();
      server = createServer((req, res) => {
        setSecurityHeaders(res);
        const asset = assets.get((req.url ?? '').replace(/^\/_profiler\/assets\//, ''));
        if (asset !== undefined) res.setHeader('content-type', asset.type).end(asset.body);
        else res.setHeader('content-type', 'text/html; charset=UTF-8').end(html);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    });
    after(async () => {
        server?.close();
    });

    it('gives axe-core nothing to say, light and dark', async () => {
      const { page, problems } = await browser.open({ viewport: { width: 1440, height: 900 } });
      await page.goto(address);
      expect(await violationsInBothThemes(page)).to.deep.equal([]);
      expect(problems).to.deep.equal([]);
      await page.context().close();
    });

    it('overflows nothing from 390 px to 2,560 px, with script and without, on screen and in print', async () => {
      for (const javaScriptEnabled of [true, false]) {
        const { page } = await browser.open({ javaScriptEnabled });
        await page.goto(address);
        for (const media of ['screen', 'print'] as const) {
          await page.emulateMedia({ media });
          const wide = await overflowsAt(page, [390, 820, 1440, 2560]);
          expect(wide, `${media}, script ${String(javaScriptEnabled)}`).to.deep.equal([]);
        }
        await page.context().close();
      }
    });

    it('is larger on a very wide screen, and no line of text longer than can be read', async () => {
      const { page } = await browser.open({ viewport: { width: 2560, height: 1200 } });
      await page.goto(address);
      expect(await page.evaluate('parseFloat(getComputedStyle(document.documentElement).fontSize)')).to.be.above(15);
      const widths = await page.evaluate<number[]>(
        "[...document.querySelectorAll('.note, .lead')].map((text) => text.getBoundingClientRect().width / parseFloat(getComputedStyle(text).fontSize))",
      );
      expect(Math.max(...widths)).to.be.below(90);
      await page.context().close();
    });

    it('opens its folds in print and hides what only a screen can use', async () => {
      const { page } = await browser.open();
      await page.goto(address);
      await page.emulateMedia({ media: 'print' });
      for (const selector of ['nav.panels', '.top', '.btn', 'input.find', '.foot'])
        expect(await page.locator(selector).first().isVisible(), selector).to.equal(false);
      expect(await page.locator('#controls details:not([open]) p').isVisible()).to.equal(true);
      await page.context().close();
    });
  });
});
