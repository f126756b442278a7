/** Found rows -> the view model of the list: visits with folded rows, columns with sort links, pages. */
import { isAsset } from '../../profiler/query-rows.ts';
import { COLUMN_ENTRIES, type ProfileIndex } from '../../profiler/profile-index.ts';
import type { FoundProfiles } from '../../profiler/profiles.ts';
import type { CountsAndHistogram } from '../../profiler/storage.ts';
import { urls } from '../../urls.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { type Filters, isNewestFirst, isPresentation, type WrongFilters, withFilters } from './filters.ts';
import { explainWords, type FilterValues, writeTypedFilters } from './typed-filters.ts';
import { createViews } from './list-views.ts';
import type { createHistogram } from './request-histogram.ts';
import { MOST_ALIKE, MOST_CALLS, type Visit } from './visits.ts';

function columnsOf({ values, query }: Filters) {
  const sorted = query.text === undefined ? (values.sort?.toLowerCase() ?? 'at') : 'at';
  const descending = query.text !== undefined || (values.order?.toLowerCase() ?? 'desc') === 'desc';
  return COLUMN_ENTRIES.flatMap(([field, { list }]) => {
    if (list === undefined) return [];
    const { sort, ...cell } = list;
    const current = sort !== undefined && sort === sorted;
    const order = current && descending ? 'asc' : 'desc';
    // A text search lists the newest first.
    const canSort = sort !== undefined && query.text === undefined;
    return {
      ...cell,
      field,
      /** Address of the list sorted by it; null if it can't be sorted. */
      href: canSort ? urls.search(withFilters(values, { sort, order, page: undefined })) : null,
      direction: current ? (descending ? 'descending' : 'ascending') : null,
    };
  });
}

function counted(number: number, one: string, many: string): string[] {
  return number === 0 ? [] : [number === 1 ? one : `${numberHelpers.count(number)} ${many}`];
}

export interface ListModelOptions {
  filters: Filters;
  wrong: WrongFilters;
  found: FoundProfiles;
  visits: readonly Visit[];
  /** Error pages by the token of their request. */
  children: ReadonlyMap<string, readonly ProfileIndex[]>;
  /** Jobs, events and commands that failed, by the token of the request that started them. */
  failedWork: ReadonlyMap<string, readonly ProfileIndex[]>;
  counts: CountsAndHistogram['counts'];
  /** null: nothing to draw; `too many`: counting took too long. */
  histogram: ReturnType<typeof createHistogram> | 'too many';
  titles: Readonly<Record<string, string>>;
  /** Milliseconds since 1970; null: recording is on. */
  pausedAt: number | null;
  csrf: string;
}

function entriesOf({ filters, found, visits, children, failedWork }: ListModelOptions, slowestMs: number) {
  const pinned = new Set(found.pinned);
  const rowOf = (profile: ProfileIndex) => ({
    profile,
    /** Length of the bar, 0 to 1: the square root of its share of the slowest row. */
    bar: slowestMs === 0 ? 0 : Math.sqrt((profile.durationMs ?? 0) / slowestMs),
    pinned: pinned.has(profile.token),
    /** The first job, event or command that it started and that failed. */
    failed: failedWork.get(profile.token)?.[0] ?? null,
    place: found.looked?.found[profile.token] ?? null,
  });
  const pagesOf = (profile: ProfileIndex): readonly ProfileIndex[] => children.get(profile.token) ?? [];
  const withPages = (profile: ProfileIndex): ProfileIndex[] => [profile, ...pagesOf(profile)];

  function entryOf({ head, redirects, fetches, calls, alike }: Visit) {
    const listed = alike.slice(0, MOST_ALIKE);
    const folded = [
      ...pagesOf(head),
      ...[...redirects, ...fetches, ...calls.slice(0, MOST_CALLS), ...listed].flatMap(withPages),
    ];
    const oldest = alike.at(-1);
    const label = [
      ...counted(pagesOf(head).length, 'error page', 'error pages'),
      ...counted(redirects.length, '1 redirect', 'redirects'),
      ...counted(fetches.filter((row) => !isAsset(row)).length, '1 fetch', 'fetches'),
      ...counted(fetches.filter(isAsset).length, '1 asset', 'assets'),
      ...counted(calls.length, '1 call', 'calls'),
      ...counted(alike.length, '1 identical', 'identical'),
    ];
    return {
      ...rowOf(head),
      /** Error pages, redirects, fetches of the page, requests that it made itself, identical requests before it. */
      folded: folded.map(rowOf),
      /** `1 redirect, 3 fetches`; null if nothing is folded. */
      label: label.length === 0 ? null : label.join(', '),
      /** Requests that it made and that are not listed, and a list of all of its trace; null without any. */
      callsLeft:
        calls.length <= MOST_CALLS || calls[0]?.traceId === null
          ? null
          : {
              count: calls.length - MOST_CALLS,
              href: urls.search({ trace: calls[0]?.traceId ?? '', ...ALL_OLDEST_FIRST }),
            },
      /** When the first and the last of identical requests started, and a list of all of them; null without any. */
      alike:
        oldest === undefined
          ? null
          : {
              from: oldest.startedAt,
              until: head.startedAt,
              more: alike.length - listed.length,
              href: urls.search(withFilters(filters.values, { ...sameAs(head), ...ALL_OLDEST_FIRST })),
            },
    };
  }
  return visits.map(entryOf);
}

