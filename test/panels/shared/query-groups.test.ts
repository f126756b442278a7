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
});
