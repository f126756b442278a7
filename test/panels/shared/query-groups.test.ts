import { expect } from 'chai';
import { groupQueries } from '../../../app/panels/shared/query-groups.ts';

describe('groups of statements', () => {
  it('leave out what ran after the response: a timer that the request started repeats nothing', () => {
    const queries = [5, 105, 205, 305].map((startMs) => ({
      sql: 'select now()',
      bindings: [],
      caller: 'a.ts:1',
      startMs,
      durationMs: 1,
    }));
    const given = queries as unknown as Parameters<typeof groupQueries>[0];
    expect(groupQueries(given, 300)).to.deep.equal([{ kind: 'duplicate', members: [0, 1, 2] }]);
    expect(groupQueries(given, 50)).to.deep.equal([]);
    expect(groupQueries(given)[0]?.members).to.have.length(4);
    const cut = given.slice(0, 2).map((query) => ({ ...query, bindings: ['x…'], types: ['cut' as const] }));
    expect(groupQueries(cut), 'values that are the same as far as they are recorded').to.deep.equal([]);
    const versions = given.map((query, at) => ({ ...query, rows: 1, found: [{ version: at > 1 ? 1 : 0 }] }));
    const kinds = [versions, versions.slice(2)].map((all) => groupQueries(all).map(({ kind }) => kind));
    expect(kinds, 'a read that found something else').to.deep.equal([['repeated'], ['duplicate']]);
  });

  it('take reads from row to row for no loop: each is given a value that the one before it found', () => {
    const walk = (places: readonly number[], found: readonly object[], ms = 1, isInText = false) =>
      groupQueries(
        places.map((place, at) => ({
          sql: `select * from bookings where course_id = $1 and place > ${isInText ? place : '$2'} limit 1`,
          bindings: isInText ? [1] : [1, place],
          caller: 'a.ts:1',
          startMs: at * 2,
          durationMs: ms,
          found: [found[at]],
        })) as unknown as Parameters<typeof groupQueries>[0],
      ).map(({ kind }) => kind);
    const rows = [6, 7, 9].map((place) => ({ id: place + 30, place }));
    expect(walk([0, 6, 7], rows)).to.deep.equal(['pages']);
    expect(walk([0, 6, 7], rows, 1, true), 'in the text').to.deep.equal(['pages']);
    expect(walk([0, 6, 8], rows, 1, true), 'another one in the text').to.deep.equal(['n+1']);
    expect(walk([0, 6, 8], rows), 'another value').to.deep.equal(['n+1']);
    expect(walk([0, 6, 7], rows, 3), 'at once').to.deep.equal(['n+1']);
    expect(walk([0, 6, 37], rows), 'another column').to.deep.equal(['n+1']);
  });
});
