/** The HTML of a mail as a page: styled as the recipient sees it, and nothing in it runs, loads or sends. */
import { expect } from 'chai';
import { useBrowser } from '../support/browser.ts';
import { everyPanel } from '../support/every-page.ts';
import { close, listen } from '../support/listen.ts';
import { mail } from '../support/observed-samples.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';

const htmlFor = (
  elsewhere: string,
): string => `<!doctype html><title>Order</title><style>h1 {color: rgb(0, 128, 0)}</style>
<meta http-equiv="refresh" content="0; url=${elsewhere}/">
<h1 onclick="document.title = 'ran'">Thank you</h1><script>document.title = 'ran'</script>
<img src="${elsewhere}/seen.png"><link rel="stylesheet" href="${elsewhere}/a.css">
<form action="${elsewhere}/"><button>Pay</button></form>`;

describe('a mail as a page', () => {
  const browser = useBrowser();
  const fixture = createPageFixture(everyPanel());
  const server = usePages(fixture);

  it('is opened from its row, and runs, loads and sends nothing', async () => {
    const asked: string[] = [];
    const elsewhere = await listen((req, res) => {
      asked.push(req.url ?? '');
      res.end();
    });
    const { token } = await fixture.record({
      more: (context) => {
        context.add('mail', mail({ html: null }));
        context.add('mail', mail({ html: htmlFor(elsewhere.origin) }));
      },
    });
    const { page } = await browser.open();
    await page.goto(`${server.address}/_profiler/${token}?panel=mail&open=m2-html#m2-html`);
    await page.getByRole('link', { name: 'Open as a page' }).click();
    await page.locator('h1').click();
    await page.getByRole('button', { name: 'Pay' }).click();
    expect(await page.evaluate('getComputedStyle(document.querySelector("h1")).color')).to.equal(
      'rgb(0, 128, 0)',
    );
    expect(await page.title()).to.equal('Order');
    expect(new URL(page.url()).pathname).to.equal(`/_profiler/${token}/mail/m2`);
    expect(await page.evaluate('self.origin'), 'an origin of its own').to.equal('null');
    expect(asked).to.deep.equal([]);
    await close(elsewhere.server);
  });

  it('is not found where the mail has no HTML, or there is no such mail', async () => {
    const { token } = await fixture.record({ more: (context) => context.add('mail', mail({ html: null })) });
    for (const id of ['m1', 'm2', 'm0', 'm1.5'])
      expect((await fetch(`${server.address}/_profiler/${token}/mail/${id}`)).status, id).to.equal(404);
  });
});
