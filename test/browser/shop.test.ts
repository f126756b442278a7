/** The example shop behind a real TLS proxy in a real browser, and the profiles of what it did. */
import { expect } from 'chai';
import type { Response as PageResponse } from 'playwright-core';
import { item } from '../support/bar-pages.ts';
import { type OpenPage, useBrowser } from '../support/browser.ts';
import { startTlsProxy, type TlsProxy } from '../support/nginx.ts';
import { sign } from '../../examples/webhook/router.ts';
import { type RunningShop, startShop, WEBHOOK_SECRET } from '../support/shop.ts';

const CARD = '4111 1111 1111 1111';
/** Of the first visit of a page, counted on the wire. */
const MOST_REQUESTS = 6;
const MOST_BYTES = 40_000;

/** The toolbar posts too: its measurements. */
const isForm = (response: PageResponse): boolean =>
  response.request().method() === 'POST' && response.request().isNavigationRequest();

describe('the example shop in a browser', () => {
  let shop: RunningShop;
  let proxy: TlsProxy;
  const browser = useBrowser();

  before(async function () {
    shop = await startShop();
    proxy = await startTlsProxy(this, shop.port);
  });

  after(async () => {
    await proxy?.close();
    await shop?.close();
  });

  /** Opens a page of the shop; gives the address of its profile. */
  async function visit({ page }: OpenPage, path: string): Promise<string> {
    const response = await page.goto(`${proxy.origin}${path}`);
    return response?.headers()['x-debug-token-link'] ?? '';
  }

  it('serves its pages without a fault', async () => {
    const open = await browser.open();
    for (const path of ['/', '/products/1', '/orders', '/orders/1', '/login', '/checkout', '/account/1']) {
      const link = await visit(open, path);
      expect(link, path).to.match(new RegExp(`^${proxy.origin}/_profiler/[0-9a-f]{6}$`));
    }
    expect(open.problems).to.deep.equal([]);
  });

  it('places an order, and keeps the number of the card out of its profile', async () => {
    const open = await browser.open();
    await visit(open, '/checkout');
    await open.page.getByLabel('Product').selectOption({ label: 'Linen towel' });
    await open.page.getByLabel('Card number').fill(CARD);
    const [posted] = await Promise.all([
      open.page.waitForResponse(isForm),
      open.page.getByRole('button', { name: 'Place the order' }).click(),
    ]);
    await open.page.waitForURL(/\/orders\/\d+$/);
    const link = posted.headers()['x-debug-token-link'] ?? '';
    const text = await (await open.page.request.get(`${link}.json`)).text();
    expect(text).to.include('/checkout').and.include('card_number');
    for (const spelling of [CARD, CARD.replaceAll(' ', '+'), CARD.replaceAll(' ', '%20')]) {
      expect(text).to.not.include(spelling);
    }
  });

  it('has a toolbar that says of the orders that they are read in a loop, and leads to the line', async () => {
    const open = await browser.open();
    const { page, problems } = open;
    const bar = page.locator('hindsight-toolbar');
    await visit(open, '/orders');
    await item(page, 'queries').hover();
    const pop = bar.locator('.pop');
    await pop.waitFor();
    expect(await item(page, 'queries').innerText()).to.match(/N\+1\s*·\s*21/);
    expect(await pop.innerText())
      .to.match(/20 × select .*order_lines/)
      .and.to.include('orders.ts:');
    await item(page, 'time').hover();
    await pop.getByText('First byte').waitFor();
    expect(await pop.innerText()).to.match(/First byte\s+[\d.]+ m?s in the browser/);
    await item(page, 'queries').hover();
    await pop.getByRole('link', { name: /order_lines/ }).click();
    await page.waitForURL(/\/_profiler\/[0-9a-f]{6}\?panel=database/);
    expect(await page.locator('#g1').isVisible()).to.equal(true);
    expect(await bar.count(), 'none on the profiler’s own pages').to.equal(0);
    expect(problems).to.deep.equal([]);
  });

  it(`has pages of the profiler whose first visit takes at most ${MOST_REQUESTS} requests and ${MOST_BYTES / 1000} KB`, async () => {
    const recorded = await fetch(`${shop.origin}/orders`);
    for (const path of ['/_profiler', `/_profiler/${recorded.headers.get('x-debug-token') ?? ''}`]) {
      const { page, problems } = await browser.openFresh();
      const wire = await page.context().newCDPSession(page);
      await wire.send('Network.enable');
      const sizes: number[] = [];
      wire.on('Network.loadingFinished', ({ encodedDataLength }) => sizes.push(encodedDataLength));
      await page.goto(`${shop.origin}${path}`, { waitUntil: 'networkidle' });
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      expect(sizes.length, path).to.be.within(3, MOST_REQUESTS);
      expect(bytes, path).to.be.within(5000, MOST_BYTES);
      expect(problems).to.deep.equal([]);
    }
  });

  it('reads the bytes of a webhook untouched: the signature holds, and the profile shows the body', async () => {
    const body = Buffer.from('{"paid": true,\n "order": 25}');
    const send = (signature: string): Promise<Response> =>
      fetch(`${shop.origin}/webhook`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-signature': signature },
        body,
      });
    const refused = await send(sign(body, 'another secret of the same form'));
    expect(refused.status).to.equal(401);
    const taken = await send(sign(body, WEBHOOK_SECRET));
    expect(taken.status).to.equal(202);
    expect(await taken.json()).to.deep.equal({ receivedBytes: body.length });
    const profile = await fetch(`${taken.headers.get('x-debug-token-link')}.json`);
    expect(await profile.text()).to.include('paid');
  });

  it('is read without sideways scrolling at 320 px, the panel that is shown first in its strip', async () => {
    const open = await browser.open({ viewport: { width: 320, height: 640 } });
    const overflow = (): Promise<number> => open.page.evaluate('document.documentElement.scrollWidth - 320');
    const link = await visit(open, '/orders');
    expect(await overflow(), 'the shop').to.equal(0);
    for (const panel of ['database', 'configuration']) {
      await open.page.goto(`${link}?panel=${panel}`);
      expect(await overflow(), panel).to.equal(0);
      const strip = open.page.locator('nav.panels');
      await strip.evaluate((nav) => {
        (nav as unknown as { scrollLeft: number }).scrollLeft = 0;
      });
      // It covers none of the others.
      const box = (await strip.locator('li:has([aria-current])').boundingBox())!;
      expect(box.x, panel).to.be.within(0, 24);
    }
    expect(open.problems).to.deep.equal([]);
  });
});
