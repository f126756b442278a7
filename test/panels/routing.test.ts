import { load } from 'cheerio';
import { expect } from 'chai';
import type { LayerFact } from '../../app/observe/layers/layer-fact.ts';
import type { RouteRow, RoutingFact } from '../../app/observe/layers/routing.ts';
import type { RoutingData } from '../../app/panels/routing/data.ts';
import { createRoutingPanel } from '../../app/panels/routing/index.ts';
import { whyNear, whyPathDiffers, whyRouteDiffers } from '../../app/panels/routing/reasons.ts';
import { Context } from '../../app/profiler/record/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { dataOf, panelHtml, recordedBy } from '../support/panel-data.ts';
import { rendererOf } from '../support/error-page.ts';
import { requestFact, responseFact } from '../support/page-fixture.ts';
import { cpuMsOf } from '../support/waiting.ts';

interface Given {
  method?: string;
  url?: string;
  status?: number;
  layers?: Partial<LayerFact>[];
  routing?: Partial<RoutingFact>;
  route?: string;
}

function contextOf({
  method = 'GET',
  url = '/orders/4?tab=items',
  status = 200,
  layers = [],
  routing,
  route,
}: Given) {
  const context = new Context({ token: 'abc123', kind: 'request' });
  context.add('request', requestFact({ method, url }));
  context.add('response', responseFact({ status }));
  const layer: LayerFact = {
    name: 'first',
    kind: 'middleware',
    pattern: '/',
    method: null,
    source: null,
    startMs: 1,
    durationMs: 0.2,
    settledMs: null,
    nextMs: 0.1,
    outcome: 'next',
    error: false,
    depth: 0,
  };
  for (const one of layers) context.add('layer', { ...layer, ...one });
  if (route !== undefined)
    context.add('route', {
      pattern: route,
      method,
      params: { id: '4' },
      handler: 'show',
      source: 'src/a.ts:3',
    });
  if (routing !== undefined)
    context.add('routing', {
      table: null,
      nearest: null,
      considered: null,
      secondTry: null,
      redirect: null,
      allow: [],
      ...routing,
    });
  return context;
}

const collect = (given: Given): RoutingData => recordedBy(routingPanel, contextOf(given));

function row(method: string, pattern: string, source: string | null = null): RouteRow {
  return { method, pattern, handler: 'handler', source };
}

const answer = { kind: 'handler', method: 'GET', nextMs: null, outcome: 'running' } as const;

const routingPanel = createRoutingPanel();

