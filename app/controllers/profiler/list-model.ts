/** Found rows -> the list page's view model: rows with their folded children, columns with their sort links, pages. */
import type { ProfileIndex } from '../../profiler/profile.ts';
import type { FoundProfiles } from '../../profiler/profiles.ts';
import { urls } from '../../urls.ts';
import { type FilterName, type Filters, withFilters } from './filters.ts';

export interface ListColumn {
  /** Class of the column. */
  name: string;
  title: string;
  /** Address of the list sorted by it; null where it can't be sorted. */
  href: string | null;
  direction: 'ascending' | 'descending' | null;
  numeric: boolean;
}

export interface ListRow {
  profile: ProfileIndex;
  children: readonly ProfileIndex[];
  /** Length of the bar, 0 to 1: the square root of its share of the slowest shown. */
  bar: number;
}

export interface ListModel {
  title: string;
  filters: Filters;
  rows: readonly ListRow[];
  columns: readonly ListColumn[];
  total: number;
  /** False where the total is an estimate. */
  totalIsExact: boolean;
  /** Numbers of the first and last row shown. */
  first: number;
  last: number;
  slowestMs: number;
  pages: { newer: string | null; older: string | null; current: number; count: number };
  /** Address of this list as it is. */
  permanent: string;
  json: string;
  views: readonly { title: string; href: string; current: boolean }[];
  filtered: boolean;
  notice: string | null;
  foot: readonly string[];
}

const COLUMNS: readonly [name: string, title: string, sort: string | null, numeric: boolean][] = [
  ['c-st', 'Status', 'status', false],
  ['c-me', 'Method', 'method', false],
  ['url', 'URL', 'url', false],
  ['c-rt', 'Route', null, false],
  ['c-du', 'Time', 'time', true],
  ['c-ba', '', null, false],
  ['c-qu', 'Queries', 'queries', true],
  ['c-at', 'At, UTC', 'at', true],
  ['c-pr', 'Process', null, false],
  ['c-to', 'Token', null, false],
];
const SLOW_MS = 1000;
/** What narrows nothing. */
const PRESENTATION = new Set<string>(['sort', 'order', 'limit', 'page']);

function columnsOf({ values }: Filters): ListColumn[] {
  const sorted = values.sort?.toLowerCase() ?? 'at';
  const descending = (values.order?.toLowerCase() ?? 'desc') === 'desc';
  return COLUMNS.map(([name, title, sort, numeric]) => {
    const current = sort !== null && sort === sorted;
    const order = current && descending ? 'asc' : 'desc';
    return {
      name,
      title,
      numeric,
      href: sort === null ? null : urls.search(withFilters(values, { sort, order, page: undefined })),
      direction: current ? (descending ? 'descending' : 'ascending') : null,
    };
  });
}

function viewsOf({ values }: Filters): ListModel['views'] {
  const narrowing = Object.keys(values).filter((name) => !PRESENTATION.has(name)) as FilterName[];
  const only = (name: FilterName, value: string): boolean => narrowing.length === 1 && values[name] === value;
  const one = (title: string, name: FilterName, value: string): ListModel['views'][number] => ({
    title,
    href: urls.search({ [name]: value }),
    current: only(name, value),
  });
  return [
    { title: 'All', href: urls.home(), current: narrowing.length === 0 },
    one('Errors', 'has', 'error'),
    one('4xx', 'status', '4xx'),
    one('5xx', 'status', '5xx'),
    one('Over 1 s', 'over', String(SLOW_MS)),
    one('The profiler’s own', 'kind', 'profiler'),
  ];
}

export function createListModel(options: {
  filters: Filters;
  found: FoundProfiles;
  children: ReadonlyMap<string, readonly ProfileIndex[]>;
  foot: readonly string[];
}): ListModel {
  const { filters, found, children, foot } = options;
  const { values, page, query } = filters;
  const slowestMs = Math.max(0, ...found.rows.map(({ durationMs }) => durationMs ?? 0));
  const count = Math.max(1, Math.ceil(found.total / query.limit));
  const pageAddress = (number: number): string =>
    urls.search(withFilters(values, { page: number === 1 ? undefined : String(number) }));
  return {
    title: 'Requests',
    filters,
    rows: found.rows.map((profile) => ({
      profile,
      children: children.get(profile.token) ?? [],
      bar: slowestMs === 0 ? 0 : Math.sqrt((profile.durationMs ?? 0) / slowestMs),
    })),
    columns: columnsOf(filters),
    total: found.total,
    totalIsExact: found.totalIsExact,
    first: found.rows.length === 0 ? 0 : query.offset + 1,
    last: query.offset + found.rows.length,
    slowestMs,
    pages: {
      newer: page > 1 ? pageAddress(Math.min(page - 1, count)) : null,
      older: page < count ? pageAddress(page + 1) : null,
      current: page,
      count,
    },
    permanent: urls.search(withFilters(values, {})),
    json: urls.searchJson(withFilters(values, {})),
    views: viewsOf(filters),
    filtered: Object.keys(values).some((name) => !PRESENTATION.has(name)),
    notice: found.notice,
    foot,
  };
}
