import { expect } from 'chai';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createAssets } from '../../app/controllers/profiler/assets.ts';
import { createError } from '../../app/errors.ts';
import { setOwnHeaders } from '../../app/middleware/own-headers.ts';
import { packageRoot } from '../../app/paths.ts';
import { launchBrowser, type TestBrowser } from '../support/browser.ts';
import { renderErrorPage } from '../support/error-page.ts';

const long = 'a'.repeat(5000);
const pages: Record<string, () => string> = {
  '/thrown': () =>
    renderErrorPage({
      error: new TypeError('outer', { cause: new Error('inner', { cause: 'the beginning' }) }),
      url: '/checkout?step=2',
      method: 'POST',
    }),
  '/long': () => renderErrorPage({ error: Object.assign(new Error(long), { note: long }), url: `/${long}` }),
  '/missing': () =>
    renderErrorPage({
      error: createError('ROUTE_NOT_FOUND', ['GET', `/${long}`]),
      status: 404,
      url: `/${long}`,
    }),
  '/welcome': () => renderErrorPage({ error: createError('ROUTE_NOT_FOUND', ['GET', '/']), status: 404 }),
};

describe('error pages in a browser', function () {
  this.timeout(60_000);
  let browser: TestBrowser;
  let server: Server;
  let address: string;

  before(async function () {
    browser = await launchBrowser(this);
    const assets = createAssets(join(packageRoot(), 'public', 'profiler'));
    server = createServer((req, res) => {
      setOwnHeaders(res);
      const url = req.url ?? '';
      const page = pages[url];
      const asset = assets.get(url.replace(/^\/_profiler\/assets\//, ''));
      if (page !== undefined) res.setHeader('content-type', 'text/html; charset=UTF-8').end(page());
      else if (asset !== undefined) res.setHeader('content-type', asset.type).end(asset.body);
      else res.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(async () => {
    await browser.close();
    server.close();
  });

  for (const path of Object.keys(pages)) {
    for (const width of [390, 1440]) {
      it(`shows ${path} at ${width} px without overflow, complaint of the policy, or error`, async () => {
        const { page, problems } = await browser.open({ viewport: { width, height: 900 } });
        await page.goto(address + path);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
        expect(await page.locator('h1').isVisible()).to.equal(true);
        expect(problems).to.deep.equal([]);
        await page.context().close();
      });
    }
  }

  it('shows message, status, place and excerpt on the first screen', async () => {
    const { page } = await browser.open({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${address}/thrown`);
    for (const wanted of ['h1', '.kind .status', '.where', 'figure .hot', '.chain .root']) {
      const box = await page.locator(wanted).first().boundingBox();
      expect((box?.y ?? Infinity) + (box?.height ?? 0), wanted).to.be.lessThan(900);
    }
    await page.context().close();
  });

  it('is whole without script', async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await page.goto(`${address}/thrown`);
    expect(await page.locator('.frames .fr').first().isVisible()).to.equal(true);
    expect(await page.locator('.js-only').first().isVisible()).to.equal(false);
    await page.locator('.frames summary').first().click();
    expect(await page.locator('.frames details[open]').count()).to.be.greaterThan(0);
    await page.context().close();
  });
});
