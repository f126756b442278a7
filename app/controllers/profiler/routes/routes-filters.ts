/** GET parameters of the route pages <-> checked values; an invalid one is a BAD_FILTER. */
import type { RouteGroup, RouteSummary, SummaryQuery } from '../../../profiler/store/route-summary.ts';
import { badFilter, readChoice, readCount, readOne } from '../list/filters.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const PERIODS = [
  { name: '15m', title: '15 minutes', ms: 15 * MINUTE },
  { name: '1h', title: '1 hour', ms: HOUR },
  { name: '24h', title: '24 hours', ms: 24 * HOUR },
  { name: 'all', title: 'All stored', ms: null },
] as const;
export type Period = (typeof PERIODS)[number];

export const SORT_VALUES = {
  share: ({ totalMs }) => totalMs,
  route: ({ route }) => route ?? '',
  method: ({ method }) => method,
  count: ({ count }) => count,
  p50: ({ p50Ms }) => p50Ms ?? -1,
  p95: ({ p95Ms }) => p95Ms ?? -1,
  errors: ({ errors }) => errors,
  queries: ({ queries }) => queries,
  last: ({ lastAt }) => lastAt,
} satisfies Record<string, (summary: RouteSummary) => number | string>;
export type RouteSort = keyof typeof SORT_VALUES;

export interface RoutesFilters {
  period: Period;
  sort: RouteSort;
  descending: boolean;
  find: string;
  page: number;
  group: RouteGroup | null;
}

const DEFAULT_PERIOD = PERIODS[1];
const DEFAULT_SORT = 'share';
const ASCENDING: ReadonlySet<RouteSort> = new Set(['route', 'method']);
const LAST_PAGE = 1000;

function readText(query: URLSearchParams, name: string): string {
  return readOne(query, name)?.trim() ?? '';
}

const PERIOD_BY_NAME: Readonly<Record<string, Period>> = Object.fromEntries(
  PERIODS.map((period) => [period.name, period]),
);
const SORT_BY_NAME = Object.fromEntries(Object.keys(SORT_VALUES).map((sort) => [sort, sort as RouteSort]));

function readStatus(query: URLSearchParams): number | null {
  const text = readText(query, 'status');
  if (text === '') return null;
  if (!/^[1-5]\d\d$/.test(text)) throw badFilter('status', `is "${text}"; give a status such as 404`);
  return Number(text);
}

function readGroup(query: URLSearchParams): RouteGroup | null {
  const none = readText(query, 'none');
  const route = readOne(query, 'route') ?? '';
  const method = readOne(query, 'method') ?? '';
  const status = readStatus(query);
  if (none !== '' && none !== '1')
    throw badFilter('none', `is "${none}"; give 1 for requests without a route`);
  if (none === '1' && route !== '') throw badFilter('none', 'can’t be combined with a route');
  if (none === '1') return { route: null, method: '', status };
  if (route === '') return null;
  if (method === '') throw badFilter('method', 'is missing; give the method of the route, such as GET');
  return { route, method, status: null };
}

export function readRoutesFilters(query: URLSearchParams): RoutesFilters {
  const text = (name: string, fallback: string): string => readText(query, name) || fallback;
  const sort = readChoice('sort', text('sort', DEFAULT_SORT), SORT_BY_NAME);
  return {
    period: readChoice('since', text('since', DEFAULT_PERIOD.name), PERIOD_BY_NAME),
    sort,
    descending: readChoice('order', text('order', ASCENDING.has(sort) ? 'asc' : 'desc'), {
      asc: false,
      desc: true,
    }),
    find: readText(query, 'find'),
    page: readCount('page', text('page', '1'), 1, LAST_PAGE),
    group: readGroup(query),
  };
}

export function groupQuery(group: RouteGroup, period: Period): Record<string, string | number | undefined> {
  const since = period === DEFAULT_PERIOD ? undefined : period.name;
  const { route, method, status } = group;
  return route === null ? { none: 1, status: status ?? undefined, since } : { route, method, since };
}

export function tableQuery(
  filters: RoutesFilters,
  changes: Partial<Omit<RoutesFilters, 'group'>> = {},
): Record<string, string | number | undefined> {
  const { period, sort, descending, find, page } = { ...filters, ...changes };
  return {
    since: period === DEFAULT_PERIOD ? undefined : period.name,
    find,
    sort: sort === DEFAULT_SORT ? undefined : sort,
    order: descending === !ASCENDING.has(sort) ? undefined : descending ? 'desc' : 'asc',
    page: page === 1 ? undefined : page,
  };
}

export function orderAfterClick({ sort, descending }: RoutesFilters, column: RouteSort): boolean {
  return sort === column ? !descending : !ASCENDING.has(column);
}

export function summaryQuery({ period, group }: RoutesFilters, now: number): SummaryQuery {
  // Includes requests that start within this millisecond.
  const until = now + 1;
  const from = period.ms === null ? 0 : until - period.ms;
  return group === null ? { from, until } : { from, until, group, most: MOST_OF_ONE };
}

/** Newest requests of one route that are read; they are scattered, so each costs the database more. */
const MOST_OF_ONE = 20_000;
