/** What a browser loads when it opens a page for the first time, counted on the wire. */
import { expect } from 'chai';
import { useBrowser } from '../support/browser.ts';
import { type RunningShop, startShop } from '../support/shop.ts';

const MOST_REQUESTS = 6;
const MOST_BYTES = 40_000;

describe('the first visit of a page', () => {
  let shop: RunningShop;
  const browser = useBrowser();

  before(async () => {
    shop = await startShop();
  });
  after(async () => {
    await shop?.close();
  });

  it(`takes at most ${MOST_REQUESTS} requests and ${MOST_BYTES / 1000} KB`, async () => {
    const recorded = await fetch(`${shop.origin}/orders`);
    for (const path of ['/_profiler', `/_profiler/${recorded.headers.get('x-debug-token') ?? ''}`]) {
      const { page, problems } = await browser.open();
      const wire = await page.context().newCDPSession(page);
      await wire.send('Network.enable');
      const sizes: number[] = [];
      wire.on('Network.loadingFinished', ({ encodedDataLength }) => sizes.push(encodedDataLength));
      await page.goto(`${shop.origin}${path}`, { waitUntil: 'networkidle' });
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      expect(sizes.length, path).to.be.within(3, MOST_REQUESTS);
      expect(bytes, path).to.be.within(5000, MOST_BYTES);
      expect(problems).to.deep.equal([]);
      await page.context().close();
    }
  });
});
