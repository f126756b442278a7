/** The bar in pages that the browser has in its cache: the tag in them has the token of the request that made them. */
import { expect } from 'chai';
import express from 'express';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { ProfileIndex } from '../../app/profiler/store/profile-index.ts';
import { useBrowser } from '../support/browser.ts';
import { until } from '../support/waiting.ts';

/** Run in the page. */
const ITEMS = `[...(document.querySelector('hindsight-toolbar')?.shadowRoot.querySelectorAll('.item') ?? [])]`;
const TAGGED = `document.querySelector('script[data-token]')?.dataset.token`;

const document = (body: string, head = ''): string =>
  `<!doctype html><html lang="en"><head><title>Page</title><link rel="icon" href="data:,">${head}</head><body>${body}</body></html>`;

describe('the toolbar in a page from the cache', () => {
  const browser = useBrowser();
  let server: Server;
  let origin: string;
  let profiler: Profiler;
  /** Whether something in front of the service, of which it hears nothing, says that a page is still good. */
  let hasFront = false;

  async function serve(): Promise<void> {
    profiler = createProfiler({ warn: () => undefined });
    const app = express();
    app.use((req, res, next) => {
      if (!hasFront || req.headers['if-none-match'] === undefined || req.path !== '/small') next();
      else res.status(304).end();
    });
    app.use('/_profiler/toolbar.js', (_req, _res, next) => void setTimeout(next, 200));
    app.use(profiler.watch, profiler.pages);
    app.get('/small', (_req, res) => void res.type('html').send(document('<h1>Small</h1>')));
    app.get('/large', (_req, res) => void res.type('html').send(document('<h1>Large</h1>'.repeat(900))));
    app.get('/kept', (_req, res) => {
      res.set('cache-control', 'max-age=60').type('html').send(document('<h1>Kept</h1>'));
    });
    app.get('/based', (_req, res) => {
      // After the tag, and before the script is there.
      const moved = `<script>addEventListener('DOMContentLoaded', () => {
        document.head.append(Object.assign(document.createElement('base'), { href: 'https://other.example/' }));
      })</script>`;
      res.type('html').send(document('<h1>Based</h1>', moved));
    });
    app.get('/deep/path', (_req, res) => {
      res.type('html').send(document('<h1>Deep</h1>', '<base href="/far/away/">'));
    });
    app.get('/foreign', (_req, res) => {
      res.type('html').send(document('<h1>Foreign</h1>', '<base href="https://other.example/assets/">'));
    });
    const { port } = server.address() as AddressInfo;
    origin = `http://127.0.0.1:${port}`;
    server.removeAllListeners('request');
    server.on('request', app as RequestListener);
  }

  beforeEach(async () => {
    hasFront = false;
    server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await serve();
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await profiler.close(0);
  });

  /** Of the documents at that address, newest first. */
  async function documents(url: string): Promise<ProfileIndex[]> {
    const { rows } = await profiler.profiles.find({ url, limit: 50, offset: 0 });
    return rows.filter((row) => row.url === url && row.dest === 'document');
  }
  /** Token and words of the bar's first item. */
  async function shown(page: Page): Promise<[token: string | undefined, text: string]> {
    await page.waitForFunction(`${ITEMS}.length > 1`);
    const [href, text] = await page.evaluate<[string, string]>(
      `(([first]) => [first.href, first.innerText.replace(/\\s+/g, ' ')])(${ITEMS})`,
    );
    return [/_profiler\/([0-9a-f]{6})/.exec(href)?.[1], text];
  }

  it('shows of a page, loaded again, the request that was answered by 304, each time', async () => {
    const url = '/small';
    const { page, problems } = await browser.open();
    await page.goto(origin + url);
    const [first] = await shown(page);
    const seen = [first];
    for (let turn = 0; turn < 2; turn++) {
      await page.reload();
      const [token, text] = await shown(page);
      expect(await page.evaluate(TAGGED), 'the tag is the old one').to.equal(first);
      expect(text).to.match(/^304 /);
      expect(token).to.equal((await documents(url))[0]?.token);
      seen.push(token);
    }
    expect(new Set(seen).size).to.equal(3);
    expect(problems).to.deep.equal([]);
  });

  it('lists the calls, and keeps the times, of the request that was answered by 304', async () => {
    const { page, problems } = await browser.open();
    // The page that is left asks for itself, and may tell once more what it measured.
    const isQuiet = Promise.all(
      ['/calls.json', '/-/report'].map((end) => page.waitForResponse((answer) => answer.url().endsWith(end))),
    );
    await page.goto(`${origin}/large`);
    const [first = ''] = await shown(page);
    await isQuiet;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`));
    await page.reload();
    const [token = ''] = await shown(page);
    await page.evaluate("fetch('/large')");
    const asksForCalls = (): string[] => asked.filter((line) => line.includes('/calls.json'));
    const sent = (): string[] =>
      asked.filter((line) => line.includes('/-/report') && line.includes('"navigation":"reload"'));
    const timing = async (): Promise<unknown> => (await profiler.profiles.read(token))?.amendments.timing;
    await until(() => asksForCalls().length > 0 && sent().length > 0, 'the questions of the new page');
    await until(async () => (await timing()) !== undefined, 'the times beside the profile');
    expect(asksForCalls()[0]).to.include(token);
    expect(sent()).to.have.length(1);
    expect(sent()[0]).to.include(token);
    expect(first).not.to.equal(token);
    expect(problems).to.deep.equal([]);
  });

  it('is not confused by calls to the same address, before and after', async () => {
    const { page } = await browser.open();
    await page.goto(`${origin}/large`);
    await shown(page);
    await page.evaluate("fetch('/large').then((answer) => answer.text())");
    await page.reload();
    await page.evaluate("fetch('/large').then((answer) => answer.text())");
    const [token, text] = await shown(page);
    expect(text).to.match(/^304 /);
    expect(token).to.equal((await documents('/large'))[0]?.token);
  });

  it('keeps the token of the tag where the browser asked nobody', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${origin}/kept`);
    const [first] = await shown(page);
    await page.goto(`${origin}/large`);
    await page.goto(`${origin}/kept`);
    expect((await shown(page))[0], 'the disk cache').to.equal(first);
    await page.reload();
    const [again] = await shown(page);
    expect(again).not.to.equal(first);
    await page.goto(`${origin}/small`);
    await page.goBack();
    const back = await page.evaluate<{ type: string; transferSize: number }>(
      "performance.getEntriesByType('navigation')[0].toJSON()",
    );
    expect(back).to.include({ type: 'back_forward', transferSize: 0 });
    expect((await shown(page))[0], 'back').to.equal(first);
    expect(await documents('/kept')).to.have.length(2);
    expect(problems).to.deep.equal([]);
  });

  it('shows the request after a restart of the service too, which knows the first no longer', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${origin}/large`);
    const [first = ''] = await shown(page);
    const timing = async (): Promise<unknown> => (await profiler.profiles.read(first))?.amendments.timing;
    await until(async () => (await timing()) !== undefined, 'the times beside the profile');
    await profiler.close(0);
    await serve();
    await page.reload();
    const [token, text] = await shown(page);
    expect(text).to.match(/^304 /);
    expect(token).to.equal((await documents('/large'))[0]?.token);
    expect(token).not.to.equal(first);
    expect(problems).to.deep.equal([]);
  });

  it('shows the request of the tag where the service knows of no other', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${origin}/small`);
    const [first] = await shown(page);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('toolbar.json')) asked.push(request.url());
    });
    hasFront = true;
    await page.reload();
    expect((await shown(page))[0]).to.equal(first);
    expect(asked).to.have.length(4);
    expect(asked[0]).to.match(/revalidated=/);
    expect(problems).to.deep.equal([]);
  });

  for (const [path, what] of [
    ['/deep/path', 'another path'],
    ['/foreign', 'another origin'],
    ['/based', 'another origin, given by a script meanwhile'],
  ] as const)
    it(`asks its own service in a page whose base is ${what}`, async () => {
      const { page, problems } = await browser.open();
      const elsewhere: string[] = [];
      page.on('request', (request) => {
        const { origin: to, pathname } = new URL(request.url());
        if (to !== origin || pathname.startsWith('/far')) elsewhere.push(request.url());
      });
      await page.goto(origin + path);
      await shown(page);
      const [token = ''] = await shown(page);
      const timing = async (): Promise<unknown> => (await profiler.profiles.read(token))?.amendments.timing;
      await until(async () => (await timing()) !== undefined, 'the times beside the profile');
      const hrefs = await page.evaluate<string[]>(`${ITEMS}.map((item) => item.href)`);
      expect(hrefs.filter((href) => !href.startsWith(`${origin}/_profiler/`))).to.deep.equal([]);
      expect(elsewhere.filter((url) => !url.startsWith('data:'))).to.deep.equal([]);
      expect(problems).to.deep.equal([]);
    });
});
