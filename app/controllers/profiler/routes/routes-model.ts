/** Summaries -> the table of routes: rows, columns with sort links, pages. */
import type { RouteSummaries, RouteSummary, SummaryStep } from '../../../profiler/store/route-summary.ts';
import { urls } from '../../../urls.ts';
import {
  groupQuery,
  orderAfterClick,
  PERIODS,
  type RoutesFilters,
  type RouteSort,
  SORT_VALUES,
  tableQuery,
} from './routes-filters.ts';

const HEIGHT = 20;
const WIDTH = 0.8;
const LEAST = 1;

export function columnPath(shares: readonly (number | null)[]): string {
  return shares
    .map((share, index) => {
      if (share === null) return '';
      const height = Math.round(Math.max(LEAST, Math.min(1, share) * HEIGHT) * 10) / 10;
      return `M${index} ${HEIGHT}v-${height}h${WIDTH}v${height}z`;
    })
    .join('');
}

export function boxOf(steps: readonly SummaryStep[]): string {
  return `0 0 ${Math.max(1, steps.length)} ${HEIGHT}`;
}

export function trendOf(steps: readonly SummaryStep[]) {
  const highest = Math.max(0, ...steps.map(({ p95Ms }) => p95Ms ?? 0));
  const share = ({ p95Ms }: SummaryStep): number => (highest === 0 ? 0 : (p95Ms ?? 0) / highest);
  const draw = (isDrawn: (step: SummaryStep) => boolean): string =>
    columnPath(steps.map((step) => (step.count > 0 && isDrawn(step) ? share(step) : null)));
  return {
    box: boxOf(steps),
    plain: draw(({ errors }) => errors === 0),
    failed: draw(({ errors }) => errors > 0),
  };
}

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

export interface ReadRoutes {
  filters: RoutesFilters;
  summaries: RouteSummaries;
  notice: string | null;
}

export const EMPTY: RouteSummaries = {
  routes: [],
  more: 0,
  looked: 0,
  newestOnly: false,
  totalMs: 0,
  from: 0,
  until: 0,
};

function sorted(routes: readonly RouteSummary[], { sort, descending }: RoutesFilters): RouteSummary[] {
  const value: (summary: RouteSummary) => number | string = SORT_VALUES[sort];
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

export function createRoutesModel({ filters, summaries, notice }: ReadRoutes) {
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
      title: titleOf(summary),
      href: urls.routes(groupQuery(summary, filters.period)),
      requests: requestsOf(summary),
      trend: trendOf(summary.steps),
    })),
    routes: found.length,
    summaries,
    pages: { back: pageAddress(current - 1), on: pageAddress(current + 1), current, count },
    hiddenFields: hiddenFields.flatMap(([name, value]): [string, string][] =>
      value === undefined || value === '' ? [] : [[name, String(value)]],
    ),
    json: urls.routesJson(tableQuery(filters, { page: 1 })),
    notice,
  };
}