/** In this order nothing is folded. */
const ALL_OLDEST_FIRST = { sort: undefined, order: 'asc', page: undefined, skip: undefined };

function sameAs({ url, method, status }: ProfileIndex): Partial<Record<'url' | 'method' | 'status', string>> {
  return { url, method, ...(status === null ? {} : { status: String(status) }) };
}

function liveOf(filters: Filters): string | null {
  const { values, query } = filters;
  if (!isNewestFirst(filters) || query.offset > 0 || query.until !== undefined) return null;
  return urls.live(withFilters(values, {}));
}

interface Pages {
  older: string | null;
  newer?: string | null;
  newest?: string | null;
  number?: { current: number; count: number };
}

function numberedPages({ values, query, page }: Filters, { total }: FoundProfiles): Pages {
  const count = Math.max(1, Math.ceil(total / query.limit));
  const address = (number: number): string =>
    urls.search(withFilters(values, { page: number === 1 ? undefined : String(number) }));
  return {
    newer: page > 1 ? address(Math.min(page - 1, count)) : null,
    older: page < count ? address(page + 1) : null,
    number: { current: page, count },
  };
}

/** Pages of visits have no number: how many requests a visit folds is known once they are read. */
function olderSearch({ values }: Filters, last: number, { looked, total }: FoundProfiles): string | null {
  if (looked === undefined || looked.all || looked.oldest === null || last < total) return null;
  const until = new Date(looked.oldest).toISOString();
  return urls.search(withFilters(values, { until, page: undefined, skip: undefined }));
}

function visitPages({ values, query }: Filters, last: number, { total, totalIsExact }: FoundProfiles): Pages {
  const address = (skip?: string): string => urls.search(withFilters(values, { page: undefined, skip }));
  return {
    newest: query.offset > 0 ? address() : null,
    older: last < total || !totalIsExact ? address(String(last)) : null,
  };
}

export function createListModel(options: ListModelOptions) {
  const { filters, wrong, found, counts, histogram, titles, pausedAt, csrf } = options;
  const { values, query } = filters;
  const given = Object.entries(wrong).map(([name, filter]) => [name, filter.given]);
  const shown: FilterValues = { ...values, ...(Object.fromEntries(given) as FilterValues) };
  const slowestMs = Math.max(0, ...found.rows.map(({ durationMs }) => durationMs ?? 0));
  const last = query.offset + found.rows.length;
  const pages = isNewestFirst(filters) ? visitPages(filters, last, found) : numberedPages(filters, found);
  const searchOlder = olderSearch(filters, last, found);
  return {
    title: 'Requests',
    filters,
    /** What the form shows: the filters, and what was typed wrong. */
    shown,
    wrong,
    /** Words that look like filters and are none, a sentence each; for a list without rows. */
    misread: found.rows.length === 0 ? explainWords(values.q ?? '') : [],
    /** The filters as the search box takes them. */
    typed: writeTypedFilters(shown),
    entries: entriesOf(options, slowestMs),
    columns: columnsOf(filters),
    total: found.rows.length === 0 ? found.total : Math.max(found.total, last),
    totalIsExact: found.totalIsExact,
    first: found.rows.length === 0 ? 0 : query.offset + 1,
    last,
    slowestMs,
    pages: searchOlder === null ? pages : { ...pages, older: null },
    isLater: query.offset > 0,
    permanent: urls.search(withFilters(values, {})),
    json: urls.searchJson(withFilters(values, {})),
    /** Address of the event stream of new requests; null unless the newest come first. */
    live: given.length === 0 ? liveOf(filters) : null,
    views: createViews(values, counts),
    histogram,
    /** How many requests a text search read; null without one. */
    looked: found.looked ?? null,
    /** The same search among the requests that were not searched; null if all were, or if there is a next page of matches. */
    searchOlder,
    processes: [...new Set(found.rows.map(({ process }) => process))].slice(0, 20),
    titles,
    pausedAt,
    csrf,
    filtered: Object.keys(values).some((name) => !isPresentation(name)),
    notice: found.notice,
    isAway: found.isAway,
  };
}
