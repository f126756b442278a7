/** The meaning of a query: which rows match, in which order, and which page of them. Every store and the running requests use it. */
import { isRelease } from '../release.ts';
import type { ProfileQuery } from './storage.ts';
import type { Row } from './store.ts';

function matchesStatus(status: number | null, ranges: NonNullable<ProfileQuery['status']>): boolean {
  return status !== null && ranges.some(({ from, to }) => status >= from && status <= to);
}

export function failed({ error, status }: Pick<Row, 'error' | 'status'>): boolean {
  return error !== null || (status ?? 0) >= 500;
}

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

type Filter<Name extends keyof ProfileQuery> = readonly [
  reads: readonly (keyof Row)[],
  matches: (row: Row, wanted: NonNullable<ProfileQuery[Name]>) => boolean,
];

type Filters = { [Name in Exclude<keyof ProfileQuery, BesideRow | 'kinds' | 'not'>]-?: Filter<Name> };

const FILTERS: Filters = {
  token: [['token'], (row, token) => row.token === token],
  parent: [['parent'], (row, parent) => row.parent === parent],
  clientAddress: [['clientAddress'], (row, address) => row.clientAddress === address],
  method: [['method'], (row, methods) => methods.toLowerCase().split(',').includes(row.method.toLowerCase())],
  status: [['status'], (row, status) => matchesStatus(row.status, status)],
  url: [['url'], (row, part) => row.url.toLowerCase().includes(part.toLowerCase())],
  from: [['startedAt'], (row, from) => row.startedAt >= from],
  until: [['startedAt'], (row, until) => row.startedAt < until],
  endsAfter: [
    ['startedAt', 'durationMs'],
    ({ startedAt, durationMs }, moment) => startedAt + (durationMs ?? Infinity) > moment,
  ],
  overMs: [['durationMs'], (row, overMs) => (row.durationMs ?? 0) > overMs],
  underMs: [['durationMs'], (row, underMs) => row.durationMs !== null && row.durationMs < underMs],
  minQueries: [['queries'], (row, least) => row.queries >= least],
  fewerQueries: [['queries'], (row, count) => row.queries < count],
  hasError: [['error', 'status'], (row, wanted) => failed(row) === wanted],
  isAsset: [['dest'], (row, wanted) => isAsset(row) === wanted],
  isFull: [['summary'], (row, wanted) => (row.summary === null) === wanted],
  hasFinding: [['findings'], ({ findings }, wanted) => findings !== null && findings > 0 === wanted],
  isLabelled: [['findings', 'state'], (row, wanted) => isUnlabelled(row) !== wanted],
  mark: [['marks'], hasMark],
  process: [['process'], (row, process) => row.process === process],
  release: [['release'], (row, release) => isRelease(row.release, release)],
  route: [['route'], (row, route) => row.route === route],
  traceId: [['traceId'], (row, traceId) => row.traceId === traceId],
};

const FILTER_ENTRIES = Object.entries(FILTERS) as [
  keyof Filters,
  readonly [reads: readonly (keyof Row)[], matches: (row: Row, wanted: unknown) => boolean],
][];

function matchesAll(query: Partial<ProfileQuery>): (row: Row) => boolean {
  const wanted = FILTER_ENTRIES.flatMap(([name, [, matches]]) => {
    const value = query[name];
    return value === undefined ? [] : [{ matches, value }];
  });
  const without = (query.not ?? []).map(matchesAll);
  return (row) =>
    wanted.every(({ matches, value }) => matches(row, value)) && !without.some((matches) => matches(row));
}

export function membersRead(query: Partial<ProfileQuery>): (keyof Row)[] {
  const members = FILTER_ENTRIES.flatMap(([name, [reads]]) => (query[name] === undefined ? [] : reads));
  return [...members, ...(query.not ?? []).flatMap(membersRead)];
}

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

export function isSummary({ summary }: Pick<Row, 'summary'>): boolean {
  return summary !== null;
}
