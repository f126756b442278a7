/** The service whole: what every answer carries, and what a token opens. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { setTimeout as sleep } from 'node:timers/promises';
import { exchange } from '../support/raw-http.ts';
import { clusterVarDir } from '../support/postgres.ts';
import { type RunningShop, startShop } from '../support/shop.ts';
import type { Profile } from '../../app/index.ts';
import { until } from '../support/waiting.ts';

const PANELS = ['request', 'timeline', 'exception', 'logs', 'routing', 'database', 'migrations', 'views', 'http_client', 'runtime', 'security', 'configuration', 'dump']; // prettier-ignore

interface Answer {
  status: number;
  headers: Headers;
  body: string;
  token: string;
}

describe('the service', () => {
  let shop: RunningShop;

  before(async () => {
    shop = await startShop({ VAR_DIR: await clusterVarDir() });
  });
  after(() => shop?.close());

  async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(`${shop.origin}${path}`, { redirect: 'manual', ...init });
    const body = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body,
      token: response.headers.get('x-debug-token') ?? '',
    };
  }

  async function profileOf(token: string): Promise<Profile> {
    const { status, body } = await ask(`/_profiler/${token}.json`);
    expect(status, `profile ${token}`).to.equal(200);
    return (JSON.parse(body) as { profile: Profile }).profile;
  }

  const kinds: [string, string, RequestInit, number][] = [
    ['a page', '/', {}, 200],
    ['JSON', '/api/products', {}, 200],
    ['a static file', '/shop/shop.css', {}, 200],
    ['HEAD', '/', { method: 'HEAD' }, 200],
    ['a redirect', '/orders/', {}, 200],
    ['a path without route', '/robots.txt', {}, 404],
    ['another method', '/products/1', { method: 'DELETE' }, 405],
    ['OPTIONS', '/products/1', { method: 'OPTIONS' }, 405],
    ['PROPFIND', '/nothing', { method: 'PROPFIND' }, 404],
    [
      'unreadable JSON',
      '/api/payments',
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' },
      400,
    ],
    ['an undecodable path', '/products/%zz', {}, 400],
    ['a thrown error', '/api/quote?amount=0', {}, 0],
    ['the list', '/_profiler/', {}, 200],
    ['an unknown token', '/_profiler/abcdef', {}, 404],
    ['the redirect of the profiler', '/_profiler?x=%20a', {}, 301],
  ];
  for (const [what, path, init, status] of kinds) {
    it(`gives ${what} a token that opens, its link and noindex`, async () => {
      const { headers, token, ...answer } = await ask(path, init);
      if (status !== 0) expect(answer.status).to.equal(status);
      expect(token).to.match(/^[0-9a-f]{6}$/);
      expect(headers.get('x-debug-token-link')).to.equal(`${shop.origin}/_profiler/${token}`);
      expect(headers.get('x-robots-tag')).to.equal('noindex');
      expect(headers.get('x-powered-by')).to.equal(null);
      expect(headers.get('set-cookie')).to.equal(null);
      expect((await profileOf(token)).method).to.equal(init.method ?? 'GET');
    });
  }

  it('opens 100 concurrent requests, each by a token of its own, at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => ask(`/api/products/${(i % 5) + 1}?n=${i}`)),
    );
    const tokens = answers.map(({ token }) => token);
    expect(new Set(tokens).size).to.equal(100);
    // One of ten: to read them costs more than to make them.
    const some = tokens.filter((_, i) => i % 10 === 0);
    for (const [i, profile] of (await Promise.all(some.map(profileOf))).entries()) {
      expect(profile.token).to.equal(some[i]);
      expect((profile.panels.database?.data as { queries: unknown[] }).queries).to.have.length(1);
    }
  });

  it('opens a request from the moment its headers are out, while it runs', async () => {
    const aborter = new AbortController();
    const response = await fetch(`${shop.origin}/events`, { signal: aborter.signal });
    const token = response.headers.get('x-debug-token') ?? '';
    expect((await profileOf(token)).state).to.equal('running');
    aborter.abort();
    await until(async () => (await profileOf(token)).outcome === 'aborted', 'it is told as aborted');
  });

  it('records what the HTTP parser refuses, and its token opens', async () => {
    const { responses } = await exchange(shop.port, ['GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n']);
    const [answer] = responses;
    expect(answer?.status).to.equal(400);
    expect(answer?.headers).to.include({
      'content-type': 'text/html; charset=UTF-8',
      'x-robots-tag': 'noindex',
      'cache-control': 'no-cache, private',
    });
    const profile = await profileOf(answer?.headers['x-debug-token'] ?? '');
    expect(profile).to.include({ status: 400, child: answer?.headers['x-previous-debug-token'] });
  });

  it('reads the migration table for every request and shows it', async () => {
    const migrations = async () => {
      const { token } = await ask('/');
      await sleep(400);
      const { data } = (await profileOf(token)).panels.migrations ?? {};
      return data as { state: string; message: string | null; executed: unknown[] };
    };
    let data = await migrations();
    // A machine with other work to do may not answer within the reader's half second, and is let alone for one then.
    for (let tries = 0; tries < 5 && data.message?.includes('no response within'); tries++) {
      await sleep(1100);
      data = await migrations();
    }
    expect(data).to.include({ state: 'ok', message: null });
    expect(data.executed).to.have.length(2);
  });

  it('finds in the list what was asked, folded, without its own pages', async () => {
    const { token } = await ask('/needle?in=haystack', { headers: { 'user-agent': 'x' } });
    const { body } = await ask('/_profiler/search.json?url=needle');
    const { profiles, total } = JSON.parse(body) as { profiles: { token: string }[]; total: number };
    expect(total).to.equal(1);
    expect(profiles[0]?.token).to.equal(token);
    const all = JSON.parse((await ask('/_profiler/search.json?limit=1000')).body) as {
      profiles: { kind: string }[];
    };
    expect(new Set(all.profiles.map(({ kind }) => kind))).to.deep.equal(new Set(['request']));
    expect((await ask(`/_profiler/search?token=${token}`)).headers.get('location')).to.match(
      new RegExp(`/_profiler/${token}$`),
    );
    expect((await ask('/_profiler/latest?url=needle')).headers.get('location')).to.match(
      new RegExp(`/_profiler/${token}$`),
    );
  });

  it('answers every error with the headers of the contract and a child that opens', async () => {
    for (const [path, init, status] of [
      ['/robots.txt', {}, 404],
      ['/products/1', { method: 'DELETE' }, 405],
      ['/products/%zz', {}, 400],
    ] as const) {
      const { headers, token, body, ...answer } = await ask(path, init);
      expect(answer.status).to.equal(status);
      expect(headers.get('cache-control')).to.equal('no-cache, private');
      expect(headers.get('content-type')).to.equal('text/html; charset=UTF-8');
      expect(headers.get('etag')).to.equal(null);
      expect(headers.get('vary')).to.equal(null);
      const child = headers.get('x-previous-debug-token') ?? '';
      expect(await profileOf(child)).to.include({ kind: 'error_page', parent: token });
      expect(await profileOf(token)).to.include({ child, status });
      expect(load(body)('h1').text()).to.contain(status === 400 ? 'Failed to decode' : 'No route found for');
    }
  });

  it('redirects the profiler to its slash, query kept byte for byte', async () => {
    const { headers } = await ask('/_profiler?a=%20b&c=d+e');
    expect(headers.get('location')).to.equal(`${shop.origin}/_profiler/?a=%20b&c=d+e`);
  });

  it('shows each panel of each kind of profile, and every page holds', async () => {
    const tokens = [(await ask('/orders')).token, (await ask('/nope')).token];
    for (const token of tokens) {
      for (const panel of PANELS) {
        const { status, body } = await ask(`/_profiler/${token}?panel=${panel}`);
        expect(status, panel).to.equal(200);
        const page = load(body);
        expect(page('main').length, panel).to.equal(1);
        expect(page('.panel-error').length, panel).to.equal(0);
        expect(page('title').text()).to.match(/Hindsight$/);
      }
    }
  });

  it('takes 16 MiB and refuses one byte more, of known length and chunked, and stays usable', async () => {
    const limit = 16 * 1024 * 1024;
    const post = (bytes: number, chunked: boolean): Promise<Answer> => {
      const headers = { 'content-type': 'application/octet-stream' };
      const whole = Buffer.alloc(bytes);
      const pieces = (): ReadableStream<Uint8Array> =>
        new ReadableStream({
          start(controller) {
            for (let at = 0; at < bytes; at += 65_536) controller.enqueue(whole.subarray(at, at + 65_536));
            controller.close();
          },
        });
      return ask('/nowhere', {
        method: 'POST',
        headers,
        ...(chunked ? { body: pieces(), duplex: 'half' } : { body: whole }),
      });
    };
    for (const chunked of [false, true]) {
      expect((await post(limit, chunked)).status, `whole, chunked ${chunked}`).to.equal(404);
      const over = await post(limit + 1, chunked);
      expect(over.status, `over, chunked ${chunked}`).to.equal(413);
      expect(over.body).to.contain('16 MiB');
      expect((await profileOf(over.token)).status).to.equal(413);
    }
    expect((await ask('/')).status).to.equal(200);
  });
});
