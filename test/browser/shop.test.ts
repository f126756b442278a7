/** The example shop behind a real TLS proxy in a real browser, and the profiles of what it did. */
import { expect } from 'chai';
import type { Response as PageResponse } from 'playwright-core';
import { type OpenPage, useBrowser } from '../support/browser.ts';
import { startTlsProxy, type TlsProxy } from '../support/nginx.ts';
import { sign } from '../../examples/webhook/router.ts';
import { type RunningShop, startShop, WEBHOOK_SECRET } from '../support/shop.ts';

const PASSWORD = 'correct horse battery';
const CARD = '4111 1111 1111 1111';

/** The toolbar posts too: what the browser measured. */
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

  async function textOf({ page }: OpenPage, address: string): Promise<string> {
    await page.goto(address);
    return page.locator('body').innerText();
  }

  it('serves its pages without a fault', async () => {
    const open = await browser.open();
    for (const path of ['/', '/products/1', '/orders', '/orders/1', '/login', '/checkout', '/account/1']) {
      const link = await visit(open, path);
      expect(link, path).to.match(new RegExp(`^${proxy.origin}/_profiler/[0-9a-f]{6}$`));
    }
    expect(open.problems).to.deep.equal([]);
  });

  it('follows a login to the account, and keeps the password out of its profile', async () => {
    const open = await browser.open();
    await visit(open, '/login');
    await open.page.getByLabel('Password').fill(PASSWORD);
    const [posted] = await Promise.all([
      open.page.waitForResponse(isForm),
      open.page.getByRole('button', { name: 'Log in' }).click(),
    ]);
    expect(posted.status()).to.equal(303);
    await open.page.waitForURL(/\/account\/1$/);
    const link = posted.headers()['x-debug-token-link'] ?? '';
    const json = await open.page.request.get(`${link}.json`);
    const text = await json.text();
    expect(text).to.include('ada@shop.example');
    expect(text).to.not.include(PASSWORD).and.not.include(encodeURIComponent(PASSWORD));
    expect(text).to.not.include(PASSWORD.replaceAll(' ', '+'));
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

  it('finds the N+1 of the order list', async () => {
    const open = await browser.open();
    const link = await visit(open, '/orders');
    const text = await textOf(open, link);
    expect(text).to.include('N+1');
    expect(text).to.match(/orders\.ts:\d+/);
    expect(open.problems).to.deep.equal([]);
  });

  it('shows the whole chain of a nested error on the error page', async () => {
    const open = await browser.open();
    await visit(open, '/api/quote');
    const text = await open.page.locator('body').innerText();
    for (const part of ['CheckoutError', 'The quote could not be made.', 'PaymentError', 'TypeError']) {
      expect(text).to.include(part);
    }
    expect(open.problems).to.deep.equal([]);
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
