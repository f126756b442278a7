import { expect } from 'chai';
import { overviewOf } from '../../app/panels/overview/present.ts';
import { differencesOf as differenceSteps } from '../../app/panels/overview/differences.ts';
import { atOnce } from '../../app/profiler/turns.ts';
import type { EarlierRequest } from '../../app/profiler/read/finding-rule.ts';
import type { Json } from '../../app/profiler/json.ts';
import type { RanLayer } from '../../app/panels/shared/ran-layers.ts';

interface Given {
  route?: string;
  method?: string;
  status?: number;
  sql?: readonly string[];
  middleware?: readonly string[];
  params?: Record<string, Json>;
  body?: Json;
  sent?: Json;
  headers?: readonly string[];
}

function request(given: Given): EarlierRequest {
  const { route = '/cart/:id', method = 'POST', status = 200, sql = [], middleware = [], params = {}, body, sent, headers = [] } = given; // prettier-ignore
  const layers = middleware.map((name): RanLayer => ({ name, kind: 'middleware', pattern: '/', method: null, source: `src/app.ts:${name.length}`, depth: 0, outcome: 'next', startMs: 0, durationMs: 1, settledMs: null, nextMs: 1 })); // prettier-ignore
  return {
    head: { route, method, status, url: route, startedAt: 0 } as EarlierRequest['head'],
    kept: {
      routing: { layers },
      database: {
        statements: sql.map((text) => ({ sql: text })),
        queries: sql.map((_text, at) => ({ statement: at, bindings: [], caller: `src/db.ts:${at + 1}` })),
      },
      request: {
        headers: [],
        routeParams: Object.entries(params).map(([name, value]) => ({ name, value })),
        body: { fields: null, parsed: body },
        response: { headers: headers.map((name) => ({ name, value: 'x' })), contentType: 'application/json', text: sent === undefined ? null : JSON.stringify(sent) }, // prettier-ignore
      },
    },
  };
}

const times = (count: number, of: (at: number) => EarlierRequest): EarlierRequest[] =>
  Array.from({ length: count }, (_, at) => of(at));

const differencesOf = (given: Parameters<typeof differenceSteps>[0]) => atOnce(differenceSteps(given));

