/** What the toolbar hears of a page's calls, and that the page does not notice, in a real browser. */
import { expect } from 'chai';
import type { RequestHandler, Response } from 'express';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import type { FindingRule } from '../../app/index.ts';
import { type OpenPage, useBrowser } from '../support/browser.ts';
import {
  callsOf,
  callsWhen,
  openToolbarHost,
  openToolbarPage,
  pageOf,
  type ShownCall,
  type ToolbarHost,
} from '../support/toolbar-host.ts';

const WORKER = `
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(clients.claim()));
self.addEventListener('fetch', (event) => {
  const { pathname } = new URL(event.request.url);
  if (pathname === '/api/made') event.respondWith(new Response('made'));
  if (pathname === '/api/through') event.respondWith(fetch(event.request));
});`;

const pathIn = (url: string): string => new URL(url).pathname + new URL(url).search;
const linked = (calls: ShownCall[]): boolean =>
  calls.length > 0 && calls.every(({ token }) => token !== null);

/** Answers two requests when both are there. */
function together(): RequestHandler {
  const waiting: Response[] = [];
  return (_req, res) => {
    waiting.push(res);
    if (waiting.length === 2) for (const one of waiting.splice(0)) one.json({});
  };
}

/** Milliseconds that a document lies at the service before it is looked at. */
const LATE_MS = 700;

/** Finds fault with what is asked for by this name; nothing is worse. */
const FAULT: FindingRule = {
  name: 'test-fault',
  needs: ['request'],
  labels: ['at fault'],
  why: 'By its name.',
  fix: 'Another name.',
  find: (_kept, { url }) =>
    url.startsWith('/api/fault')
      ? [{ severity: 'bad', label: 'at fault', sentence: 'It is.', panel: 'request', costMs: 1e6 }]
      : [],
};

