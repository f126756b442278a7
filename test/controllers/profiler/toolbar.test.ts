/** What the toolbar asks for: one request, its page's calls, the redirects before it. */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { createError } from '../../../app/errors.ts';
import type { Context } from '../../../app/profiler/record/context.ts';
import type { Panel } from '../../../app/profiler/panel.ts';
import type { Presentation } from '../../../app/profiler/read/rows.ts';
import { createDatabasePanel } from '../../../app/panels/database/index.ts';
import { migrationsPanel } from '../../../app/service/migrations-panel.ts';
import { requestPanel } from '../../../app/panels/request/index.ts';
import { createRoutingPanel } from '../../../app/panels/routing/index.ts';
import { timelinePanel } from '../../../app/panels/timeline/index.ts';
import type { findPageCalls } from '../../../app/controllers/profiler/page-calls.ts';
import type { ToolbarModel } from '../../../app/controllers/profiler/toolbar-model.ts';
import { addBusyPage, lasting, query } from '../../support/observed-samples.ts';
import { servePages, type PageServer } from '../../support/page-client.ts';
import {
  createPageFixture,
  ORIGIN,
  requestFact,
  type PageFixture,
  type Recorded,
} from '../../support/page-fixture.ts';

const panels = [
  requestPanel,
  timelinePanel,
  createRoutingPanel(),
  createDatabasePanel(),
  migrationsPanel,
] as Panel[];

const BAR = { 'x-hindsight-toolbar': '1' };
const SAME = ['Sec-Fetch-Site', 'same-origin'];
const DOCUMENT = [...SAME, 'Sec-Fetch-Dest', 'document', 'Accept', 'text/html'];

/** A request that a script of the page at this path made. */
function asked(url: string, page: string | null, more: readonly string[] = []): Recorded {
  const referer = page === null ? [] : ['Referer', `${ORIGIN}${page}`];
  return { url, headers: [...SAME, 'Sec-Fetch-Dest', 'empty', ...referer, ...more] };
}

type PageCalls = Awaited<ReturnType<typeof findPageCalls>>;