describe('how a request differs from others of its route', () => {
  it('names what the others ran, and values that only this one has', () => {
    const own = request({ sql: ['select 1 from products where id = 4'], body: { quantity: '1,200' }, sent: { reserved: null } }); // prettier-ignore
    const earlier = times(6, (at) =>
      request({
        sql: [`select 1 from products where id = ${at}`, 'insert into reservations (id) values (1)'],
        body: { quantity: String(at) },
        sent: { reserved: at },
      }),
    );
    const found = differencesOf({ own, earlier, siblings: [] });
    expect(found?.count).to.equal(6);
    expect(found?.missing).to.deep.equal([
      { kind: 'query', text: 'insert into reservations (id) values (?)', note: '6 of 6 others have it', place: 'src/db.ts:2' }, // prettier-ignore
    ]);
    expect(found?.only.map(({ text, note }) => [text, note])).to.deep.equal([
      ['quantity is text', 'text of digits in 6 of 6 others'],
      ['reserved is null', 'number in 6 of 6 others'],
    ]);
  });

  it('says nothing with fewer than five others, or where they differ among themselves', () => {
    const own = request({ sql: ['select 1 from a'] });
    const other = (): EarlierRequest => request({ sql: ['select 1 from a', 'select 1 from b'] });
    expect(differencesOf({ own, earlier: times(4, other), siblings: [] })).to.equal(null);
    const mixed = times(6, (at) => (at % 2 === 0 ? other() : own));
    expect(differencesOf({ own, earlier: mixed, siblings: [] })?.missing).to.deep.equal([]);
    expect(differencesOf({ own, earlier: times(6, other), siblings: [] })?.missing).to.have.length(1);
  });

  it('misses no question that was asked with another condition', () => {
    const first = 'select id from payments where account = 1 order by at';
    const next = 'select id from payments where account = 1 and at < 5 order by at';
    const earlier = times(8, (at) => request({ sql: [at < 7 ? first : next] }));
    const found = differencesOf({ own: request({ sql: [next] }), earlier, siblings: [] });
    expect(found?.missing).to.deep.equal([]);
  });

  it('says that a success did less only if it changed or sent less', () => {
    const textOf = (own: EarlierRequest, other: EarlierRequest, brokenBefore: unknown[] = []): string => {
      const profile = { kind: 'request', status: own.head.status, summary: null, state: 'final', outcome: 'finished', findings: [], panels: {}, dropped: {} }; // prettier-ignore
      const around = { own, earlier: times(6, () => other), siblings: [] };
      return overviewOf({ findings: 0, worst: 'plain' }, { profile, beside: { around, findings: [], checked: ['a'], started: [], before: [], writers: new Map(), tableWriters: [], brokenBefore, overlapping: [], *codeOf() { yield undefined; return []; } } } as never).verdict.text; // prettier-ignore
    };
    expect(textOf(request({}), request({ sql: ['insert into a values (1)'] }))).to.match(/^It did less/);
    expect(textOf(request({}), request({ sql: ['select 1 from a'] }))).to.equal(
      'No finding. The checks can’t tell whether the values below are right.',
    );
    const finding = { label: 'outside transaction', severity: 'bad', sentence: 'It stays.', path: [] };
    expect(textOf(request({}), request({}), [{ head: request({}).head, finding }])).to.equal(
      'No finding in this request itself.',
    );
  });

  it('compares a success with successes only: what failed ones ran is no work', () => {
    const failed = (): EarlierRequest => request({ status: 500, sql: ['insert into failures values (1)'] });
    const done = (): EarlierRequest => request({});
    const found = differencesOf({ own: done(), earlier: [...times(9, failed), done()], siblings: [] });
    expect(found?.missing).to.deep.equal([]);
  });

  it('compares a refusal with refusals only, and misses no entries of an empty list', () => {
    const sql = ['select 1 from a', 'select 1 from b'];
    const done = (): EarlierRequest => request({ sql, sent: { notes: [{ id: 1 }] } });
    const refused = request({ sql: ['select 1 from a'], status: 404, sent: { error: 'no such post' } });
    expect(differencesOf({ own: refused, earlier: times(6, done), siblings: [] })?.missing).to.deep.equal([]);
    const empty = request({ sql, sent: { notes: [] } });
    const found = differencesOf({ own: empty, earlier: [empty, ...times(9, done)], siblings: [] });
    expect([found?.missing, found?.only]).to.deep.equal([[], []]);
  });

  for (const system of ['redis', 'memory'])
    it(`misses no work that a cache spared, in ${system}`, () => {
      const read = (hits: number): EarlierRequest => {
        const one = request({ sql: hits === 0 ? ['select 1 from products where id = 4'] : [] });
        const items = [
          { system, command: 'GET', key: 'product:4', asked: 1, hits, caller: 'src/cache.ts:3' },
        ];
        return { ...one, kept: { ...one.kept, cache: { items } } };
      };
      const missed = times(6, () => read(0));
      expect(differencesOf({ own: read(1), earlier: missed, siblings: [] })?.missing).to.deep.equal([]);
      const found = differencesOf({ own: read(0), earlier: times(6, () => read(1)), siblings: [] });
      expect(found?.only.map(({ text }) => text)).to.include('GET product:…: miss');
    });

  it('names what earlier ones asked for if this one asked for nothing', () => {
    const rates = request({ sql: ['select rate from rates'] });
    const found = differencesOf({ own: request({}), earlier: [rates, request({})], siblings: [] });
    expect(found?.spared).to.deep.equal([
      { kind: 'query', text: 'select rate from rates', note: 'no query, call or Redis command ran here; 1 of 2 others had this', place: 'src/db.ts:1' }, // prettier-ignore
    ]);
    expect(differencesOf({ own: rates, earlier: [rates, request({ sql: ['select 2'] })], siblings: [] })).to.equal(null); // prettier-ignore
    const called: EarlierRequest = { ...rates, kept: { http_client: { calls: [{ method: 'GET', url: 'http://bank.test:4914/rates/12?day=1', status: 503, caller: 'src/bank.ts:6' }] } } }; // prettier-ignore
    const call = differencesOf({ own: request({}), earlier: [called], siblings: [] });
    expect(call?.spared.map(({ text }) => text)).to.deep.equal(['GET bank.test:4914/rates/…']);
    const refused = request({ status: 404 });
    expect(differencesOf({ own: refused, earlier: [rates], siblings: [] })).to.equal(null);
  });

  it('compares no fields of a response whose request named them', () => {
    const asked = (sent: Json): EarlierRequest => {
      const one = request({ sent });
      return { ...one, kept: { ...one.kept, graphql: { items: [{}] } } };
    };
    const earlier = times(6, () => asked({ data: { name: 'Lamp' } }));
    const found = differencesOf({ own: asked({ data: { euro: 49 } }), earlier, siblings: [] });
    expect([found?.missing, found?.only]).to.deep.equal([[], []]);
  });

  it('finds middleware that protects the same path for another method', () => {
    const changing = request({ method: 'PUT', middleware: ['json', 'requireAdmin'] });
    const own = request({ method: 'DELETE', middleware: [] });
    expect(differencesOf({ own, earlier: [], siblings: [changing] })?.missing).to.deep.equal([
      { kind: 'middleware', text: 'requireAdmin', note: 'PUT /cart/:id runs it', place: 'src/app.ts:12' },
    ]);
    for (const method of ['GET', 'PUT'])
      expect(differencesOf({ own: request({ method }), earlier: [], siblings: [changing] })).to.equal(null);
  });

  it('does not compare the body of a refusal with those of successes', () => {
    const own = request({ status: 403, sent: { error: 'no' } });
    const found = differencesOf({
      own,
      earlier: times(6, () => request({ sent: { total: 1 } })),
      siblings: [],
    });
    expect([...(found?.missing ?? []), ...(found?.only ?? [])]).to.deep.equal([]);
  });

  it('compares headers only with those of the same status: a 304 has no content type', () => {
    const headers = ['ETag', 'Content-Type'];
    const earlier = times(6, () => request({ headers }));
    const texts = (own: EarlierRequest) =>
      differencesOf({ own, earlier, siblings: [] })?.missing.map(({ text }) => text);
    expect(texts(request({ status: 304, headers: ['ETag'] }))).to.deep.equal([]);
    expect(texts(request({ headers: ['ETag'] }))).to.deep.equal(['content-type']);
  });

  it('finds a response that is the same for each parameter', () => {
    const answer = (id: number): EarlierRequest =>
      request({ method: 'GET', params: { id: String(id) }, sent: { id: 1, name: 'p1' } });
    expect(differencesOf({ own: answer(9), earlier: times(6, answer), siblings: [] })?.stays).to.have.length(
      1,
    );
    const once = differencesOf({ own: answer(9), earlier: times(6, () => answer(9)), siblings: [] });
    expect(once?.stays).to.deep.equal([]);
  });

  it('finds middleware that the other routes of its area run', () => {
    const guarded = ['users', 'orders', 'mails'].map((name) => request({ route: `/admin/${name}`, middleware: ['json', 'requireAdmin'] })); // prettier-ignore
    const own = request({ route: '/admin/export', middleware: ['json'] });
    const found = differencesOf({ own, earlier: [], siblings: guarded });
    expect(found?.missing).to.deep.equal([
      { kind: 'middleware', text: 'requireAdmin', note: 'all 3 other routes below /admin that ran lately', place: 'src/app.ts:12' }, // prettier-ignore
    ]);
    expect(differencesOf({ own, earlier: [], siblings: guarded.slice(1) })).to.equal(null);
    const refused = { ...own, head: { ...own.head, status: 401 } };
    expect(differencesOf({ own: refused, earlier: [], siblings: guarded })).to.equal(null);
  });
});
