/** Two releases of a route -> how the later one is worse. */
import type { ReleaseSummary } from './release-summary.ts';

export interface ReleaseChange {
  what: 'queries' | 'median' | 'p95' | 'errors';
  /** Queries, milliseconds, or a share of the requests from 0 to 1. */
  before: number;
  after: number;
}

/** Requests of each release from which on figures are compared: numbers of queries hardly vary, times do. */
const FEWEST_FOR_QUERIES = 3;
const FEWEST_FOR_TIMES = 20;
/** A change counts from so many on, and from this share of the value before on. */
const LEAST_QUERIES = 2;
const LEAST_QUERIES_SHARE = 0.1;
const LEAST_MS = 20;
const LEAST_TIME_SHARE = 0.5;
const LEAST_ERRORS = 3;
const LEAST_ERROR_SHARE = 0.05;

function grew(before: number, after: number, least: { by: number; share: number }): boolean {
  return after - before >= Math.max(least.by, least.share * before);
}

function errorShare({ errors, count }: ReleaseSummary): number {
  return count === 0 ? 0 : errors / count;
}

/** Empty if it is not worse, or too few requests of one release were seen. */
export function worseSince(before: ReleaseSummary, after: ReleaseSummary): ReleaseChange[] {
  const changes: ReleaseChange[] = [];
  const add = (
    what: ReleaseChange['what'],
    values: readonly [before: number | null, after: number | null],
    least: { by: number; share: number },
  ): void => {
    const [from, to] = values;
    if (from !== null && to !== null && grew(from, to, least))
      changes.push({ what, before: from, after: to });
  };
  const fewest = (of: (summary: ReleaseSummary) => number): number => Math.min(of(before), of(after));
  const answered = fewest(({ count, errors }) => count - errors);
  if (fewest(({ count }) => count) >= FEWEST_FOR_QUERIES && after.errors - before.errors >= LEAST_ERRORS)
    add('errors', [errorShare(before), errorShare(after)], { by: LEAST_ERROR_SHARE, share: 0 });
  if (answered >= FEWEST_FOR_QUERIES)
    add('queries', [before.queries, after.queries], { by: LEAST_QUERIES, share: LEAST_QUERIES_SHARE });
  if (answered >= FEWEST_FOR_TIMES) {
    add('median', [before.p50Ms, after.p50Ms], { by: LEAST_MS, share: LEAST_TIME_SHARE });
    add('p95', [before.p95Ms, after.p95Ms], { by: LEAST_MS, share: LEAST_TIME_SHARE });
  }
  return changes;
}

/** Releases of one route in the order in which they were first seen, the newest first. */
export function newestFirst(releases: readonly ReleaseSummary[]): ReleaseSummary[] {
  return releases.toSorted((a, b) => b.firstAt - a.firstAt);
}
