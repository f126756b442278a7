/** Figures of many requests, computed from their rows: totals by route, usual times, and requests over time. */
import {
  DURATION_EDGES,
  LOOKED_BACK,
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
} from './route-summary.ts';
import { failed, isAsset, matcherOf } from './query-rows.ts';
import { groupBy } from '../group-by.ts';
import { type CountsAndHistogram, type CountsAndHistogramQuery, MOST_IN_HISTOGRAM } from './storage.ts';
import type { Row } from './store.ts';

function groupOf({ route, method, status }: Row): RouteGroup {
  return route === null ? { route, method: '', status } : { route, method, status: null };
}

function keyOf({ route, method, status }: RouteGroup): string {
  return JSON.stringify([route, method, status]);
}

function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function durationsOf(rows: readonly Row[]): number[] {
  return rows.flatMap(({ durationMs }) => (durationMs === null ? [] : [durationMs])).sort((a, b) => a - b);
}

function stepOf(rows: readonly Row[]): SummaryStep {
  const sorted = durationsOf(rows);
  return {
    count: rows.length,
    errors: rows.filter(failed).length,
    p50Ms: percentile(sorted, 0.5),
    p95Ms: percentile(sorted, 0.95),
    maxMs: sorted.at(-1) ?? null,
  };
}

function stepsOf(rows: readonly Row[], first: number, until: number): SummaryStep[] {
  const steps = Array.from({ length: SUMMARY_STEPS }, (): Row[] => []);
  for (const row of rows) {
    const step = Math.floor(((row.startedAt - first) * SUMMARY_STEPS) / Math.max(until - first, 1));
    steps[Math.min(SUMMARY_STEPS - 1, step)]?.push(row);
  }
  return steps.map(stepOf);
}

function durationBins(durations: readonly number[]): number[] {
  const counts = new Array<number>(DURATION_EDGES.length + 1).fill(0);
  for (const duration of durations) {
    const above = DURATION_EDGES.findIndex((edge) => duration < edge);
    const bin = above === -1 ? DURATION_EDGES.length : above;
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}

function marksOf(rows: readonly Row[]): RouteSummary['marks'] {
  const found = new Map<string, RouteSummary['marks'][number]>();
  for (const { mark, marks } of rows) {
    if (mark === null) continue;
    const severity = marks.find(({ label }) => label === mark)?.severity ?? 'warn';
    const before = found.get(mark);
    if (before === undefined) found.set(mark, { mark, severity, count: 1 });
    else before.count += 1;
  }
  return [...found.values()]
    .sort((a, b) => b.count - a.count || (a.mark < b.mark ? -1 : 1))
    .slice(0, MOST_MARKS);
}

function summaryOf(rows: readonly Row[], first: number, until: number): RouteSummary {
  const [newest] = rows as [Row, ...Row[]];
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
    durations: durationBins(durations),
    marks: marksOf(rows),
  };
}

/** Rows of a store, newest first, in batches. */
type Batches = AsyncIterable<readonly Row[]>;

async function newestOf(rows: Batches, most: number, isWanted: (row: Row) => boolean): Promise<Row[]> {
  const found: Row[] = [];
  for await (const batch of rows) {
    for (const row of batch) if (found.length < most && isWanted(row)) found.push(row);
    if (found.length >= most) break;
  }
  return found;
}

export async function summarizeRows(
  rows: Batches,
  { from, until, group, most = MOST_SUMMARIZED }: SummaryQuery,
): Promise<RouteSummaries> {
  const wanted = group === undefined ? null : keyOf(group);
  const limit = Math.min(most, MOST_SUMMARIZED);
  const newest = await newestOf(
    rows,
    limit,
    (row) =>
      row.kind === 'request' &&
      row.startedAt < until &&
      (wanted === null ? !isAsset(row) : keyOf(groupOf(row)) === wanted),
  );
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

/** `rows`: since LOOKED_BACK_MS before the request. */
export async function percentilesAmong(
  rows: Batches,
  { route, method, before }: RoutePercentilesQuery,
): Promise<RoutePercentiles> {
  const earlier = await newestOf(
    rows,
    LOOKED_BACK,
    ({ kind, startedAt }) => kind === 'request' && startedAt < before,
  );
  const found = earlier.filter(
    (row) => row.route === route && row.method === method && row.durationMs !== null,
  );
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

function pairOf(values: readonly (number | null)[]): PercentilePair | null {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const [p50, p95] = [percentile(known, 0.5), percentile(known, 0.95)];
  return p50 === null || p95 === null ? null : [p50, p95];
}

export async function histogramOf(
  rows: Batches,
  { query, from, until, parts }: NonNullable<CountsAndHistogramQuery['histogram']>,
): Promise<CountsAndHistogram['histogram']> {
  const width = Math.max(1, Math.ceil((until - from) / parts));
  const matches = matcherOf({ ...query, until });
  const taken = await newestOf(rows, MOST_IN_HISTOGRAM, matches);
  const drawn = Array.from({ length: parts }, () => ({ count: 0, errors: 0, full: 0 }));
  for (const { startedAt, status, error, summary } of taken) {
    const part = drawn[Math.floor((startedAt - from) / width)];
    if (part === undefined) continue;
    part.count++;
    if (summary === null) part.full++;
    const refused = status !== null && status >= 400 && status < 500;
    if ((status ?? 0) >= 500 || (error !== null && !refused)) part.errors++;
  }
  const oldest = taken.at(-1)?.startedAt ?? from;
  return { parts: drawn, since: taken.length === MOST_IN_HISTOGRAM ? oldest : from };
}
