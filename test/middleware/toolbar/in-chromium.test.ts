/** What Chromium does with the tag: its script runs, and no policy is violated, by it or in its absence. */
import { expect } from 'chai';
import { useBrowser, type OpenPage } from '../../support/browser.ts';
import { startToolbarHost, type ToolbarHost } from '../../support/raw-toolbar-host.ts';

const POLICIES: readonly (readonly [policy: string, gets: boolean])[] = [
  ["default-src 'self'", true],
  ["script-src 'nonce-a1+/B2=='", true],
  ["script-src 'nonce-a1' 'strict-dynamic' 'unsafe-inline' https:", true],
  ["script-src-elem 'self'; script-src 'none'", true],
  ["default-src 'none'; script-src *", true],
  ["script-src 'nonce-a' 'nonce-b', script-src 'nonce-b'", true],
  ['sandbox allow-scripts', true],
  ["connect-src 'none'", true],
  ["require-trusted-types-for 'script'; trusted-types 'none'", true],
  ["script-src 'none'", false],
  ["default-src 'none'", false],
  ["script-src 'strict-dynamic' 'self'", false],
  ["script-src 'self', script-src 'none'", false],
  ["script-src 'sha256-abc='", false],
  ['script-src https:', false],
  ['sandbox', false],
];

/** Policies that stand in the page, behind the tag, and whether the bar may still ask the service. */
const POLICIES_IN_PAGE: readonly (readonly [policy: string, connects: boolean])[] = [
  ["script-src 'none'", true],
  ["script-src 'nonce-abc' 'strict-dynamic'; connect-src 'self'", true],
  ["default-src 'none'", false],
  ["default-src 'self'; connect-src https://api.example", false],
  ["connect-src 'none'", false],
  ["require-trusted-types-for 'script'; trusted-types 'none'", true],
];

const WORKER = `
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(clients.claim()));
self.addEventListener('fetch', (event) => event.respondWith(fetch(event.request)));`;

const page = (head = ''): string =>
  `<!doctype html><html><head><title>x</title>${head}</head><body><p>x</p></body></html>`;

describe('the tag of the toolbar in Chromium', () => {
  const browser = useBrowser();
  let host: ToolbarHost;
  let opened: OpenPage;
  let runs = 0;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  before(async () => {
    host = await startToolbarHost((app) => {
      app.get('/favicon.ico', (_req, res) => void res.status(204).end());
      app.get('/worker.js', (_req, res) => void res.type('js').send(WORKER));
      app.get(
        '/in-page',
        (req, res) =>
          void res.send(
            page(
              `<meta http-equiv="Content-Security-Policy" content="${text(req.query.policy).replaceAll("'", '&#39;')}">`,
            ),
          ),
      );
      app.get('/', (req, res) => {
        if (req.query.policy !== undefined) res.set('Content-Security-Policy', text(req.query.policy));
        if (req.query.reported !== undefined)
          res.set('Content-Security-Policy-Report-Only', text(req.query.reported));
        res.send(page(req.query.base === undefined ? '' : `<base href="${text(req.query.base)}">`));
      });
      return undefined;
    });
    opened = await browser.open();
    await opened.page.exposeFunction('ran', () => runs++);
    await opened.page.route('**/_profiler/toolbar.js*', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: 'window.ran();' }),
    );
  });
  after(async () => {
    await host?.close();
  });

  /** How often the tag is there, what it is, how often a script in the place of the bar's ran, and what went wrong. */
  async function open(
    path: string,
  ): Promise<{ tags: number; runs: number; problems: string[]; tag: string }> {
    const { page: tab, problems } = opened;
    runs = 0;
    await tab.goto(`http://127.0.0.1:${host.port}${path}`, { waitUntil: 'load' });
    await tab.waitForTimeout(50);
    const found = await tab.evaluate<string[]>(
      "[...document.querySelectorAll('script[data-token]')].map((tag) => tag.outerHTML)",
    );
    return { tags: found.length, runs, problems: problems.splice(0), tag: found[0] ?? '' };
  }

  for (const [policy, gets] of POLICIES) {
    it(`${gets ? 'runs' : 'is not there'}: ${policy}`, async () => {
      const sent = new URLSearchParams({ policy }).toString();
      const { tags, runs, problems } = await open(`/?${sent}`);
      expect({ tags, runs, problems }).to.deep.equal({
        tags: gets ? 1 : 0,
        runs: gets ? 1 : 0,
        problems: [],
      });
    });
  }

  it('runs ahead of a policy in the page, which its requests obey', async () => {
    const seen = POLICIES_IN_PAGE.map(async ([policy]) => {
      const { page: tab, problems } = await browser.open();
      const asked: string[] = [];
      tab.on('request', (request) => asked.push(request.url()));
      await tab.goto(`http://127.0.0.1:${host.port}/in-page?${new URLSearchParams({ policy }).toString()}`);
      await tab.locator('hindsight-toolbar .item').first().waitFor();
      // What the browser measured is sent a while after the load.
      await tab.waitForTimeout(1800);
      const words = await tab.locator('hindsight-toolbar .line').innerText();
      await tab.context().close();
      const connects = asked.some((url) => url.endsWith('/toolbar.json'));
      return { policy, connects, says: words.includes('policy blocks requests'), problems };
    });
    expect(await Promise.all(seen)).to.deep.equal(
      POLICIES_IN_PAGE.map(([policy, connects]) => ({ policy, connects, says: !connects, problems: [] })),
    );
  });

  it('is not there where a policy would report it', async () => {
    expect(await open(`/?${new URLSearchParams({ reported: "script-src 'none'" }).toString()}`)).to.include({
      tags: 0,
    });
  });

  it('is loaded from its own origin on a page whose base is another', async () => {
    const { runs, tag } = await open('/?base=http://localhost:9/app/');
    expect(runs).to.equal(1);
    expect(tag).to.include('src="/_profiler/');
  });

  it('is in a page that comes through a service worker', async () => {
    const { page: tab } = await browser.openFresh();
    await tab.goto(`http://127.0.0.1:${host.port}/`);
    await tab.evaluate(`navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)
      .then(() => navigator.serviceWorker.controller ?? new Promise((done) => navigator.serviceWorker.addEventListener('controllerchange', done)))
      .then(() => 'controlled')`);
    await tab.goto(`http://127.0.0.1:${host.port}/?again`);
    expect(await tab.evaluate('navigator.serviceWorker.controller !== null')).to.equal(true);
    expect(await tab.locator('script[data-token]').count()).to.equal(1);
    const inside = await tab.evaluate(`fetch('/?fetched').then((answer) => answer.text())`);
    expect(inside).to.not.include('data-token');
  });
});