describe("the calls of a page, in the toolbar's eyes", () => {
  const browser = useBrowser();
  let host: ToolbarHost;
  let other: ToolbarHost;
  let opened: OpenPage;
  let page: Page;

  before(async () => {
    host = await openToolbarHost({ findings: [FAULT] }, ({ app, server }) => {
      app.get('/worker.js', (_req, res) => res.type('js').send(WORKER));
      app.get('/api/kept', (_req, res) => res.set('cache-control', 'max-age=60').json({}));
      app.post('/api/together', together());
      app.get('/late', (_req, res) => {
        res.type('html').write(pageOf({ token: res.getHeader('x-debug-token'), bar: false }));
        setTimeout(() => res.end(), 2 * LATE_MS);
      });
      const [serve] = server.listeners('request') as RequestListener[];
      server.removeAllListeners('request').on('request', (req: IncomingMessage, res: ServerResponse) => {
        if (req.url === '/late') setTimeout(() => serve?.(req, res), LATE_MS);
        else serve?.(req, res);
      });
    });
    other = await openToolbarHost({}, ({ app }) => {
      app.use('/api', (req, res, next) => {
        res.set('access-control-allow-origin', '*');
        if (req.path.startsWith('/exposed'))
          res.set('access-control-expose-headers', 'x-debug-token, x-debug-token-link');
        if (req.path === '/exposed-elsewhere')
          res.set('x-debug-token-link', 'http://elsewhere.test/_profiler/abcdef');
        if (req.path === '/exposed-script') res.set('x-debug-token-link', 'javascript:alert(1)');
        next();
      });
    });
  });
  after(async () => {
    await host?.close();
    await other?.close();
  });
  // One for all: to start a page costs twice what it costs to load it again.
  before(async () => {
    opened = await browser.open();
    ({ page } = opened);
  });
  beforeEach(() => {
    opened.problems.splice(0);
    host.received.splice(0);
  });

  async function profileOf({ href }: ShownCall): Promise<string> {
    const profile = (await (await fetch(`${href}.json`)).json()) as { profile: { url: string } };
    return profile.profile.url;
  }

  it('lists those made before it was there, with method, status, type and profile', async () => {
    await openToolbarPage(page, host, {
      before: `fetch('/api/early?ms=1');
        const xhr = new XMLHttpRequest(); xhr.open('PUT', '/api/earlier'); xhr.send('x');
        navigator.sendBeacon('/api/beacon', 'x');
        window.stream = new EventSource('/events?early');`,
    });
    const calls = await callsWhen(page, '', (all) => all.length === 4 && linked(all));
    const facts = calls.map(({ type, method, url, status }) => [type, method, pathIn(url), status]);
    expect(facts).to.have.deep.members([
      ['fetch', 'GET', '/api/early?ms=1', 200],
      ['xhr', 'PUT', '/api/earlier', 200],
      ['beacon', 'POST', '/api/beacon', 200],
      ['eventsource', 'GET', '/events?early', 200],
    ]);
    for (const call of calls) expect(await profileOf(call)).to.equal(pathIn(call.url));
    expect(calls.find(({ type }) => type === 'eventsource')).to.include({ state: 'open', ms: null });
    await page.evaluate('stream.close()');
    const [stream] = await callsWhen(page, '/events', ([call]) => call?.state === 'done');
    expect(stream).to.include({ state: 'done', tone: 'plain' });
    expect(stream?.ms).to.be.greaterThan(0);
    expect(opened.problems).to.deep.equal([]);
  });

  it('knows a call as soon as its answer is there, by its token', async () => {
    await openToolbarPage(page, host);
    const token = await page.evaluate(
      `fetch('/api/one', { method: 'POST', body: 'b' }).then((r) => r.headers.get('x-debug-token'))`,
    );
    const [call] = await callsOf(page, '/api/one');
    expect(call).to.include({
      type: 'fetch',
      method: 'POST',
      status: 200,
      state: 'done',
      token,
    });
    expect(call?.href).to.equal(`${host.origin}/_profiler/${String(token)}`);
  });

  it('links several of one address, at one time, each to its own profile', async () => {
    await openToolbarPage(page, host, {
      before: `for (const ms of [80, 5, 40, 20]) fetch('/api/slow?ms=60', { headers: { 'x-ms': ms } });`,
    });
    const calls = await callsWhen(page, '/api/slow', (all) => all.length === 4 && linked(all));
    expect(new Set(calls.map(({ token }) => token)).size).to.equal(4);
    expect(calls.every(({ method, status }) => method === 'GET' && status === 200)).to.equal(true);
  });

  it('links none where it is not certain which is which', async () => {
    // A frame of the page asks for the same at the same time, and what it asks for is no call of the page's own. By POST: of two that
    // could be cached the browser sends the second when the first is answered.
    await openToolbarPage(page, host, {
      before: `const frame = document.documentElement.appendChild(document.createElement('iframe'));
        fetch('/api/together', { method: 'POST' });
        frame.contentWindow.fetch('/api/together', { method: 'POST' });`,
    });
    await callsWhen(page, '/api/together', ([call]) => call?.status === 200);
    for (let turn = 0; turn < 2; turn++)
      await page.waitForResponse((answer) => answer.url().includes('/calls.json'));
    const calls = await callsOf(page, '/api/together');
    expect(calls.map(({ token, status }) => [token, status])).to.deep.equal([[null, 200]]);
  });

  it('knows in a tab what the service found, though another tab shows the same address', async () => {
    await openToolbarPage(page, host);
    const second = await page.context().newPage();
    await openToolbarPage(second, host);
    for (const [tab, name] of [
      [page, 'first'],
      [second, 'second'],
    ] as const)
      // prettier-ignore
      await tab.evaluate(`fetch('/api/fault?${name}').then((answer) => answer.text())`);
    for (const tab of [second, page]) await tab.bringToFront();
    for (const [tab, name] of [
      [page, 'first'],
      [second, 'second'],
    ] as const) {
      // prettier-ignore
      const calls = await callsWhen(tab, '/api/', ([call]) => call?.why === 'at fault');
      expect(calls.map(({ url, tone, why }) => [pathIn(url), tone, why])).to.deep.equal([
        [`/api/fault?${name}`, 'bad', 'at fault'],
      ]);
    }
    await second.close();
  });

  it('says which failed and which were slow', async () => {
    await openToolbarPage(page, host);
    await page.evaluate(`Promise.all([
      fetch('/api/fail'), fetch('/api/slow?ms=1100'), fetch('/nothing'),
      fetch('/api/lost', { method: 'POST', body: 'x' }).catch(() => 0),
      (async () => { const aim = new AbortController(); const call = fetch('/api/slow?ms=900', { signal: aim.signal });
        setTimeout(() => aim.abort(), 30); await call.catch(() => 0); })(),
    ])`);
    const ended = await callsWhen(
      page,
      '',
      (all) => all.length === 5 && all.every(({ state }) => state !== 'open'),
    );
    const seen = ended.map(({ url, state, tone, why }) => [url.slice(host.origin.length), state, tone, why]);
    expect(seen).to.have.deep.members([
      ['/api/fail', 'done', 'bad', 'responded 500'],
      ['/api/slow?ms=1100', 'done', 'warn', 'slow'],
      ['/nothing', 'done', 'warn', 'responded 404'],
      ['/api/lost', 'failed', 'bad', 'failed'],
      ['/api/slow?ms=900', 'failed', 'plain', 'aborted'],
    ]);
  });

  it('tells of the answer that sent a call on', async () => {
    await openToolbarPage(page, host);
    await page.evaluate(`fetch('/api/old', { method: 'POST', body: 'x' })`);
    const [call] = await callsWhen(page, '/api/old', ([one]) => (one?.cameFrom.length ?? 0) > 0);
    expect(await profileOf(call!)).to.equal('/api/new');
    expect(call!.cameFrom.map(({ url, status }) => [url, status])).to.deep.equal([['/api/old', 303]]);
  });

  it('keeps the newest hundred, and counts the others', async () => {
    await openToolbarPage(page, host);
    await page.evaluate(`(async () => { for (let i = 0; i < 130; i++) await fetch('/api/n?' + i); })()`);
    const calls = await callsWhen(page, '', (all) => all.length === 100);
    expect(calls.at(-1)?.url).to.match(/n\?129$/);
    // Calls are told at most ten times a second.
    await page.waitForFunction('told.at(-1)[1] === 30');
  });

  it('lists neither what the page is made of nor what the bar asks', async () => {
    await openToolbarPage(page, host, {
      body: '<img src="/api/image" alt=""><link rel="stylesheet" href="/api/style">',
    });
    await page.evaluate(
      `fetch('/_profiler/search.json').then(() => fetch('data:,x')).then(() => fetch('/api/last'))`,
    );
    const calls = await callsWhen(page, '', (all) => all.some(({ ms }) => ms !== null) && linked(all));
    expect(calls.map(({ url }) => pathIn(url))).to.deep.equal(['/api/last']);
  });

  it('says what came from the cache or through a service worker', async () => {
    // Its own, because the worker serves all later pages.
    const { page: served } = await browser.openFresh();
    await openToolbarPage(served, host);
    await served.evaluate(`(async () => {
      await (await fetch('/api/kept')).text(); await (await fetch('/api/kept')).text();
      await navigator.serviceWorker.register('/worker.js');
      await new Promise((done) => navigator.serviceWorker.controller ? done() : navigator.serviceWorker.addEventListener('controllerchange', done));
      await (await fetch('/api/made')).text(); await (await fetch('/api/through')).text();
    })()`);
    const calls = await callsWhen(
      served,
      '/api/',
      (all) => all.filter(({ why }) => why !== null).length === 3,
    );
    expect(
      calls.map(({ url, why, token }) => [url.slice(host.origin.length + 5), why, token !== null]),
    ).to.deep.equal([
      ['kept', null, true],
      ['kept', 'from cache', true],
      ['made', 'through a service worker', false],
      ['through', 'through a service worker', true],
    ]);
  });

  it('links calls to another origin that exposes its token, to that origin only, and lists the others', async () => {
    await openToolbarPage(page, host);
    const names = ['exposed', 'exposed-elsewhere', 'exposed-script', 'hidden'];
    await page.evaluate(`(async () => { for (const name of ${JSON.stringify(names)}) {
      await fetch('${other.origin}/api/' + name);
      await new Promise((done) => { const xhr = new XMLHttpRequest(); xhr.open('GET', '${other.origin}/api/' + name + '?xhr'); xhr.onloadend = done; xhr.send(); });
    } })()`);
    const calls = await callsWhen(page, other.origin, (all) => all.length === 8);
    const links = calls.map(({ url, href, token }) => [
      url.slice(other.origin.length + 5),
      href !== null,
      token !== null,
    ]);
    expect(links).to.deep.equal([
      ['exposed', true, true],
      ['exposed?xhr', true, true],
      ['exposed-elsewhere', false, true],
      ['exposed-elsewhere?xhr', false, true],
      ['exposed-script', false, true],
      ['exposed-script?xhr', false, true],
      ['hidden', false, false],
      ['hidden?xhr', false, false],
    ]);
    expect(calls[0]?.href?.startsWith(`${other.origin}/_profiler/`)).to.equal(true);
    // To ask an XMLHttpRequest for a header that is not exposed writes an error.
    expect(opened.problems).to.deep.equal([]);
  });

  describe('of a front end of another origin', () => {
    let service: ToolbarHost;
    before(async () => {
      service = await openToolbarHost({ toolbarOrigins: [host.origin] }, ({ app }) => {
        app.use('/api', (_req, res, next) => {
          res.set('access-control-allow-origin', host.origin);
          next();
        });
      });
    });
    after(() => service?.close());

    /** One before the hooks, one after. */
    async function callTwice(before = ''): Promise<void> {
      await openToolbarPage(page, host, {
        bar: '0',
        before: `${before}; fetch('${service.origin}/api/early')`,
      });
      await page.evaluate(`delete document.documentElement.dataset.token; window.start('${service.origin}')`);
      await page.evaluate(`fetch('${service.origin}/api/late', { method: 'POST' })`);
    }

    async function expectBoth(): Promise<void> {
      const calls = await callsWhen(page, service.origin, (all) => all.length === 2 && linked(all));
      expect(calls.map(({ url, method }) => [pathIn(url), method])).to.deep.equal([
        ['/api/early', 'GET'],
        ['/api/late', 'POST'],
      ]);
      expect(await Promise.all(calls.map(profileOf))).to.deep.equal(['/api/early', '/api/late']);
    }

    it('are known by the service that it asks', async () => {
      await callTwice();
      await expectBoth();
    });

    it('are known where the browser tells of them after the service', async () => {
      const told = page.waitForResponse((answer) => answer.url().includes('/calls.json'));
      await callTwice(`const Native = PerformanceObserver; const held = []; let isHeld = true;
        window.PerformanceObserver = class extends Native {
          constructor(work) { super((list) => (isHeld ? held.push(() => work(list)) : work(list))); }
        };
        window.release = () => { isHeld = false; for (const work of held) work(); };`);
      await (await told).finished();
      await page.evaluate('release()');
      await expectBoth();
    });
  });

  describe('that stay open', () => {
    it('lists event streams with the next call, and says when they are closed', async () => {
      await openToolbarPage(page, host);
      await page.evaluate(
        `new Promise((done) => { window.stream = new EventSource('/events'); stream.onopen = done; }).then(() => fetch('/api/one').then(() => 0))`,
      );
      const [stream] = await callsWhen(page, '/events', (all) => all.length > 0);
      expect(stream).to.include({ type: 'eventsource', state: 'open', tone: 'plain', status: 200, ms: null });
      expect(await profileOf(stream!)).to.equal('/events');
      await page.evaluate('stream.close()');
      await callsWhen(page, '/events', ([one]) => one?.state === 'done');
    });

    it('links one to its profile where the document began late at the service, and ended late', async () => {
      await page.goto(`${host.origin}/late`);
      await page.evaluate('window.start()');
      await page.evaluate(`navigator.sendBeacon('/api/beacon?late', 'x')`);
      const calls = await callsWhen(page, '/api/beacon', linked);
      expect(await Promise.all(calls.map(profileOf))).to.deep.equal(['/api/beacon?late']);
    });
  });

  describe('left as they are', () => {
    /** Gives a page something to do and returns what it saw, with and without the toolbar. */
    async function bothWays(script: string, before = ''): Promise<{ without: unknown; with: unknown }> {
      const run = async (bar: string): Promise<unknown> => {
        await openToolbarPage(page, host, { bar, before });
        host.received.splice(0);
        const seen = await page.evaluate(`(async () => { ${script} })()`);
        const sent = host.received.map(({ headers, ...request }) => ({
          ...request,
          headers: Object.fromEntries(
            Object.entries(headers)
              .filter(([name]) => name !== 'referer')
              .map(([name, value]) => [name, String(value).replace(/boundary=.*/, '')]),
          ),
          body: request.body.replace(/------WebKit\w+/g, ''),
        }));
        // Chromium asks again where a connection that it had used before is lost.
        const lines = [...new Set(sent.map((one) => JSON.stringify(one)))].sort();
        return JSON.parse(JSON.stringify({ seen, sent: lines }));
      };
      return { without: await run('0'), with: await run('1') };
    }

    const scenes: Record<string, [script: string, before?: string]> = {
      'requests of every form': [`
        const form = new FormData(); form.append('a', '1'); form.append('f', new File(['x'], 'f.txt'));
        const all = [];
        for (const make of [
          () => fetch('/api/a'), () => fetch(new URL('/api/b', location)), () => fetch(new Request('/api/c', { method: 'PUT', body: 'c' })),
          () => fetch('/api/d', { method: 'POST', body: form }), () => fetch('/api/e', { method: 'POST', body: 'e', keepalive: true }),
          () => fetch(new Request('/api/f', { method: 'POST', body: 'f' }), { method: 'DELETE', headers: { 'x-own': '1' } }),
          () => fetch({ toString: () => '/api/g' }), () => fetch('/api/stream'), () => fetch('/api/old'), () => fetch('/api/fail'),
        ]) { const answer = await make(); all.push([answer.status, answer.url.slice(location.origin.length), answer.redirected, answer.bodyUsed, answer.constructor === Response, (await answer.text()).replace(/----\\w+/g, '')]); }
        return all;`],
      'bodies that are read in pieces, cloned and cancelled': [`
        const answer = await fetch('/api/stream'); const copy = answer.clone(); const reader = answer.body.getReader(); const parts = [];
        for (;;) { const { done, value } = await reader.read(); if (done) break; parts.push(new TextDecoder().decode(value)); }
        const cancelled = await fetch('/api/stream'); await cancelled.body.cancel();
        return [parts.join(''), await copy.text(), cancelled.bodyUsed];`],
      'calls that are aborted, refused and wrong': [`
        const reasons = []; const aim = new AbortController(); const late = fetch('/api/slow?ms=500', { signal: aim.signal }); late.catch(() => 0);
        await new Promise((done) => setTimeout(done, 80)); aim.abort(new Error('mine'));
        for (const make of [() => late, () => fetch('/api/lost', { method: 'POST', body: 'x' }), () => fetch('http://'), () => fetch(), () => fetch('/api/x', { method: 'GET', body: 'x' }), () => fetch('/x', { signal: AbortSignal.abort() })])
          await make().catch((error) => reasons.push([error.name, error.message, error instanceof Error]));
        let thrown = null; try { new fetch('/x'); } catch (error) { thrown = error.name; }
        return [reasons, thrown];`],
      'what nobody catches': [`
        const seen = []; addEventListener('unhandledrejection', (event) => { seen.push(event.reason.name); event.preventDefault(); });
        addEventListener('rejectionhandled', () => seen.push('handled later'));
        fetch('/api/lost', { method: 'POST', body: 'a' }); fetch('/api/lost', { method: 'POST', body: 'b' }).then(() => 0);
        fetch('/api/lost', { method: 'POST', body: 'c' }).catch(() => 0); fetch('/api/lost', { method: 'POST', body: 'd' }).finally(() => 0).catch(() => 0);
        fetch('/api/none').then(() => { throw new RangeError('own'); });
        const later = fetch('/api/lost', { method: 'POST', body: 'e' }); const wait = (ms) => new Promise((done) => setTimeout(done, ms));
        while (seen.length < 4) await wait(10); later.catch(() => 0); while (seen.length < 5) await wait(10); await wait(100); return seen.sort();`],
      'XMLHttpRequest of every form': [`
        const seen = [];
        const send = (method, url, body, { sync = false, more = () => 0 } = {}) => new Promise((done) => {
          const xhr = new XMLHttpRequest(); xhr.open(method, url, !sync);
          for (const name of ['readystatechange', 'loadstart', 'progress', 'load', 'error', 'abort', 'timeout', 'loadend'])
            xhr.addEventListener(name, () => { seen.push(name + xhr.readyState); if (name === 'loadend') done(xhr); });
          more(xhr); try { xhr.send(body); if (sync) done(xhr); } catch (error) { seen.push(error.name); done(xhr); } });
        const one = await send('GET', '/api/a'); const two = await send('POST', '/api/b', 'b', { more: (xhr) => { xhr.responseType = 'json'; xhr.setRequestHeader('x-own', '1'); } });
        const three = await send('GET', '/api/c', null, { sync: true }); await send('GET', '/api/lost', null, { sync: true }); await send('POST', '/api/lost', 'x');
        await send('GET', '/api/slow?ms=10000', null, { more: (xhr) => setTimeout(() => xhr.abort(), 50) }); await send('GET', '/api/slow?ms=10000', null, { more: (xhr) => (xhr.timeout = 50) });
        const again = await send('GET', '/api/d'); again.open('GET', '/api/e', false); again.send();
        const listener = () => seen.push('never'); const bare = new XMLHttpRequest(); bare.addEventListener('loadend', listener); bare.removeEventListener('loadend', listener);
        bare.open('GET', '/api/f'); bare.send(); await new Promise((done) => bare.addEventListener('load', () => setTimeout(done)));
        const errors = []; for (const work of [() => new XMLHttpRequest().send(), () => XMLHttpRequest.prototype.open.call({}, 'GET', '/'), () => new XMLHttpRequest().open('GET'), () => new XMLHttpRequest().open('CONNECT', '/')])
          try { work(); } catch (error) { errors.push([error.name, error.message]); }
        return [seen, one.responseText, two.response, three.responseText, again.responseText, bare.status, bare.onloadend, errors, one instanceof XMLHttpRequest];`],
      'the names of what is called': [`
        const { open, send } = XMLHttpRequest.prototype;
        const isNative = (work) => /\\[native code\\]/.test(work.toString()) && /\\[native code\\]/.test(Function.prototype.toString.call(work));
        const attributes = (owner, name) => { const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(owner, name); return [writable, enumerable, configurable]; };
        return [[fetch, open, send].map((work) => [work.name, work.length, isNative(work), typeof work]),
          [attributes(window, 'fetch'), attributes(XMLHttpRequest.prototype, 'open')],
          'prototype' in fetch, Object.keys(window).length > 100];`],
      'a page that wraps fetch before': [`
        const answer = await fetch('/api/a'); return [answer.tagged, window.wrapped, fetch.own];`,
        `const native = window.fetch; window.wrapped = 0; window.fetch = Object.assign(async function (...args) { if (/^.api/.test(args[0])) window.wrapped++; const answer = await native.apply(this, args); answer.tagged = true; return answer; }, { own: 'mine' });`],
      'a page that wraps fetch after': [`
        const native = window.fetch; let calls = 0; window.fetch = function (...args) { calls++; return native.call(window, ...args).then((answer) => Object.assign(answer, { tagged: 1 })); };
        const answer = await fetch('/api/a'); let illegal = null; try { await native.call({}, '/api/b'); } catch (error) { illegal = error.name; } return [answer.tagged, calls, illegal];`],
      'a fetch that answers by more than a promise': [`
        const answer = fetch('/api/a'); const text = await answer.json(); return [answer.constructor.name, text.url, answer.extra];`,
        `const native = window.fetch; class Answer extends Promise { json() { return this.then((answer) => answer.json()); } } window.fetch = (...args) => { const answer = new Answer((done, fail) => native(...args).then(done, fail)); answer.extra = 1; return answer; };`],
      'a fetch that answers by itself': [`return [(await fetch('/api/a')).status, await fetch('/api/b'), fetch('/api/c')?.then === undefined];`,
        `window.fetch = (url) => (url === '/api/a' ? Promise.resolve(new Response('x', { status: 299 })) : url === '/api/b' ? Promise.resolve(null) : 7);`],
      'a fetch that can not be replaced': [`return [(await fetch('/api/a')).status, window.fetch === window.frozen];`,
        `window.frozen = window.fetch; Object.defineProperty(window, 'fetch', { value: window.fetch, writable: false, configurable: false }); Object.freeze(XMLHttpRequest.prototype);`],
    }; // prettier-ignore

    for (const [name, [script, before]] of Object.entries(scenes))
      it(name, async () => {
        const seen = await bothWays(script, before);
        expect(seen.with).to.deep.equal(seen.without);
      });

    it('leaves frames and workers alone', async () => {
      await openToolbarPage(page, host, { body: '<iframe srcdoc="<p>frame"></iframe>' });
      await page.evaluate(`(async () => {
        const frame = document.querySelector('iframe').contentWindow; await frame.fetch('/api/frame');
        const worker = new Worker(URL.createObjectURL(new Blob(["fetch('" + location.origin + "/api/worker').then(() => postMessage(1))"])));
        await new Promise((done) => (worker.onmessage = done));
      })()`);
      expect(host.received.map(({ url }) => url)).to.deep.equal(['/api/frame', '/api/worker']);
      expect(await callsOf(page)).to.deep.equal([]);
    });
  });
});
