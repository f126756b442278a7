import { expect } from 'chai';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { sentencesOf } from '../support/find-by-rule.ts';

describe('finding unlocked-update, of one request', () => {
  const read = (points: number) => ({
    sql: 'SELECT points FROM customers WHERE id = ?',
    system: 'mysql',
    bindings: { id: 1 },
    found: [{ points }],
  });
  const update = (points: number) => ({
    sql: 'UPDATE customers SET points = ? WHERE id = ?',
    system: 'mysql',
    bindings: { points, id: 1 },
  });
  const of = (...asked: readonly AskedQuery[]) => {
    const kept = { database: keptQueries(...asked), request: keptRequest() };
    return sentencesOf('unlocked-update', kept);
  };

  it('names the numbers of updates that rest on the same one', () => {
    expect(of(read(120), read(120), update(209), update(129), read(129))).to.deep.equal([
      '2 × update customers set points to 209 and 129, each computed from the same 120: the last one stays, so points is 129, where all of them make 218',
    ]);
  });

  it('takes updates that follow their own reads for correct within the request', () => {
    const usual = /of two requests at once, one is lost$/;
    expect(of(read(120), update(209), read(209), update(218))[0]).to.match(usual);
    expect(of(read(120), update(150), update(209))[0], 'one read, a running number').to.match(usual);
  });
});
