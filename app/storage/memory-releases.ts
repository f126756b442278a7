/** Sums up requests in memory by route and release; postgres-releases.ts does the same in PostgreSQL. */
import type { ProfileIndex } from '../profiler/profile-index.ts';
import {
  MOST_OF_RELEASES,
  MOST_RELEASE_SUMMARIES,
  type ReleaseQuery,
  type ReleaseSummary,
} from '../profiler/release-summary.ts';
import { compareNewest, failed } from '../profiler/query-rows.ts';
import { durationsOf, percentile } from './memory-summarize.ts';
import { groupBy } from '../profiler/group-by.ts';

type Released = ProfileIndex & { route: string; release: string };

function isReleased(row: ProfileIndex): row is Released {
  return row.kind === 'request' && row.route !== null && row.release !== null;
}

/** `rows`: newest first, at least one. */
function summaryOf(rows: readonly Released[]): ReleaseSummary {
  const [newest] = rows as [Released, ...Released[]];
  const { release, route, method } = newest;
  const whole = rows.filter((row) => !failed(row));
  const durations = durationsOf(whole);
  const queries = whole.map((row) => row.queries).sort((a, b) => a - b);
  return {
    release,
    route,
    method,
    count: rows.length,
    errors: rows.length - whole.length,
    p50Ms: percentile(durations, 0.5),
    p95Ms: percentile(durations, 0.95),
    queries: percentile(queries, 0.5),
    firstAt: rows.at(-1)?.startedAt ?? newest.startedAt,
    lastAt: newest.startedAt,
    newest: newest.token,
  };
}

export function summarizeReleaseRows(
  rows: Iterable<ProfileIndex>,
  { of, most = MOST_OF_RELEASES }: ReleaseQuery,
): ReleaseSummary[] {
  const newest = Array.from(rows)
    .filter(isReleased)
    .filter(({ route, method }) => of === undefined || (route === of.route && method === of.method))
    .sort(compareNewest)
    .slice(0, Math.min(most, MOST_OF_RELEASES));
  const groups = groupBy(newest, keyOf);
  return Array.from(groups.values(), summaryOf)
    .sort((a, b) => b.lastAt - a.lastAt || (keyOf(a) < keyOf(b) ? -1 : 1))
    .slice(0, MOST_RELEASE_SUMMARIES);
}

function keyOf({ release, method, route }: Pick<Released, 'release' | 'method' | 'route'>): string {
  return JSON.stringify([release, method, route]);
}