describe('what the toolbar asks for', () => {
  let fixture: PageFixture;
  let server: PageServer;

  async function open(own: readonly Panel[] = panels): Promise<void> {
    fixture = createPageFixture(own);
    server = await servePages(fixture.pages);
  }
  beforeEach(() => open());
  afterEach(() => server.close());

  function get(path: string): Promise<Response> {
    return fetch(`${server.address}/_profiler/${path}`, { headers: BAR });
  }
  async function toolbar(token: string): Promise<ToolbarModel> {
    return (await (await get(`${token}/toolbar.json`)).json()) as ToolbarModel;
  }
  async function calls(path: string): Promise<PageCalls & { now: number }> {
    return (await (await get(path)).json()) as PageCalls & { now: number };
  }
  /** Each in a millisecond of its own: their order is known by no more. */
  async function record(given: Recorded): Promise<Context> {
    await sleep(2);
    return fixture.record(given);
  }
  const page = (url: string): Promise<Context> => record({ url, headers: DOCUMENT });

  it('is the line of the request, where its time went, and an item of each panel that says something', async () => {
    const { token } = await record({
      url: '/orders/7?tab=1',
      headers: DOCUMENT,
      more: (context) => {
        context.add('route', {
          method: 'GET',
          pattern: '/orders/:id',
          handler: 'showOrder',
          source: 'src/orders.ts:14',
          params: { id: '7' },
        });
        lasting(context, 40);
        context.add('query', query({ sql: 'select * from orders where id = $1', startMs: 2, durationMs: 8 }));
      },
    });
    const shown = await toolbar(token);
    expect(shown).to.include({
      token,
      method: 'GET',
      url: '/orders/7?tab=1',
      status: 200,
      statusText: 'OK',
      route: '/orders/:id',
      handler: 'src/orders.ts:14',
      state: 'final',
      href: `/_profiler/${token}?panel=overview`,
    });
    expect(shown.parts.map(({ kind }) => kind)).to.include('db');
    const items = Object.fromEntries(shown.items.map((item) => [item.panel, item]));
    // What the bar says by itself is no item.
    expect(Object.keys(items)).to.deep.equal(['timeline', 'database']);
    expect(items.database).to.include({ rank: 20, label: 'queries', title: 'Database' });
    expect(items.database?.preview.rows[0]).to.include({
      text: 'select … from orders',
      href: `/_profiler/${token}?panel=database&open=q1#q1`,
    });
  });

  it('leaves out what nobody looks for unless it worries', async () => {
    const migrations = (pending: string[]): Recorded => ({
      more: (context) => {
        context.add('migrations', {
          state: pending.length > 0 ? 'behind' : 'ok',
          schema: 'shop',
          table: 'knex_migrations',
          executed: [],
          pending,
          unknown: [],
          durationMs: 1,
          message: null,
        });
      },
    });
    const names = async (given: Recorded): Promise<string[]> =>
      (await toolbar((await record(given)).token)).items.map(({ panel }) => panel);
    expect(await names(migrations([]))).not.to.include('migrations');
    expect(await names(migrations(['20260101_orders']))).to.include('migrations');
  });

  it('shows the summary of a panel that presents no rows, or fails to; long texts are cut', async () => {
    const long = 'x'.repeat(5000);
    const of = (name: string, present?: () => Presentation): Panel => ({
      name,
      title: name,
      collect: () => ({ some: 'data' }),
      menu: { summary: () => ({ text: '12 of 40', tone: 'warn' }) },
      ...(present === undefined ? {} : { rows: present }),
    });
    await server.close();
    await open([
      of('cache'),
      of('broken', () => {
        throw new Error('no');
      }),
      of('long', () => ({
        figures: Array.from({ length: 40 }, () => ({ label: long, value: long })),
        sections: [
          {
            id: 'rows',
            title: 'Rows',
            card: 'in order',
            rows: Array.from({ length: 40 }, () => ({ text: long, note: long, id: 'r1' })),
          },
        ],
      })),
    ]);
    const { items } = await toolbar((await record({})).token);
    const [cache, broken, cut] = items;
    expect(cache).to.include({ panel: 'cache', label: 'cache', text: '12 of 40', tone: 'warn' });
    expect(cache?.preview).to.deep.equal({ facts: [], rows: [], more: 0 });
    expect(broken).to.include({ text: '12 of 40' });
    expect(cut?.preview.facts).to.have.length(8);
    expect(cut?.preview.rows).to.have.length(5);
    expect(cut?.preview.more).to.equal(35);
    expect(JSON.stringify(cut).length).to.be.below(7000);
  });

  it('has the findings, the worst first, with links to what proves them', async () => {
    const { token } = await record({
      headers: DOCUMENT,
      more: (context) => {
        for (let id = 0; id < 20; id++)
          context.add(
            'query',
            query({
              sql: 'select * from lines where order_id = $1',
              bindings: [id],
              startMs: id * 3,
              durationMs: 2,
              caller: 'src/orders.ts:41',
            }),
          );
      },
    });
    const { findings, moreFindings, items } = await toolbar(token);
    expect(findings[0]).to.include({ severity: 'bad', label: 'N+1' });
    expect(findings[0]?.href).to.match(new RegExp(`^/_profiler/${token}\\?panel=database.*#`));
    expect(moreFindings).to.equal(0);
    const database = items.find(({ panel }) => panel === 'database');
    expect(database).to.include({ text: 'N+1 · 20', tone: 'bad' });
    expect(database?.preview.rows[0]).to.include({ tone: 'bad' });
    expect(database?.preview.rows[0]?.note).to.contain('N+1').and.to.contain('src/orders.ts:41');
  });

  it('says which redirects led here, oldest first, over several steps', async () => {
    const first = await record({
      method: 'POST',
      url: '/login',
      status: 303,
      responseHeaders: ['Location', '/account'],
    });
    const second = await record({
      url: '/account',
      status: 302,
      responseHeaders: ['Location', '/account/7'],
    });
    const { token } = await page('/account/7');
    expect(
      (await toolbar(token)).cameFrom.map((step) => [step.token, step.method, step.url, step.status]),
    ).to.deep.equal([
      [first.token, 'POST', '/login', 303],
      [second.token, 'GET', '/account', 302],
    ]);
    expect((await toolbar((await page('/other')).token)).cameFrom).to.deep.equal([]);
  });

  it('says what was wrong with the request that redirected', async () => {
    await record({
      method: 'POST',
      url: '/pay',
      status: 303,
      responseHeaders: ['Location', '/thanks'],
      more: addBusyPage,
    });
    const [step] = (await toolbar((await page('/thanks')).token)).cameFrom;
    expect(step?.findings[0]).to.include({ severity: 'bad', label: 'N+1' });
    expect(step?.findings[0]?.href).to.include(`${step?.token}?panel=`);
  });

  it('does not go round in redirects that lead to each other', async () => {
    for (let i = 0; i < 30; i++)
      await record({
        url: i % 2 === 0 ? '/a' : '/b',
        status: 302,
        responseHeaders: ['Location', i % 2 === 0 ? '/b' : '/a'],
      });
    const { cameFrom } = await toolbar((await page('/a')).token);
    expect(cameFrom).to.have.length(10);
    expect(new Set(cameFrom.map(({ token }) => token)).size).to.equal(10);
  });

  it('lists the calls of the page with their type, not what it embeds nor what others asked', async () => {
    const before = await record(asked('/api/before', '/orders'));
    const { token } = await page('/orders');
    await record(asked('/api/cart', '/orders'));
    await record(asked('/api/old', '/orders', ['X-Requested-With', 'XMLHttpRequest']));
    await record({ ...asked('/api/seen', '/orders', ['Sec-Fetch-Mode', 'no-cors']), method: 'POST' });
    await record({ ...asked('/stock', '/orders', ['Accept', 'text/event-stream']), running: true });
    await record({
      url: '/app.css',
      headers: [...SAME, 'Sec-Fetch-Dest', 'style', 'Referer', `${ORIGIN}/orders`],
    });
    await record({
      url: '/frame',
      headers: [...SAME, 'Sec-Fetch-Dest', 'iframe', 'Referer', `${ORIGIN}/orders`],
    });
    await record(asked('/api/elsewhere', '/other'));
    await record({ url: '/by-hand' });
    const shown = await toolbar(token);
    expect(shown.calls.map(({ url, type, state }) => [url, type, state])).to.deep.equal([
      ['/api/cart', 'fetch', 'final'],
      ['/api/old', 'xhr', 'final'],
      ['/api/seen', 'beacon', 'final'],
      ['/stock', 'eventsource', 'running'],
      ['/frame', 'document', 'final'],
    ]);
    expect(shown.calls.map((call) => call.token)).not.to.include(before.token);
    expect((await calls(`${token}/calls.json`)).calls).to.deep.equal(shown.calls);
  });

  it('says nothing more of a page that was cleared', async () => {
    const { token } = await page('/orders');
    await record(asked('/api/cart', '/orders'));
    expect((await calls(`${token}/calls.json`)).calls).to.have.length(1);
    await toolbar(token);
    await fixture.profiles.clear();
    expect((await get(`${token}/calls.json`)).status).to.equal(404);
    expect((await get(`${token}/toolbar.json`)).status).to.equal(404);
  });

  it('says of a call what is wrong with it, also of an image that is not there', async () => {
    const { token } = await page('/orders');
    const fails = asked('/api/fails', '/orders');
    await record({ ...fails, status: 500 });
    await record({ ...asked('/api/none', '/orders'), status: 404 });
    await record({ ...asked('/api/gone', '/orders'), response: { headersAtMs: null, outcome: 'aborted' } });
    await record({
      url: '/logo.png',
      status: 404,
      headers: [...SAME, 'Sec-Fetch-Dest', 'image', 'Referer', `${ORIGIN}/orders`],
    });
    await record(asked('/api/well', '/orders'));
    const shown = (await toolbar(token)).calls.map(({ url, type, tone, why }) => [url, type, tone, why]);
    expect(shown).to.deep.equal([
      ['/api/fails', 'fetch', 'bad', 'responded 500'],
      ['/api/none', 'fetch', 'warn', 'responded 404'],
      ['/api/gone', 'fetch', 'bad', 'no response was sent'],
      ['/logo.png', 'other', 'warn', 'responded 404'],
      ['/api/well', 'fetch', 'plain', null],
    ]);
  });

  it('takes a page without a referrer for the one that asked, and the last of two of the same address', async () => {
    const first = await page('/orders');
    await record(asked('/api/one', '/orders'));
    const second = await page('/orders');
    await record(asked('/api/two', '/orders'));
    await record(asked('/api/three', null));
    await record(asked('/api/elsewhere', '/other'));
    expect((await toolbar(first.token)).calls.map(({ url }) => url)).to.deep.equal(['/api/one']);
    expect((await toolbar(second.token)).calls.map(({ url }) => url)).to.deep.equal([
      '/api/two',
      '/api/three',
    ]);
    const others = async ({ token }: Context): Promise<string[]> =>
      (await calls(`${token}/calls.json`)).others.map(({ url }) => url);
    expect(await others(first), 'what a tab that is still open may have asked for').to.deep.equal([
      '/api/two',
      '/api/three',
    ]);
    expect(await others(second)).to.deep.equal([]);
  });

  it('lists of very many the newest', async () => {
    const { token } = await page('/orders');
    for (let i = 0; i < 130; i++) await record(asked(`/api/${i}`, '/orders'));
    const all = await calls(`${token}/calls.json`);
    expect([all.calls.length, all.moreCalls, all.calls.at(-1)?.url]).to.deep.equal([100, 30, '/api/129']);
  });

  it('refuses a token that names nothing', async () => {
    expect((await get('abcdef/toolbar.json')).status).to.equal(404);
    expect((await get('abcdef/calls.json')).status).to.equal(404);
    expect((await get('ABCDEF/toolbar.json')).status).to.equal(404);
  });

  describe('of a page that the browser found to be still good', () => {
    const still = (url: string, more: Partial<Recorded> = {}): Promise<Context> =>
      record({ url, headers: DOCUMENT, status: 304, ...more });
    const seek = (token: string, url: string, agoMs: number): Promise<Response> =>
      get(`${token}/toolbar.json?${new URLSearchParams({ revalidated: String(agoMs), url }).toString()}`);
    const meant = async (...asking: Parameters<typeof seek>): Promise<string> =>
      ((await (await seek(...asking)).json()) as ToolbarModel).token;

    it('it is the request that said so, of several the nearest to the moment', async () => {
      const first = await page('/orders');
      const begun = Date.now();
      const second = await still('/orders');
      // Further apart than a busy machine takes to ask.
      await sleep(1000);
      const third = await still('/orders');
      const agoMs = Date.now() - begun;
      expect(await meant(first.token, '/orders', agoMs)).to.equal(second.token);
      expect(await meant(first.token, '/orders', 0)).to.equal(third.token);
      expect(await meant('abcdef', '/orders', 0), 'a page that is known no longer').to.equal(third.token);
    });

    it('it is none of another address, method, answer, kind, client or time', async () => {
      const { token } = await page('/orders');
      await still('/orders/7');
      await still('/api/orders');
      await still('/orders', { method: 'HEAD' });
      await page('/orders');
      await record({ ...asked('/orders', '/orders'), status: 304 });
      const other = { origin: { ...requestFact({}).origin, clientAddress: '203.0.113.99' } };
      await still('/orders', { request: other });
      expect(await meant(token, '/orders', 0)).to.equal(token);
      await still('/orders');
      expect(await meant(token, '/orders', 60_000)).to.equal(token);
      expect((await seek('abcdef', '/orders', 60_000)).status).to.equal(404);
    });

    it('it is found by an address with a secret, and is that of the same query if there is one', async () => {
      const { token } = await page('/orders?password=hunter2hunter2');
      const secret = await still('/orders?password=hunter2hunter2');
      const second = await still('/orders?page=2');
      expect(await meant(token, '/orders?password=hunter2hunter2', 0)).to.equal(secret.token);
      expect(await meant(token, '/orders?page=2', 0)).to.equal(second.token);
    });

    it('refuses what is no number of milliseconds', async () => {
      const { token } = await page('/orders');
      for (const ago of ['x', '-1', '1e9', '1&revalidated=2'])
        expect((await get(`${token}/toolbar.json?url=/orders&revalidated=${ago}`)).status, ago).to.equal(400);
    });
  });

  it('is refused in a few words where a bar asks, by a page where somebody else does', async () => {
    const { token } = await page('/orders');
    const refusals: [path: string, status: number, code: string, init?: RequestInit][] = [
      ['abcdef/toolbar.json', 404, 'UNKNOWN_TOKEN'],
      ['abcdef/calls.json', 404, 'UNKNOWN_TOKEN'],
      [`${token}/toolbar.json?revalidated=x`, 400, 'BAD_FILTER'],
      ['calls.json', 403, 'CROSS_SITE'],
      ['-/report', 403, 'CROSS_SITE', { method: 'POST', body: '{}' }],
      ['-/report', 405, 'METHOD_NOT_ALLOWED'],
    ];
    for (const [path, status, code, init] of refusals) {
      const answer = await fetch(`${server.address}/_profiler/${path}`, { ...init, headers: BAR });
      expect([answer.status, answer.headers.get('content-type')], path).to.deep.equal([
        status,
        'application/json; charset=utf-8',
      ]);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect(error, path).to.include({ code, status }).and.to.have.property('message').that.is.a('string');
      expect(answer.headers.get('cache-control'), path).to.equal('no-cache, private');
    }
    expect(server.errors, 'none went on').to.deep.equal([]);
    await fetch(`${server.address}/_profiler/abcdef/toolbar.json`);
    await fetch(`${server.address}/_profiler/abcdef`, { headers: BAR });
    expect(server.errors).to.have.length(2);
  });

  it('fails as any page does where the profiler itself does', async () => {
    const { token } = await page('/orders');
    fixture.services.profiles.read = () => Promise.reject(createError('STORAGE_UNAVAILABLE', ['gone']));
    expect((await get(`${token}/toolbar.json`)).status).to.equal(503);
    expect(server.errors).to.have.length(1);
  });

  it('answers of a request that still runs', async () => {
    const { token } = await record({
      headers: DOCUMENT,
      url: '/slow',
      running: true,
      response: { headersAtMs: null },
    });
    expect(await toolbar(token)).to.include({ state: 'running', status: null, durationMs: null });
  });

  it('costs two searches and a read, and the calls alone a look for their page and one search', async () => {
    const { token } = await page('/orders');
    const { profiles } = fixture.services;
    const done: string[] = [];
    const { find, read } = profiles;
    profiles.find = (asking) => (
      done.push(`find ${asking.limit}${asking.counted === false ? '' : ' counted'}`),
      find(asking)
    );
    profiles.read = (name) => (done.push('read'), read(name));
    await toolbar(token);
    expect(done.sort()).to.deep.equal(['find 200', 'find 50', 'read']);
    done.length = 0;
    await calls(`${token}/calls.json`);
    expect(done).to.deep.equal(['find 1', 'find 200']);
  });
});
