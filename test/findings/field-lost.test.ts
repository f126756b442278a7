import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding field-lost, of a number that the response has changed', () => {
  const of = (body: object, sent: object, beside: object = {}) => {
    const kept = { request: keptRequest({ body: body as never, sent: sent as never }), ...beside };
    return draftsOf('field-lost', kept, { method: 'POST', status: 200 }).length;
  };
  const cache = (args: readonly string[], points = '2410') => ({
    cache: {
      items: [
        { args: [], found: { name: 'member:1', value: { name: 'Ana', points } } },
        { args: args.map((value) => ({ name: 'member:1', value })) },
      ],
    },
  });
  const body = { points: 50 };
  const left = { id: 3, points: 2360 };

  it('is silent if a command got it, or the response has the rest', () => {
    expect(of(body, left, cache(['points', '-50'], '9'))).to.equal(0);
    expect(of(body, left, cache([]))).to.equal(0);
    const database = keptQueries(
      { sql: 'select points from members where id = $1', found: [{ points: 2410 }], bindings: { id: 3 } },
      { sql: 'update members set rest = $1 where id = $2', bindings: { rest: 2360, id: 3 } },
    );
    expect(of(body, left, { database })).to.equal(0);
  });

  it('is there if nothing had it', () => {
    expect(of(body, left)).to.equal(1);
    expect(of(body, left, cache(['points', '-5'], '2400'))).to.equal(1);
    expect(of({ status: 'done' }, { id: 3, status: 'open' }, cache(['status', 'open']))).to.equal(1);
  });
});

describe('finding field-lost, without a write', () => {
  const of = (value: Json, after: Json, beside: object = {}) => {
    const request = keptRequest({ body: { lens: value }, sent: { id: 'fc6a', lens: after } });
    return draftsOf('field-lost', { request, ...beside }, { method: 'POST', status: 201 }).length;
  };

  it('is silent if the response has a value of another kind, such as a name for a key', () => {
    expect(of('F-600', 'Tele 600 mm')).to.equal(0);
    expect(of('basic', 'Basic plan')).to.equal(0);
    expect(of('DE', 'Germany')).to.equal(0);
    expect(of(3, 'three')).to.equal(0);
    const read = { database: keptQueries({ sql: 'select name from lenses where sku = $1' }) };
    expect(of('F-600', 'Tele 600 mm', read)).to.equal(0);
  });

  it('is there for a value of the same kind, and if a statement wrote', () => {
    expect(of('F-600', 'T-85')).to.equal(1);
    expect(of('Tele 600 mm', 'Tele 85 mm')).to.equal(1);
    expect(of(3, 4)).to.equal(1);
    const wrote = {
      database: keptQueries({ sql: 'insert into holds (note) values ($1)', bindings: { note: 1 } }),
    };
    expect(of('F-600', 'Tele 600 mm', wrote)).to.equal(1);
  });
});

describe('finding field-lost, of a field that a validator took out', () => {
  const raw = { kind: 'partner', company: 'Nord' };
  const of = ({
    sent = raw,
    parsed = { kind: 'partner' },
    got = { id: 2, kind: 'partner', company: 'Sud' },
    removed = ['company'],
    beside = {},
  }: { sent?: Json; parsed?: Json; got?: Json; removed?: string[]; beside?: object } = {}) => {
    const request = keptRequest({ body: parsed, sent: got });
    const body = { ...request.body, text: JSON.stringify(sent), truncated: false };
    const routing = {
      layers: [{ name: 'celebrate', source: 'src/routes.js:9', kind: 'middleware', pattern: '/', removed }],
      route: { source: 'src/routes.js:12' },
    };
    const kept = { request: { ...request, body }, routing, ...beside };
    return draftsOf('field-lost', kept, { method: 'PATCH', status: 200 });
  };

  it('names the middleware and its line', () => {
    expect(of()[0]).to.include({
      sentence:
        'The body has company: celebrate removed it from the body, and the response has another value',
      place: 'src/routes.js:9',
    });
    expect(of()[0]?.fix).to.match(/schema/);
  });

  it('names the pipe and the class', () => {
    const spans = {
      items: [{ name: 'Pipe ValidationPipe', removed: { names: ['company'], as: 'UpdateContactDto' } }],
    };
    expect(of({ parsed: raw, removed: [], beside: { spans } })[0]).to.include({
      sentence:
        'The body has company: Pipe ValidationPipe removed it, as UpdateContactDto has no decorator for it, and the response has another value',
      place: 'src/routes.js:12',
    });
  });

  it('is silent if it was meant to be taken out, or nothing was lost', () => {
    expect(of({ got: { id: 2, company: 'Nord' } }), 'sent as it came').to.deep.equal([]);
    expect(of({ got: { id: 2, kind: 'partner' } }), 'not in the response').to.deep.equal([]);
    const role = {
      sent: { kind: 'partner', role: 'admin' },
      removed: ['role'],
      got: { id: 2, role: 'user' },
    };
    expect(of(role), 'not for clients to set').to.deep.equal([]);
    const sentBack = {
      sent: { kind: 'x', updatedAt: '1' },
      removed: ['updatedAt'],
      got: { id: 2, updatedAt: '2' },
    };
    expect(of(sentBack), 'sent back').to.deep.equal([]);
  });
});