describe('the routing panel', () => {
  it('does not say that an equal path differs where the handler of a parameter threw', () => {
    const asked = { method: 'GET', url: '/orders/4' };
    const context = contextOf({
      ...asked,
      layers: [{ name: 'id', kind: 'param', pattern: '/orders/:id', outcome: 'threw', error: true }],
      routing: { table: [row('GET', '/orders/:id'), row('GET', '/items/:id')] },
    });
    expect(dataOf(routingPanel, context)?.routes?.map(({ why }) => why)).to.deep.equal([
      'path and method match, but the handler of a parameter threw',
      'path differs at “orders”',
    ]);
  });

  it('tells what ran, numbered by depth, and what became of it', () => {
    const data = collect({
      route: '/shop/orders/:id',
      layers: [
        { name: 'session', nextMs: 9.5 },
        { name: 'router', kind: 'router', pattern: '/shop', nextMs: null, outcome: 'running' },
        { name: 'check', pattern: '/shop', depth: 1 },
        { ...answer, name: 'load', pattern: '/shop/orders/:id', depth: 1, nextMs: 2, outcome: 'next' },
        { ...answer, name: 'show', pattern: '/shop/orders/:id', depth: 1, startMs: 20, settledMs: 5 },
      ],
    });
    expect(
      data.trace.map(({ number, label, happened, tone, ms }) => [number, label, happened, tone, ms]),
    ).to.deep.equal([
      ['1', 'session', 'called next()', 'plain', 9.5],
      ['2', 'router /shop', 'entered', 'plain', null],
      ['2.1', 'check /shop', 'called next()', 'plain', 0.1],
      ['2.2', 'GET /shop/orders/:id', 'matched, called next()', 'plain', 2],
      ['2.3', 'GET /shop/orders/:id', 'matched, responded', 'on', 5],
    ]);
    expect(data.route).to.deep.include({ pattern: '/shop/orders/:id', params: [{ name: 'id', value: '4' }] });
    expect(data.ran).to.equal(5);
  });

  it('tells what threw, and which handler took the error', () => {
    const { trace } = collect({
      status: 500,
      layers: [
        { ...answer, name: 'show', pattern: '/x', outcome: 'threw', error: true, nextMs: 1 },
        { name: 'errors', kind: 'error', nextMs: null, outcome: 'running' },
      ],
    });
    expect(trace.map(({ happened, tone }) => `${tone}: ${happened}`)).to.deep.equal([
      'bad: matched, threw',
      'on: received the error, responded',
    ]);
  });

  it('tells a router that had no answer from one left with an error', () => {
    const router = { name: 'router', kind: 'router', pattern: '/a' } as const;
    const { trace } = collect({
      status: 500,
      layers: [
        router,
        { name: 'x', depth: 1 },
        router,
        { name: 'y', depth: 1, outcome: 'threw', error: true },
      ],
    });
    expect(trace.map(({ happened }) => happened)).to.deep.equal([
      'entered, no match',
      'called next()',
      'entered, passed the error on',
      'threw',
    ]);
  });

  it('says of no middleware that it answered a 404 that fell through', () => {
    const { trace } = collect({ status: 404, layers: [{ name: 'last', nextMs: null, outcome: 'running' }] });
    expect(trace[0]?.happened).to.equal('ran last');
  });

  it('puts what was asked in vain between what ran', () => {
    const asked = { name: '<anonymous>', methods: [], depth: 0, source: null } as const;
    const { trace } = collect({
      url: '/orders/4',
      route: '/orders/:id',
      layers: [{ name: 'first' }, { ...answer, name: 'show', pattern: '/orders/:id' }],
      routing: {
        considered: [
          { ...asked, kind: 'middleware', pattern: '/', name: 'first', verdict: 'passed' },
          { ...asked, kind: 'router', pattern: '/api', verdict: 'path' },
          { ...asked, kind: 'route', pattern: '/products/:slug', methods: ['GET'], verdict: 'path' },
          { ...asked, kind: 'route', pattern: '/orders/:id', methods: ['POST'], verdict: 'method' },
          { ...asked, kind: 'route', pattern: '/orders/:id', methods: ['GET'], verdict: 'matched' },
        ],
      },
    });
    expect(trace.map(({ number, label, happened, tone }) => [number, label, happened, tone])).to.deep.equal([
      ['1', 'first', 'called next()', 'plain'],
      ['2', 'router /api', 'path does not begin with /api', 'off'],
      ['4', 'POST /orders/:id', 'path matches, the method is GET', 'near'],
      ['5', 'GET /orders/:id', 'matched, responded', 'on'],
    ]);
  });

  it('knows what ran before the request was watched, and says what still runs', () => {
    const asked = {
      kind: 'middleware',
      pattern: '/',
      methods: [],
      depth: 0,
      source: null,
      verdict: 'passed',
    } as const;
    const context = contextOf({
      layers: [{ name: 'second' }, { name: 'third', nextMs: null, outcome: 'running' }],
      routing: {
        considered: [
          { ...asked, name: 'watch' },
          { ...asked, name: 'second' },
          { ...asked, kind: 'router', pattern: '/api', name: 'router', verdict: 'path' },
          { ...asked, name: 'third' },
        ],
      },
    });
    const response = context.first('response');
    if (response !== undefined) response.headersAtMs = null;
    expect(
      dataOf(routingPanel, context)?.trace.map(({ label, happened }) => `${label}: ${happened}`),
    ).to.deep.equal([
      'second: called next()',
      'router /api: path does not begin with /api',
      'third: is running',
    ]);
  });

  it('lists the routes, methods of one pattern together, with the reason each did not match', () => {
    const table = [row('GET', '/orders'), row('POST', '/orders'), row('GET', '/orders/:id'), row('GET', '/')];
    const { routes } = collect({ url: '/order', status: 404, routing: { table } });
    expect(routes?.map(({ methods, pattern, why }) => [methods.join(), pattern, why])).to.deep.equal([
      ['GET,POST', '/orders', 'path differs at “order”'],
      ['GET', '/orders/:id', 'path differs at “order”'],
      ['GET', '/', 'path has one segment, the route has none'],
    ]);
  });

  it('gives no such reason where a route answered', () => {
    const { routes } = collect({ route: '/orders/:id', routing: { table: [row('GET', '/orders/:id')] } });
    expect(routes?.[0]?.why).to.equal(null);
  });

  it('marks the nearest routes in the trace, with the reason', () => {
    const near = { ...row('GET', '/orders'), reason: 'spelling', distance: 1 } as const;
    const { nearest, trace } = collect({
      url: '/ordrs',
      status: 404,
      routing: {
        nearest: [near],
        considered: [
          {
            kind: 'route',
            name: 'x',
            pattern: '/orders',
            methods: ['GET'],
            verdict: 'path',
            depth: 0,
            source: null,
          },
          {
            kind: 'route',
            name: 'x',
            pattern: '/other',
            methods: ['GET'],
            verdict: 'path',
            depth: 0,
            source: null,
          },
        ],
      },
    });
    expect(nearest[0]).to.include({ reason: 'spelling', why: 'one letter differs: “ordrs” is not “orders”' });
    expect(trace.map(({ happened, tone }) => `${tone}: ${happened}`)).to.deep.equal([
      'near: one letter differs: “ordrs” is not “orders”',
      'off: path differs at “ordrs”',
    ]);
  });

  it('bounds what it keeps', () => {
    const table = Array.from({ length: 2000 }, (_value, index) => row('GET', `/${index}`));
    const data = collect({ url: `/${'a'.repeat(100_000)}`, status: 404, routing: { table } });
    expect((data.routes?.length ?? 0) + data.routesDropped).to.equal(2000);
    expect(JSON.stringify(data).length).to.be.lessThan(120_000);
  });
});

