/** One summary with its requests -> the page of a route: figures, percentiles over time, durations, findings. */
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import { worseSince } from '../../profiler/release-changes.ts';
import type { ReleaseSummary } from '../../profiler/release-summary.ts';
import {
  DURATION_EDGES,
  type RouteGroup,
  type RouteSummaries,
  type RouteSummary,
  type SummaryStep,
} from '../../profiler/route-summary.ts';
import { urls } from '../../urls.ts';
import { groupQuery, type RoutesFilters, tableQuery } from './routes-filters.ts';
import { type PeriodLink, periodLinks, requestsOf, titleOf } from './routes-model.ts';
import { boxOf, columnPath } from './trend.ts';

interface Bin {
  /** Milliseconds; null: unbounded. */
  from: number | null;
  until: number | null;
  count: number;
  /** Share of the largest bin, 0 to 1. */
  share: number;
}

/** Of one route. */
export interface RouteRequests {
  slowest: readonly ProfileIndex[];
  newest: readonly ProfileIndex[];
  /** The newest first; empty if its requests name none. */
  releases: readonly ReleaseSummary[];
}

interface ReleaseRow {
  summary: ReleaseSummary;
  /** What became worse than in the release before. */
  worse: ReadonlySet<string>;
  /** Its requests. */
  requests: string;
  /** Compares its newest request with that of the release before; null for the first. */
  compare: string | null;
}

export interface RouteModel extends Omit<RouteRequests, 'releases'> {
  releases: ReleaseRow[];
  title: string;
  name: string;
  method: string;
  periods: PeriodLink[];
  /** null if it has no stored request in this period. */
  summary: RouteSummary | null;
  summaries: RouteSummaries;
  /** Three drawings on one square-root scale, from 0 to `topMs`. */
  chart: { box: string; max: string; p95: string; p50: string; topMs: number };
  steps: { at: number; step: SummaryStep }[];
  bins: Bin[];
  requests: string | null;
  /** Compares the newest and the slowest request; null if they are the same. */
  compare: string | null;
  back: string;
  json: string;
  notice: string | null;
  foot: readonly string[];
}

/** Releases shown. */
const MOST_RELEASES = 20;

function chartOf(steps: readonly SummaryStep[]): RouteModel['chart'] {
  const topMs = Math.max(0, ...steps.map(({ maxMs }) => maxMs ?? 0));
  const draw = (value: (step: SummaryStep) => number | null): string =>
    columnPath(
      steps.map((step) => {
        const ms = value(step);
        return ms === null || topMs === 0 ? null : Math.sqrt(ms / topMs);
      }),
    );
  return {
    box: boxOf(steps),
    max: draw(({ maxMs }) => maxMs),
    p95: draw(({ p95Ms }) => p95Ms),
    p50: draw(({ p50Ms }) => p50Ms),
    topMs,
  };
}

/** From the first bin with a request to the last. */
function binsOf(counts: readonly number[]): Bin[] {
  const fullest = Math.max(1, ...counts);
  const bins = counts.map((count, index) => ({
    from: index === 0 ? null : (DURATION_EDGES[index - 1] ?? null),
    until: DURATION_EDGES[index] ?? null,
    count,
    share: count / fullest,
  }));
  const filled = (bin: Bin): boolean => bin.count > 0;
  return bins.slice(Math.max(0, bins.findIndex(filled)), bins.findLastIndex(filled) + 1);
}

function releaseRows({ method, route }: RouteGroup, releases: readonly ReleaseSummary[]): ReleaseRow[] {
  return releases.slice(0, MOST_RELEASES).map((summary, index) => {
    const before = releases[index + 1];
    const { release, newest } = summary;
    return {
      summary,
      worse: new Set(before === undefined ? [] : worseSince(before, summary).map(({ what }) => what)),
      requests: urls.search({ route: route ?? undefined, method, release }),
      compare: before === undefined ? null : urls.compare({ a: before.newest, b: newest }),
    };
  });
}

export function createRouteModel(
  options: RouteRequests & {
    filters: RoutesFilters & { group: NonNullable<RoutesFilters['group']> };
    summaries: RouteSummaries;
    notice: string | null;
    foot: readonly string[];
  },
): RouteModel {
  const { filters, summaries, slowest, newest, releases, notice, foot } = options;
  const { group, period } = filters;
  const summary = summaries.routes[0] ?? null;
  const steps = summary?.steps ?? [];
  const width = (summaries.until - summaries.from) / Math.max(1, steps.length);
  const name = titleOf(group);
  const { newest: last, slowest: longest } = summary ?? {};
  const differ = longest !== null && longest !== last;
  return {
    title: `${group.method} ${name}: route`.trim(),
    name,
    method: group.method,
    periods: periodLinks((other) => urls.routes(groupQuery(group, other)), period.name),
    summary,
    summaries,
    chart: chartOf(steps),
    steps: steps.map((step, index) => ({ at: summaries.from + index * width, step })),
    bins: summary === null ? [] : binsOf(summary.durations),
    slowest,
    newest,
    releases: releaseRows(group, releases),
    requests: summary === null ? null : requestsOf(summary),
    compare: differ ? urls.compare({ a: last, b: longest }) : null,
    back: urls.routes(tableQuery(filters, { page: 1 })),
    json: urls.routesJson(groupQuery(group, period)),
    notice,
    foot,
  };
}
