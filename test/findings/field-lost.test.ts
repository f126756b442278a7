import { expect } from 'chai';
import { lostRules } from '../../app/findings/lost.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

describe('finding field-lost, of a number that the response has changed', () => {
  const of = (body: object, sent: object, beside: object = {}) => {
    const rule = lostRules.find(({ name }) => name === 'field-lost');
    const kept = { request: keptRequest({ body: body as never, sent: sent as never }), ...beside };
    return (rule?.find(kept, { method: 'POST', status: 200 } as never, {} as never) ?? []).length;
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
