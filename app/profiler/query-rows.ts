/** The meaning of a query: which rows match, in which order, and which page of them. Every store and the running requests use it. */
import { isRelease } from './release.ts';
import type { ProfileQuery } from './storage.ts';
import type { Row } from './store.ts';

function matchesStatus(status: number | null, ranges: NonNullable<ProfileQuery['status']>): boolean {
  return status !== null && ranges.some(({ from, to }) => status >= from && status <= to);
}

/** Something was thrown, or the status is 5xx. */
export function failed({ error, status }: Pick<Row, 'error' | 'status'>): boolean {
  return error !== null || (status ?? 0) >= 500;
}

/** Nobody has asked yet what its findings are (labels.ts). */
export function isUnlabelled({ findings, state }: Pick<Row, 'findings' | 'state'>): boolean {
  return findings === null && state === 'final';
}

/** What the browser loads for a page besides its calls; `Sec-Fetch-Dest` names it. */
export const ASSETS: readonly string[] = [
  'audio',
  'font',
  'image',
  'manifest',
  'script',
  'style',
  'track',
  'video',
];

export function isAsset({ dest }: Pick<Row, 'dest'>): boolean {
  return dest !== null && ASSETS.includes(dest);
}

function hasMark({ marks }: Row, wanted: string): boolean {
  return marks.some(({ label }) => label.toLowerCase().includes(wanted.toLowerCase()));
}

/** Filters that are not in a row: the store checks pins and searches texts; the others say how to show the result. */
type BesideRow = 'pinned' | 'text' | 'sort' | 'descending' | 'counted' | 'limit' | 'offset';

type Filters = {
  [Name in Exclude<keyof ProfileQuery, BesideRow | 'kinds'>]-?: (
    row: Row,
    wanted: NonNullable<ProfileQuery[Name]>,
  ) => boolean;
};

const FILTERS: Filters = {
  token: (row, token) => row.token === token,
  parent: (row, parent) => row.parent === parent,
  clientAddress: (row, address) => row.clientAddress === address,
  method: (row, methods) => methods.toLowerCase().split(',').includes(row.method.toLowerCase()),
  status: (row, status) => matchesStatus(row.status, status),
  url: (row, part) => row.url.toLowerCase().includes(part.toLowerCase()),
  from: (row, from) => row.startedAt >= from,
  until: (row, until) => row.startedAt < until,
  endsAfter: ({ startedAt, durationMs }, moment) => startedAt + (durationMs ?? Infinity) > moment,
  overMs: (row, overMs) => (row.durationMs ?? 0) > overMs,
  underMs: (row, underMs) => row.durationMs !== null && row.durationMs < underMs,
  minQueries: (row, least) => row.queries >= least,
  fewerQueries: (row, count) => row.queries < count,
  hasError: (row, wanted) => failed(row) === wanted,
  isAsset: (row, wanted) => isAsset(row) === wanted,
  isFull: (row, wanted) => (row.summary === null) === wanted,
  hasFinding: ({ findings }, wanted) => findings !== null && findings > 0 === wanted,
  isLabelled: (row, wanted) => isUnlabelled(row) !== wanted,
  mark: hasMark,
  process: (row, process) => row.process === process,
  release: (row, release) => isRelease(row.release, release),
  route: (row, route) => row.route === route,
  traceId: (row, traceId) => row.traceId === traceId,
  not: (row, queries) => !queries.some((query) => matchesAll(query)(row)),
};

const FILTER_ENTRIES = Object.entries(FILTERS) as [keyof Filters, (row: Row, wanted: unknown) => boolean][];

function matchesAll(query: Partial<ProfileQuery>): (row: Row) => boolean {
  const wanted = FILTER_ENTRIES.flatMap(([name, matches]) => {
    const value = query[name];
    return value === undefined ? [] : [{ matches, value }];
  });
  return (row) => wanted.every(({ matches, value }) => matches(row, value));
}

/** Whether a query is about this kind of profile. */
export function isKindOf({ kinds = ['request'] }: Pick<ProfileQuery, 'kinds'>, kind: Row['kind']): boolean {
  return kinds.includes(kind);
}

/** A test for rows: all filters must match; an absent filter always does. */
export function matcherOf(query: ProfileQuery): (row: Row) => boolean {
  const matches = matchesAll(query);
  return (row) => isKindOf(query, row.kind) && matches(row);
}

export function compareNewest(a: Row, b: Row): number {
  return b.startedAt - a.startedAt || (a.token < b.token ? -1 : 1);
}

/** The order of a query. Empty values come last in both directions; equal values are newest first, so that pages do not overlap. */
export function orderOf({
  sort = 'startedAt',
  descending = true,
  text,
}: Pick<ProfileQuery, 'sort' | 'descending' | 'text'>): (a: Row, b: Row) => number {
  if (text !== undefined) return compareNewest;
  return (a, b) => {
    // Not as a list: this runs a million times for a large store.
    const left = a[sort];
    const right = b[sort];
    if (left === right) return compareNewest(a, b);
    if (left === null) return 1;
    if (right === null) return -1;
    return (left < right ? -1 : 1) * (descending ? -1 : 1);
  };
}

/** With more it is cheaper to sort all. */
const MOST_PICKED = 500;

/** The first of them in this order: a page needs a few of very many. */
export function firstOf<T>(items: readonly T[], count: number, compare: (a: T, b: T) => number): T[] {
  if (count > MOST_PICKED) return items.toSorted(compare).slice(0, count);
  const first: T[] = [];
  for (const item of items) {
    const last = first.at(-1);
    if (first.length === count && last !== undefined && compare(item, last) >= 0) continue;
    let [from, to] = [0, first.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = first[middle];
      if (other !== undefined && compare(item, other) < 0) to = middle;
      else from = middle + 1;
    }
    first.splice(from, 0, item);
    if (first.length > count) first.pop();
  }
  return first;
}

/** Only a summary was recorded. */
export function isSummary({ summary }: Pick<Row, 'summary'>): boolean {
  return summary !== null;
}
