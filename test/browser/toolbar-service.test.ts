/** The toolbar and the service together, in a real browser: what the bar asks is answered, also to a front end of another origin. */
import { expect } from 'chai';
import express from 'express';
import { type RequestListener } from 'node:http';
import type { Page } from 'playwright-core';
import { createProfiler, type Profiler } from '../../app/index.ts';
import { violations } from '../support/axe.ts';
import { useBrowser } from '../support/browser.ts';
import { close, listen } from '../support/listen.ts';

/** Runs in the page. */
const ROOT = `document.querySelector('hindsight-toolbar')?.shadowRoot`;
const HREFS = `[...(${ROOT}?.querySelectorAll('a[href]') ?? [])].map((link) => link.href)`;
const POINT_AT_CALLS = `[...${ROOT}.querySelectorAll('.item')].find((item) => item.innerText.includes('calls'))?.focus()`;

describe('the toolbar of a service', () => {
  const browser = useBrowser();
  let frontEnd: Awaited<ReturnType<typeof listen>>;
  let service: Awaited<ReturnType<typeof listen>>;
  let profiler: Profiler;
  /** What the front end's page loads. */
  let script = '';

  beforeEach(async () => {
    frontEnd = await listen((_req, res) => {
      res.setHeader('content-type', 'text/html');
      res.end(`<!doctype html><html lang="en"><title>App</title><link rel="icon" href="data:,">
<script async src="${script}"></script><main>App</main></html>`);
    });
    profiler = createProfiler({ toolbarOrigins: [frontEnd.origin], warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/old', (_req, res) => {
      res.redirect('/page');
    });
    app.get('/page', (_req, res) => {
      res.type('html').send(
        `<!doctype html><html lang="en"><head><title>Page</title><link rel="icon" href="data:,"></head><body><h1>Page</h1>
<script>fetch('/api/early')</script></body></html>`,
      );
    });
    app.get('/api/:name', (req, res) => {
      const { origin } = req.headers;
      if (origin !== undefined) res.setHeader('access-control-allow-origin', origin);
      res.json({ name: req.params.name });
    });
    service = await listen(app as RequestListener);
    script = `${service.origin}/_profiler/toolbar.js`;
  });
  afterEach(async () => {
    for (const { server } of [frontEnd, service]) await close(server);
    await profiler.close();
  });

  const tokenOf = async (url: string): Promise<string> => {
    const { rows } = await profiler.profiles.find({ url, limit: 1, offset: 0 });
    return rows[0]?.token ?? 'none';
  };
  const openCalls = async (page: Page, count: number): Promise<void> => {
    await page.waitForFunction(
      `/${count}/.test([...(${ROOT}?.querySelectorAll('.item') ?? [])].find((item) => item.innerText.includes('calls'))?.innerText ?? '')`,
    );
    await page.evaluate(POINT_AT_CALLS);
  };

  it('links the redirect before it and the calls of its page to their profiles', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${service.origin}/old`);
    await openCalls(page, 1);
    const early = await tokenOf('/api/early');
    await page.waitForFunction(`${HREFS}.some((href) => href.endsWith('${early}'))`);
    const redirect = await tokenOf('/old');
    const shown = await page.evaluate(
      `fetch('/_profiler/${await tokenOf('/page')}/toolbar.json').then((answer) => answer.json())`,
    );
    expect((shown as { cameFrom: { token: string }[] }).cameFrom.map(({ token }) => token)).to.deep.equal([
      redirect,
    ]);
    expect(problems).to.deep.equal([]);
  });

  it('sends what the browser measured, which the timeline draws', async () => {
    const { page, problems } = await browser.open();
    await page.goto(`${service.origin}/page`);
    const token = await tokenOf('/page');
    for (let i = 0; i < 40; i++) {
      const found = await profiler.profiles.read(token);
      if (found?.amendments.timing !== undefined) break;
      await page.waitForTimeout(250);
    }
    await page.goto(`${service.origin}/_profiler/${token}?panel=timeline`);
    const rows = await page.evaluate(
      `[...document.querySelectorAll('#browser tbody tr')].map(({ id }) => id)`,
    );
    expect(rows).to.include.members(['b-wait', 'b-server', 'b-load']);
    expect(await violations(page, { within: '#browser' })).to.deep.equal([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await violations(page, { within: '#browser', only: 'colours' })).to.deep.equal([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(390);
    expect(problems).to.deep.equal([]);
  });

  it('stands in a front end of another origin by one tag, with its calls', async () => {
    const { page, problems } = await browser.open();
    await page.goto(frontEnd.origin);
    await page.waitForFunction(`${ROOT} !== undefined`);
    const exposed = await page.evaluate(
      `fetch('${service.origin}/api/mine').then(({ headers }) => headers.get('x-debug-token'))`,
    );
    expect(exposed).to.equal(await tokenOf('/api/mine'));
    await openCalls(page, 1);
    await page.waitForFunction(`${HREFS}.includes('${service.origin}/_profiler/${String(exposed)}')`);
    expect(problems).to.deep.equal([]);
  });

  it('learns nothing in a front end that was not set up', async () => {
    const other = await listen((_req, res) => res.end('<!doctype html><title>Other</title>'));
    const { page } = await browser.open();
    await page.goto(other.origin);
    const read = `fetch('${service.origin}/_profiler/calls.json', { headers: { 'x-hindsight-toolbar': '1' } }).then(() => 'read', () => 'refused')`;
    expect(await page.evaluate(read)).to.equal('refused');
    await close(other.server);
  });
});
