import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';

describe('finding shares-rounded', () => {
  const insert = (shares: readonly Json[], more: readonly (readonly [string, Json])[] = []): AskedQuery => ({
    sql: `insert into shares (member_id, cents) values ${shares.map(() => '(?, ?)').join(', ')}`,
    bindings: [
      ...shares.flatMap((cents, at) => [['member_id', at] as const, ['cents', cents] as const]),
      ...more,
    ],
    rows: shares.length,
    caller: 'src/groups.js:7',
  });
  const split = (
    shares: readonly Json[],
    { body = {}, queries = [] as AskedQuery[], sent = null as Json } = {},
  ) => ({
    request: keptRequest({ params: { group: 'attic' }, body: { cents: 10000, ...body }, sent }),
    database: keptQueries(...queries, insert(shares)),
  });
  const of = (...given: Parameters<typeof split>): string[] => sentencesOf('shares-rounded', split(...given));
  const wrote =
    'cents 3333 + 3333 + 3333 = 9999 for cents 10000: each was rounded by itself, and 1 is in none of them';

  it('names equal and weighted shares that miss the received amount', () => {
    const [finding] = draftsOf('shares-rounded', split([3333, 3333, 3333]));
    expect(finding).to.include({ sentence: `insert into shares wrote ${wrote}`, place: 'src/groups.js:7' });
    expect(
      of([5001, 2501, 2501], { body: { cents: 10001, weights: { Ana: 2, Bo: 1, Cem: 1 } } })[0],
    ).to.match(/5001 \+ 2501 \+ 2501 = 10003 for cents 10001: .* they are 2 too much$/);
    const queries = [{ sql: 'select * from orders', found: [{ total: '100.00' }] }];
    expect(
      of(['16.67', '16.67', '16.67', '16.67', '16.67', '16.67'], { queries, body: { cents: 1 } })[0],
    ).to.match(/\+ 2 more = 100\.02 for total 100\.00/);
    const sent = { shares: [{ cents: 3333 }, { cents: 3333 }, { cents: 3333 }] };
    const request = keptRequest({ body: { cents: 10000 }, sent });
    expect(sentencesOf('shares-rounded', { request })).to.deep.equal([`The response has ${wrote}`]);
  });

  it('names them to the request that sums up the table', () => {
    const report = {
      request: keptRequest({ params: { group: 'attic' } }),
      database: keptQueries({ sql: 'select member_id, sum(cents) from shares group by member_id' }),
    };
    const head = { token: 'a1', method: 'POST', url: '/expenses' };
    const sums = (kept: object) => sentencesOf('shares-rounded', report, {}, { siblings: [{ head, kept }] });
    expect(sums(split([3333, 3333, 3333]))).to.deep.equal([
      `select … from shares sums up what POST /expenses (a1) wrote (src/groups.js:7): ${wrote}`,
    ]);
    expect(sums(split([3334, 3333, 3333]))).to.deep.equal([]);
  });

  it('ignores shares that add up, prices, and sums that are rounded on purpose', () => {
    const prices = [{ sql: 'select cents from products', found: [{ cents: 3333 }] }];
    for (const [why, found] of Object.entries({
      'the first has the rest': of([3334, 3333, 3333]),
      'a row has the rest': of([3333, 3333, 3333], { sent: { remainder: 1 } }),
      'the sum is what counts': of([3333, 3333, 3333], { sent: { charged: 9999 } }),
      'prices that were read': of([3333, 3333, 3333], { queries: prices }),
      'lines of a total that was rounded to 5 cents': of([1249, 3100, 5652]),
      'a part of it': of([3000, 3000, 3000]),
      'no amount of money': of([3, 3, 3], { body: { cents: 10 } }),
    }))
      expect(found, why).to.deep.equal([]);
  });
});
