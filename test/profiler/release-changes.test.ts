/** When a route counts as worse with a release. */
import { expect } from 'chai';
import { worseSince } from '../../app/profiler/release-changes.ts';
import type { ReleaseSummary } from '../../app/profiler/release-summary.ts';

function summary(changes: Partial<ReleaseSummary> = {}): ReleaseSummary {
  return {
    release: 'v1', route: '/orders', method: 'GET', count: 100, errors: 0, p50Ms: 10, p95Ms: 40, queries: 3, firstAt: 1, lastAt: 2, newest: '000001',
    ...changes,
  }; // prettier-ignore
}

describe('a later release of a route', () => {
  const what = (before: Partial<ReleaseSummary>, after: Partial<ReleaseSummary>): string[] =>
    worseSince(summary(before), summary(after)).map((change) => change.what);

  it('is no worse if nothing changed, or it got better', () => {
    expect(what({}, {})).to.deep.equal([]);
    expect(what({ queries: 17, p50Ms: 400, p95Ms: 900, errors: 50 }, {})).to.deep.equal([]);
  });

  it('is worse by queries, with what they were', () => {
    expect(worseSince(summary(), summary({ queries: 17 }))).to.deep.equal([
      { what: 'queries', before: 3, after: 17 },
    ]);
    expect(what({}, { queries: 4 })).to.deep.equal([]);
    expect(what({}, { queries: 5 })).to.deep.equal(['queries']);
    expect(what({ queries: 100 }, { queries: 109 })).to.deep.equal([]);
    expect(what({ queries: 100 }, { queries: 110 })).to.deep.equal(['queries']);
    expect(what({ queries: 0 }, { queries: 2 })).to.deep.equal(['queries']);
  });

  it('is worse by time if it takes half as long again, and 20 ms', () => {
    expect(what({}, { p50Ms: 29 })).to.deep.equal([]);
    expect(what({}, { p50Ms: 30 })).to.deep.equal(['median']);
    expect(what({ p95Ms: 400 }, { p95Ms: 599 })).to.deep.equal([]);
    expect(what({ p95Ms: 400 }, { p95Ms: 600 })).to.deep.equal(['p95']);
  });

  it('is worse by errors, which come first', () => {
    expect(what({}, { errors: 4 })).to.deep.equal([]);
    expect(what({}, { errors: 5, queries: 9 })).to.deep.equal(['errors', 'queries']);
    expect(what({ count: 10 }, { count: 10, errors: 2 })).to.deep.equal([]);
  });

  it('is not compared with too few requests', () => {
    expect(what({ count: 2 }, { queries: 17 })).to.deep.equal([]);
    expect(what({ count: 3 }, { queries: 17 })).to.deep.equal(['queries']);
    expect(what({ count: 19 }, { p50Ms: 900 })).to.deep.equal([]);
    expect(what({ count: 5, errors: 3 }, { queries: 17 })).to.deep.equal([]);
    expect(what({ queries: null, p50Ms: null, p95Ms: null }, { queries: 17 })).to.deep.equal([]);
  });
});
