/** Sums up requests in memory by route; postgres-summarize.ts does the same in PostgreSQL. */
import type { ProfileIndex } from '../profiler/profile-index.ts';
import {
  DURATION_EDGES,
  LOOKED_BACK,
  LOOKED_BACK_MS,
  MOST_MARKS,
  MOST_ROUTES,
  MOST_SUMMARIZED,
  type RouteGroup,
  type RouteSummaries,
  type RouteSummary,
  type PercentilePair,
  type RoutePercentiles,
  type RoutePercentilesQuery,
  SUMMARY_STEPS,
  type SummaryQuery,
  type SummaryStep,
} from '../profiler/route-summary.ts';
import { failed } from '../profiler/query-rows.ts';
import { groupBy } from '../profiler/group-by.ts';

function groupOf({ route, method, status }: ProfileIndex): RouteGroup {
  return route === null ? { route, method: '', status } : { route, method, status: null };
}

function keyOf({ route, method, status }: RouteGroup): string {
  return JSON.stringify([route, method, status]);
}

/** Like SQL's percentile_disc: the smallest value that at least this share of the values does not exceed; null without values. */
function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Of those that ended, in order of size. */
function durationsOf(rows: readonly ProfileIndex[]): number[] {
  return rows.flatMap(({ durationMs }) => (durationMs === null ? [] : [durationMs])).sort((a, b) => a - b);
}

function stepOf(rows: readonly ProfileIndex[]): SummaryStep {
  const sorted = durationsOf(rows);
  return {
    count: rows.length,
    errors: rows.filter(failed).length,
    p50Ms: percentile(sorted, 0.5),
    p95Ms: percentile(sorted, 0.95),
    maxMs: sorted.at(-1) ?? null,
  };
}

function stepsOf(rows: readonly ProfileIndex[], first: number, until: number): SummaryStep[] {
  const steps = Array.from({ length: SUMMARY_STEPS }, (): ProfileIndex[] => []);
  for (const row of rows) {
    const step = Math.floor(((row.startedAt - first) * SUMMARY_STEPS) / Math.max(until - first, 1));
    steps[Math.min(SUMMARY_STEPS - 1, step)]?.push(row);
  }
  return steps.map(stepOf);
}

function histogramOf(durations: readonly number[]): number[] {
  const counts = new Array<number>(DURATION_EDGES.length + 1).fill(0);
  for (const duration of durations) {
    const above = DURATION_EDGES.findIndex((edge) => duration < edge);
    const bin = above === -1 ? DURATION_EDGES.length : above;
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}

function marksOf(rows: readonly ProfileIndex[]): RouteSummary['marks'] {
  const counts = new Map<string, number>();
  for (const { mark } of rows) if (mark !== null) counts.set(mark, (counts.get(mark) ?? 0) + 1);
  return Array.from(counts, ([mark, count]) => ({ mark, count }))
    .sort((a, b) => b.count - a.count || (a.mark < b.mark ? -1 : 1))
    .slice(0, MOST_MARKS);
}

/** `rows`: newest first, at least one. */
function summaryOf(rows: readonly ProfileIndex[], first: number, until: number): RouteSummary {
  const [newest] = rows as [ProfileIndex, ...ProfileIndex[]];
  const durations = durationsOf(rows);
  const { count, errors, p50Ms, p95Ms, maxMs } = stepOf(rows);
  const queries = rows.map((row) => row.queries).sort((a, b) => a - b);
  const slowest = rows.find(({ durationMs }) => durationMs !== null && durationMs === maxMs);
  return {
    ...groupOf(newest),
    count,
    errors,
    totalMs: sum(durations),
    p50Ms,
    p95Ms,
    maxMs,
    queries: percentile(queries, 0.5) ?? 0,
    lastAt: newest.startedAt,
    newest: newest.token,
    slowest: slowest?.token ?? null,
    steps: stepsOf(rows, first, until),
    durations: histogramOf(durations),
    marks: marksOf(rows),
  };
}

/** `rows`: of any kind, in any order. */
export function summarizeRows(
  rows: Iterable<ProfileIndex>,
  { from, until, group, most = MOST_SUMMARIZED }: SummaryQuery,
): RouteSummaries {
  const wanted = group === undefined ? null : keyOf(group);
  const limit = Math.min(most, MOST_SUMMARIZED);
  const newest = Array.from(rows)
    .filter(
      (row) =>
        row.kind === 'request' &&
        row.startedAt >= from &&
        row.startedAt < until &&
        (wanted === null || keyOf(groupOf(row)) === wanted),
    )
    .sort((a, b) => b.startedAt - a.startedAt || (a.token < b.token ? -1 : 1))
    .slice(0, limit);
  const newestOnly = newest.length >= limit;
  const first = newest.at(-1)?.startedAt ?? from;
  const groups = groupBy(newest, (row) => keyOf(groupOf(row)));
  const routes = Array.from(groups.values(), (members) => summaryOf(members, first, until))
    .sort((a, b) => b.totalMs - a.totalMs || b.count - a.count)
    .slice(0, MOST_ROUTES);
  return {
    routes,
    more: groups.size - routes.length,
    looked: newest.length,
    newestOnly,
    totalMs: sum(durationsOf(newest)),
    from: first,
    until,
  };
}

/** `rows`: of any kind, in order of arrival, which is roughly the order of time. */
export function percentilesAmong(
  rows: readonly ProfileIndex[],
  { route, method, before }: RoutePercentilesQuery,
): RoutePercentiles {
  const found: ProfileIndex[] = [];
  let looked = 0;
  for (let at = rows.length - 1; at >= 0 && looked < LOOKED_BACK; at--) {
    const row = rows[at];
    if (row?.kind !== 'request') continue;
    if (row.startedAt >= before || row.startedAt < before - LOOKED_BACK_MS) continue;
    looked++;
    if (row.route === route && row.method === method && row.durationMs !== null) found.push(row);
  }
  const [p50Ms, p95Ms] = pairOf(found.map(({ durationMs }) => durationMs)) ?? [null, null];
  return {
    count: found.length,
    p50Ms,
    p95Ms,
    queries: pairOf(found.map(({ queries }) => queries)),
    blockedMs: pairOf(found.map(({ blockedMs }) => blockedMs)),
    responseBytes: pairOf(found.map(({ responseBytes }) => responseBytes)),
  };
}

/** Median and 95th percentile of those that are known. */
function pairOf(values: readonly (number | null)[]): PercentilePair | null {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const [p50, p95] = [percentile(known, 0.5), percentile(known, 0.95)];
  return p50 === null || p95 === null ? null : [p50, p95];
}
