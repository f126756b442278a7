/** Summaries -> the table of routes: rows, columns with sort links, pages. */
import type { RouteSummaries, RouteSummary } from '../../profiler/route-summary.ts';
import { urls } from '../../urls.ts';
import {
  groupQuery,
  orderAfterClick,
  PERIODS,
  type RoutesFilters,
  type RouteSort,
  tableQuery,
} from './routes-filters.ts';
import { trendOf } from './trend.ts';

const COLUMNS: readonly [title: string, sort: RouteSort | null, numeric: boolean][] = [
  ['Route', 'route', false],
  ['Method', 'method', false],
  ['Requests', 'count', true],
  ['p50', 'p50', true],
  ['p95', 'p95', true],
  ['Errors', 'errors', true],
  ['Queries, median', 'queries', true],
  ['Share of total time', 'share', true],
  ['p95 over time', null, false],
  ['Last', 'last', true],
];

const ROWS_PER_PAGE = 40;

const VALUES: Readonly<Record<RouteSort, (summary: RouteSummary) => number | string>> = {
  share: ({ totalMs }) => totalMs,
  route: ({ route }) => route ?? '',
  method: ({ method }) => method,
  count: ({ count }) => count,
  p50: ({ p50Ms }) => p50Ms ?? -1,
  p95: ({ p95Ms }) => p95Ms ?? -1,
  errors: ({ errors }) => errors,
  queries: ({ queries }) => queries,
  last: ({ lastAt }) => lastAt,
};

export const EMPTY: RouteSummaries = {
  routes: [],
  more: 0,
  looked: 0,
  newestOnly: false,
  totalMs: 0,
  from: 0,
  until: 0,
};

/** Equal rows keep the storage's order: costliest first. */
function sorted(routes: readonly RouteSummary[], { sort, descending }: RoutesFilters): RouteSummary[] {
  const value = VALUES[sort];
  const sign = descending ? -1 : 1;
  return [...routes].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    return left === right ? 0 : left < right ? -sign : sign;
  });
}

export function titleOf({ route, status }: Pick<RouteSummary, 'route' | 'status'>): string {
  if (route !== null) return route === '' ? '(empty pattern)' : route;
  return status === null ? 'no route, no response' : `no route, ${status}`;
}

/** The list of these requests; those without a route can only be filtered by status. */
export function requestsOf({ route, method, status }: RouteSummary): string {
  return urls.search(route === null ? { status: status ?? undefined } : { route, method });
}

export function periodLinks(address: (period: (typeof PERIODS)[number]) => string, current: string) {
  return PERIODS.map((period) => ({
    title: period.title,
    href: address(period),
    current: period.name === current,
  }));
}

/** `href` is null for a column that can’t be sorted. */
function columnsOf(filters: RoutesFilters) {
  return COLUMNS.map(([title, sort, numeric]) => {
    if (sort === null) return { title, href: null, direction: null, numeric };
    const descending = orderAfterClick(filters, sort);
    const direction = filters.descending ? 'descending' : 'ascending';
    return {
      title,
      numeric,
      href: urls.routes(tableQuery(filters, { sort, descending, page: 1 })),
      direction: filters.sort === sort ? direction : null,
    };
  });
}

export function createRoutesModel(options: {
  filters: RoutesFilters;
  summaries: RouteSummaries;
  notice: string | null;
}) {
  const { filters, summaries, notice } = options;
  const find = filters.find.toLowerCase();
  const found = sorted(summaries.routes, filters).filter((summary) =>
    titleOf(summary).toLowerCase().includes(find),
  );
  const count = Math.max(1, Math.ceil(found.length / ROWS_PER_PAGE));
  const current = Math.min(filters.page, count);
  const first = (current - 1) * ROWS_PER_PAGE;
  const pageAddress = (page: number): string | null =>
    page < 1 || page > count ? null : urls.routes(tableQuery(filters, { page }));
  const hiddenFields = Object.entries(tableQuery(filters, { find: '', page: 1 }));
  return {
    title: 'Routes',
    filters,
    periods: periodLinks(
      (period) => urls.routes(tableQuery(filters, { period, page: 1 })),
      filters.period.name,
    ),
    columns: columnsOf(filters),
    rows: found.slice(first, first + ROWS_PER_PAGE).map((summary, index) => ({
      id: `rt${first + index + 1}`,
      summary,
      /** Route pattern, or a placeholder. */
      title: titleOf(summary),
      /** Page of this route. */
      href: urls.routes(groupQuery(summary, filters.period)),
      /** List of its requests. */
      requests: requestsOf(summary),
      trend: trendOf(summary.steps),
    })),
    /** Number of rows on all pages. */
    routes: found.length,
    summaries,
    pages: { back: pageAddress(current - 1), on: pageAddress(current + 1), current, count },
    /** Hidden fields of the filter form. */
    hiddenFields: hiddenFields.flatMap(([name, value]): [string, string][] =>
      value === undefined || value === '' ? [] : [[name, String(value)]],
    ),
    json: urls.routesJson(tableQuery(filters, { page: 1 })),
    notice,
  };
}
