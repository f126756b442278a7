/** How the toolbar follows a page that goes on without loading a document, and what it tells of the loading of one. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type OpenPage, useBrowser } from '../support/browser.ts';
import { openToolbarHost, openToolbarPage, pageOf, type ToolbarHost } from '../support/toolbar-host.ts';
import { until } from '../support/waiting.ts';

interface Move {
  url: string;
  token: string | null;
}

const TURBO = '/modules/@hotwired/turbo/dist/turbo.es2017-esm.js';
const HTMX = { 2: '/modules/htmx-2/dist/htmx.js', 4: '/modules/htmx.org/dist/htmx.js' };

describe('the navigation of a page, in the toolbar’s eyes', () => {
  const browser = useBrowser();
  let host: ToolbarHost;
  let opened: OpenPage;
  let page: Page;

  before(async () => {
    opened = await browser.open();
    ({ page } = opened);
    host = await openToolbarHost({}, ({ app }) => {
      const answer = (body: string, library = ''): string =>
        pageOf({ token: '', before: '', body }).replace('</head>', `${library}</head>`);
      const turbo = `<script type="module" src="${TURBO}"></script>`;
      app.get('/turbo/:name', (req, res) => {
        const body = `<h1>${req.params.name}</h1><a href="/turbo/two?a=1">two</a> <a href="/turbo/one#part">part</a>
          <form method="post" action="/turbo/orders"><button>order</button></form>
          <turbo-frame id="frame"><a href="/turbo/frame">in the frame</a></turbo-frame>`;
        res.type('html').send(answer(body, turbo));
      });
      app.post('/turbo/orders', (_req, res) => {
        res.redirect(303, '/turbo/done');
      });
      app.get('/htmx/:version/:name', (req, res) => {
        const { version, name } = req.params;
        const library = `<script src="${version === '2' ? HTMX[2] : HTMX[4]}"></script>`;
        const body = `<div id="main"><h1>${name}</h1>
          <a hx-get="/htmx/${version}/two?a=1" hx-push-url="true" hx-target="#main">two</a>
          <button hx-post="/htmx/${version}/orders" hx-push-url="/htmx/${version}/elsewhere" hx-target="#main">order</button>
          <button hx-get="/htmx/${version}/part" hx-target="#main">part</button></div>`;
        res
          .type('html')
          .send(req.headers['hx-request'] === undefined ? answer(body, library) : `<h1>${name}</h1>`);
      });
      app.post('/htmx/:version/orders', (_req, res) => res.type('html').send('<h1>ordered</h1>'));
    });
  });
  after(async () => {
    await host?.close();
  });
  async function open(path: string): Promise<void> {
    await page.goto(`${host.origin}${path}`);
    await page.evaluate('window.started');
  }

  /** What was told, with the line of the request in place of its token. */
  async function movesWhen(count: number): Promise<unknown[]> {
    await page.waitForFunction(`window.moves.length >= ${count}`);
    await page.waitForTimeout(200);
    const moves = await page.evaluate<Move[]>('window.moves');
    return Promise.all(
      moves.map(async ({ url, token }) => {
        const found = token === null ? null : await host.profiler.profiles.read(token);
        const line = found === null ? null : `${found.profile.method} ${found.profile.url}`;
        return [url.slice(host.origin.length), line];
      }),
    );
  }

  it('takes the request that Turbo made for a page, and the one that a form led to', async () => {
    await open('/turbo/one');
    await page.click('text=two');
    await page.waitForSelector('h1:has-text("two")');
    expect(await movesWhen(1)).to.deep.equal([['/turbo/two?a=1', 'GET /turbo/two?a=1']]);
    await page.goBack();
    await page.waitForSelector('h1:has-text("one")');
    expect((await movesWhen(2))[1]).to.deep.equal(['/turbo/one', null]);
    await page.click('text=order');
    await page.waitForSelector('h1:has-text("done")');
    expect((await movesWhen(3))[2]).to.deep.equal(['/turbo/done', 'GET /turbo/done']);
    expect(opened.problems).to.deep.equal([]);
  });

  it('takes neither a frame of a page nor a place in it for another page', async () => {
    await open('/turbo/one');
    await page.click('text=in the frame');
    await page.click('text=part');
    await page.waitForTimeout(1300);
    expect(await movesWhen(0)).to.deep.equal([]);
  });

  for (const version of ['2', '4'])
    it(`takes the request that htmx ${version} made, also where it writes another address`, async () => {
      await open(`/htmx/${version}/one`);
      await page.click('text=part');
      await page.waitForSelector('h1:has-text("part")');
      await page.waitForTimeout(1300);
      expect(await movesWhen(0)).to.deep.equal([]);
      await open(`/htmx/${version}/one`);
      await page.click('text=order');
      await page.waitForSelector('h1:has-text("ordered")');
      expect(await movesWhen(1)).to.deep.equal([
        [`/htmx/${version}/elsewhere`, `POST /htmx/${version}/orders`],
      ]);
      await open(`/htmx/${version}/one`);
      await page.click('text=two');
      await page.waitForSelector('h1:has-text("two")');
      expect(await movesWhen(1)).to.deep.equal([
        [`/htmx/${version}/two?a=1`, `GET /htmx/${version}/two?a=1`],
      ]);
    });

  describe('by the history', () => {
    it('takes a call to the same path, made before or after', async () => {
      await openToolbarPage(page, host);
      await page.evaluate(
        `(async () => { history.pushState({}, '', '/api/orders'); await fetch('/api/orders?data=1'); })()`,
      );
      expect(await movesWhen(1)).to.deep.equal([['/api/orders', 'GET /api/orders?data=1']]);
      await page.evaluate(
        `(async () => { await fetch('/api/more'); history.pushState({}, '', '/api/more'); })()`,
      );
      expect((await movesWhen(2))[1]).to.deep.equal(['/api/more', 'GET /api/more']);
    });

    it('waits for one that is slow', async () => {
      await openToolbarPage(page, host);
      await page.evaluate(
        `(async () => { history.pushState({}, '', '/api/slow'); await fetch('/api/slow?ms=1800'); })()`,
      );
      expect(await movesWhen(1)).to.deep.equal([['/api/slow', 'GET /api/slow?ms=1800']]);
    });

    it('says that there was none, and keeps silent about filters and places', async () => {
      await openToolbarPage(page, host);
      await page.evaluate(`fetch('/api/other'); history.pushState({}, '', '/elsewhere')`);
      expect(await movesWhen(1)).to.deep.equal([['/elsewhere', null]]);
      await page.evaluate(
        `history.replaceState({}, '', '/elsewhere?q=1'); history.replaceState({}, '', '/elsewhere?q=2#place'); location.hash = 'other'`,
      );
      await page.waitForTimeout(1300);
      expect(await movesWhen(1)).to.have.length(1);
      await page.evaluate(`location.hash = '#/orders'`);
      expect((await movesWhen(2))[1]).to.deep.equal(['/elsewhere?q=2#/orders', null]);
      await page.goBack();
      expect((await movesWhen(3))[2]).to.deep.equal(['/elsewhere?q=2#other', null]);
    });
  });

  describe('timing', () => {
    interface Told {
      timing: Record<string, unknown>;
    }
    const toldWhen = async (count: number): Promise<Told[]> => {
      await page.waitForFunction(`window.timings.length >= ${count}`);
      return page.evaluate<Told[]>('window.timings');
    };
    const busy = (ms: number): string =>
      `setTimeout(() => { const until = performance.now() + ${ms}; while (performance.now() < until); }, 50);`;
    /** As a tab that somebody leaves. */
    const hide = `Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`;

    it('is told once the page has settled, as the service takes it, and once more when it is left', async () => {
      let first: Told;
      const tasksOf = ({ timing }: Told): { duration: number }[] =>
        timing.longTasks as { duration: number }[];
      // On a busy machine the browser may tell of the task when the page has settled.
      await until(async () => {
        await openToolbarPage(page, host, {
          before: busy(120),
          body: '<h1>A heading that is the largest of the page</h1>',
        });
        [first] = (await toldWhen(1)) as [Told];
        return tasksOf(first).length > 0;
      }, 'the task is told of');
      const { timing } = first!;
      expect(timing).to.include({ navigation: 'navigate', redirects: 0, lcpKind: 'text', cls: 0 });
      const order = ['requestStart', 'ttfb', 'responseEnd', 'domInteractive', 'domContentLoaded', 'load'];
      const times = order.map((name) => timing[name] as number);
      expect(times).to.deep.equal([...times].sort((a, b) => a - b));
      expect(timing.fcp).to.be.greaterThan(times[1]!);
      expect(timing.lcp).to.be.at.least(timing.fcp as number);
      expect(Math.max(...tasksOf(first!).map(({ duration }) => duration))).to.be.at.least(100);
      const token = await page.evaluate<string>('document.documentElement.dataset.token');
      const answer = await page.evaluate<number>(
        `fetch('/_profiler/-/report', { method: 'POST', body: JSON.stringify({ token: '${token}', timing: timings[0].timing }) }).then(({ status }) => status)`,
      );
      expect(answer).to.equal(204);
      await page.evaluate(`new Promise((done) => {
        new PerformanceObserver(() => done(0)).observe({ type: 'longtask' }); ${busy(120)} })`);
      await page.evaluate(hide);
      const told = await toldWhen(2);
      expect((told[1]!.timing.longTasks as unknown[]).length).to.be.greaterThan(
        (timing.longTasks as unknown[]).length,
      );
      await page.evaluate(hide);
      expect(await page.evaluate('timings.length')).to.equal(2);
    });

    it('is not told twice where nothing has come since', async () => {
      await openToolbarPage(page, host, { body: '<h1>Page</h1>' });
      await toldWhen(1);
      await page.evaluate(hide);
      expect(await page.evaluate('timings.length')).to.equal(1);
    });

    it('keeps the longest of many tasks, and counts the others', async () => {
      await openToolbarPage(page, host, {
        before: `window.PerformanceObserver = class { static supportedEntryTypes = ['longtask'];
          constructor(work) { this.work = work; } takeRecords() { return []; } disconnect() {}
          observe({ type }) { if (type === 'longtask') this.work({ getEntries: () => Array.from({ length: 70 }, (_, i) => ({ startTime: i * 100, duration: 50 + i })) }); } };`,
      });
      const [{ timing }] = (await toldWhen(1)) as [Told];
      const tasks = timing.longTasks as { duration: number }[];
      expect(tasks).to.have.length(50);
      expect(timing.moreLongTasks).to.equal(20);
      expect(Math.min(...tasks.map(({ duration }) => duration))).to.equal(70);
    });
  });
});