describe('why a route did not match', () => {
  for (const [pattern, path, why] of [
    ['/orders/:id', '/orders', 'path has one segment, the route has 2 segments'],
    ['/orders', '/orders/', 'differs by the slash at the end'],
    ['/Orders', '/orders', 'differs in upper and lower case: “Orders”'],
    ['/files/*path', '/file/a', 'path differs at “file”'],
    ['/files/*path', '/files', 'path differs'],
    ['/^\\/a(b)?$/i', '/x', 'the regular expression does not match'],
    ['/orders/:id', '/orders/4', null],
  ] as const) {
    it(`says of ${pattern} and ${path}: ${why ?? 'nothing'}`, () => {
      expect(whyPathDiffers(pattern, path)).to.equal(why);
    });
  }

  it('names the words in which a near route differs', () => {
    const near = { method: 'GET', distance: 1 } as const;
    const asked = { method: 'GET', path: '/api/orders/4' };
    expect(whyNear({ ...near, reason: 'mount', pattern: '/v2/api/orders/:id' }, asked)).to.equal(
      'same end, but mounted deeper: the path lacks “/v2”',
    );
    expect(whyNear({ ...near, reason: 'mount', pattern: '/orders/:id' }, asked)).to.equal(
      'same end, but the path has “/api” before it',
    );
    expect(whyNear({ ...near, reason: 'case', pattern: '/API/orders/:id' }, asked)).to.equal(
      'differs in upper and lower case: “api” is not “API”',
    );
    expect(whyNear({ ...near, method: 'POST', reason: 'slash', pattern: '/x' }, asked)).to.equal(
      'differs by the slash at the end; it is for POST, not GET',
    );
  });

  it('names the method where the path is right; HEAD counts as GET', () => {
    expect(whyRouteDiffers(['GET'], '/a', { method: 'PUT', path: '/a' })).to.equal(
      'path matches, the method is PUT',
    );
    expect(whyRouteDiffers(['GET'], '/a', { method: 'HEAD', path: '/a' })).to.equal(
      'path and method match, but it was not reached',
    );
  });

  it('takes no time over a hostile path', () => {
    const long = `/${'a/'.repeat(50_000)}`;
    expect(cpuMsOf(() => whyPathDiffers(long, `${long}b`))).to.be.lessThan(100);
  });
});

describe('the view of the routing panel', () => {
  const renderPage = rendererOf();

  function view(data: RoutingData | null, query: Record<string, string> = {}) {
    const panels = { routing: { data, summary: null, error: null } };
    const profile = { token: '000001', dropped: {}, summary: null, panels } as unknown as Profile;
    return load(panelHtml(renderPage, routingPanel, { profile, query }));
  }

  it('marks what answered, in the trace and among the routes', () => {
    const $ = view(
      collect({
        route: '/orders/:id',
        layers: [{ name: 'first' }, { ...answer, name: 'show', pattern: '/orders/:id' }],
        routing: { table: [row('GET', '/'), row('GET', '/orders/:id')] },
      }),
    );
    expect($('#match tr.on').text()).to.include('GET /orders/:id');
    expect($('#routes tr.on').text()).to.include('/orders/:id');
    expect($('table.kv th').text()).to.equal('id');
  });

  it('lists many routes and finds among all of them', () => {
    const table = Array.from({ length: 450 }, (_value, index) =>
      row('GET', `/resource-${index}/:id`, 'src/a.ts:1'),
    );
    const data = collect({ url: '/x', status: 404, routing: { table } });
    expect(view(data)('#routes tbody tr')).to.have.length(450);
    const found = view(data, { find: 'RESOURCE-449' });
    expect(found('#routes tbody tr').attr('id')).to.equal('route-450');
    expect(view(data, { find: 'nowhere' })('#routes .empty').text()).to.contain('nowhere');
  });

  it('lists each route once where none responded: nearest first, and not in the trace', () => {
    const considered = ['/a', '/b'].map((pattern) => ({
      kind: 'route' as const,
      name: 'x',
      pattern,
      methods: ['GET'],
      verdict: 'path' as const,
      depth: 0,
      source: null,
    }));
    const near = { ...row('GET', '/b'), reason: 'spelling', distance: 1 } as const;
    const table = [row('GET', '/a'), row('GET', '/b'), row('POST', '/b')];
    const routing = { table, considered, nearest: [near] };
    const $ = view(collect({ url: '/bb', status: 404, layers: [{ name: 'first' }], routing }));
    const rows = $('#nearest tbody tr, #routes tbody tr').toArray();
    expect(rows.map((one) => [$(one).attr('id'), $(one).attr('class')])).to.deep.equal([
      ['near-1', 'near'],
      ['route-1', undefined],
    ]);
    expect($('#near-1').text()).to.include('GET, POST');
    expect($('#match').text()).to.include('first').and.not.include('/b');
    const matched = view(collect({ route: '/b', layers: [{ ...answer, pattern: '/b' }], routing }));
    expect(matched('#match').text(), 'routes of other paths').not.to.include('GET /a');
  });
});
