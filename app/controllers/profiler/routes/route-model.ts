/** One summary with its requests -> the page of a route: figures, percentiles over time, durations, findings. */
import type { ProfileIndex } from '../../../profiler/store/profile-index.ts';
import { DURATION_EDGES, type RouteGroup, type SummaryStep } from '../../../profiler/store/route-summary.ts';
import { urls } from '../../../urls.ts';
import { groupQuery, tableQuery } from './routes-filters.ts';
import { boxOf, columnPath, periodLinks, type ReadRoutes, requestsOf, titleOf } from './routes-model.ts';

export interface RouteRequests {
  slowest: readonly ProfileIndex[];
  newest: readonly ProfileIndex[];
}

function chartOf(steps: readonly SummaryStep[]) {
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

function binsOf(counts: readonly number[]) {
  const fullest = Math.max(1, ...counts);
  const bins = counts.map((count, index) => ({
    from: index === 0 ? null : (DURATION_EDGES[index - 1] ?? null),
    until: DURATION_EDGES[index] ?? null,
    count,
    share: count / fullest,
  }));
  const filled = ({ count }: (typeof bins)[number]): boolean => count > 0;
  return bins.slice(Math.max(0, bins.findIndex(filled)), bins.findLastIndex(filled) + 1);
}

export function createRouteModel(
  { filters, summaries, notice }: ReadRoutes,
  group: RouteGroup,
  { slowest, newest }: RouteRequests,
) {
  const { period } = filters;
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
    requests: summary === null ? null : requestsOf(summary),
    compare: differ ? urls.compare({ a: last, b: longest }) : null,
    back: urls.routes(tableQuery(filters, { page: 1 })),
    json: urls.routesJson(groupQuery(group, period)),
    notice,
  };
}
