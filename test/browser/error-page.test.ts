import { expect } from 'chai';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAssets } from '../../app/controllers/profiler/assets.ts';
import { createError } from '../../app/errors.ts';
import { setSecurityHeaders } from '../../app/middleware/security-headers.ts';
import { useBrowser, overflowsAt, watchCopies } from '../support/browser.ts';
import { renderErrorPage } from '../support/error-page.ts';

const long = 'a'.repeat(5000);
const pages: Record<string, () => string> = {
  '/thrown': () =>
    renderErrorPage({
      error: new TypeError('outer', { cause: new Error('inner', { cause: 'the beginning' }) }),
      url: '/checkout?step=2',
      method: 'POST',
    }),
  '/together': () =>
    renderErrorPage({
      error: new AggregateError(
        [new Error('one'), new TypeError('two'), 'three', new RangeError('four')],
        'all failed',
      ),
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

describe('error pages in a browser', () => {
  const browser = useBrowser();
  let server: Server;
  let address: string;

  before(async () => {
    const assets = createAssets();
    server = createServer((req, res) => {
      setSecurityHeaders(res);
      const url = req.url ?? '';
      const page = pages[url];
      const asset = assets.get(url.replace(/^\/_profiler\/assets\//, ''));
      if (url === '/_profiler/9be04d.md?panel=exception')
        res.setHeader('content-type', 'text/markdown; charset=UTF-8').end('# Markdown of 9be04d\n');
      else if (page !== undefined) res.setHeader('content-type', 'text/html; charset=UTF-8').end(page());
      else if (asset !== undefined) res.setHeader('content-type', asset.type).end(asset.body);
      else res.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(async () => {
    server?.close();
  });

  it('give each value of a table its width, also if the first one is a block with a button of its own', async () => {
    const { page } = await browser.open({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${address}/long`);
    const block = page.locator('#error-1-about tr').first().locator('pre');
    // The first row decides the columns of all.
    expect((await block.boundingBox())?.width).to.be.above(900);
  });

  it('show each kind of error without overflow, complaint of the policy, or error', async () => {
    const { page, problems } = await browser.open();
    for (const path of Object.keys(pages)) {
      await page.goto(address + path);
      expect(await overflowsAt(page, [1440]), path).to.deep.equal([]);
      expect(await page.locator('h1').isVisible(), path).to.equal(true);
      expect(problems, path).to.deep.equal([]);
    }
  });

  it('show message, status, place, excerpt and causes on the first screen, wide and narrow', async () => {
    const { page } = await browser.open();
    await page.goto(`${address}/thrown`);
    // A narrow screen names the root below the headline; the chain to it follows the excerpt.
    for (const [width, height, root] of [
      [1440, 900, '.chain .root'],
      [390, 844, '.began'],
    ] as const) {
      await page.setViewportSize({ width, height });
      for (const wanted of ['h1', '.kind .status', '#error-1-where', '.frames .hot', root]) {
        const box = await page.locator(wanted).first().boundingBox();
        expect((box?.y ?? Infinity) + (box?.height ?? 0), `${wanted}, ${width} px`).to.be.lessThan(height);
      }
    }
  });

  it('names what an AggregateError holds on the first screen, each with its frames', async () => {
    const { page } = await browser.open({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${address}/together`);
    const members = page.locator('#error-1-errors tbody tr');
    expect(await members.allInnerTexts()).to.have.length(3);
    expect((await members.last().boundingBox())?.y).to.be.lessThan(900);
    await members.nth(1).locator('summary').first().click();
    expect(await members.nth(1).locator('.frames').isVisible()).to.equal(true);
  });

  it('copies itself as Markdown, and leads there without script', async () => {
    const { page } = await browser.open();
    await page.goto(`${address}/thrown`);
    const copied = await watchCopies(page);
    await page.getByRole('link', { name: 'Markdown', exact: true }).click();
    await page.locator('#said', { hasText: 'Copied' }).waitFor({ state: 'attached' });
    expect(await copied()).to.equal('# Markdown of 9be04d\n');
    const plain = await browser.open({ javaScriptEnabled: false });
    await plain.page.goto(`${address}/thrown`);
    const link = plain.page.getByRole('link', { name: 'Markdown', exact: true });
    expect(await link.getAttribute('href')).to.equal('/_profiler/9be04d.md?panel=exception');
  });
});
