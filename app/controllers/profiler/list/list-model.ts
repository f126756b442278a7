/** Reads what the list shows -> its view model: visits with folded rows, columns with sort links, pages. */
import { isAsset } from '../../../profiler/store/query-rows.ts';
import { COLUMN_ENTRIES, type ProfileIndex } from '../../../profiler/store/profile-index.ts';
import type { FoundProfiles, Profiles } from '../../../profiler/read/profiles.ts';
import { type ProfileQuery, MOST_COUNTED } from '../../../profiler/store/storage.ts';
import { addTo } from '../../../profiler/group-by.ts';
import type { PageServices } from '../page-services.ts';
import { urls } from '../../../urls.ts';
import { numberHelpers } from '../../../view-helpers/numbers.ts';
import {
  type Filters,
  isNewestFirst,
  isPresentation,
  type readValidFilters,
  withFilters,
  readFilters,
} from './filters.ts';
import { explainWords, type FilterValues, writeTypedFilters, type FilterName } from './typed-filters.ts';
import { createHistogram, histogramQuery } from './request-histogram.ts';
import { foldVisits, MOST_ALIKE, MOST_CALLS, unfolded, type Visit } from './visits.ts';

interface SavedView {
  title: string;
  values: FilterValues;
  counted: boolean;
}

const VIEWS: readonly SavedView[] = [
  { title: 'All', values: {}, counted: true },
  { title: 'Errors', values: { has: 'error' }, counted: true },
  { title: '5xx', values: { status: '5xx' }, counted: true },
  { title: '4xx', values: { status: '4xx' }, counted: true },
  { title: 'Over 1 s', values: { over: '1000' }, counted: true },
  { title: 'N+1', values: { has: 'n+1' }, counted: true },
  { title: 'Pinned', values: { has: 'pin' }, counted: true },
  { title: 'Summaries', values: { has: 'summary' }, counted: true },
  { title: 'Jobs', values: { kind: 'job' }, counted: false },
  { title: 'Profiler’s own pages', values: { kind: 'profiler' }, counted: false },
];

const queryOf = ({ values }: SavedView): ProfileQuery =>
  readFilters(new URLSearchParams(values as Record<string, string>)).query;

function isCurrent(view: FilterValues, values: FilterValues): boolean {
  const narrowing = (Object.keys(values) as FilterName[]).filter((name) => !isPresentation(name));
  const names = Object.keys(view) as FilterName[];
  return (
    narrowing.length === names.length && names.every((name) => values[name]?.toLowerCase() === view[name])
  );
}

function createViews(values: FilterValues, counts: readonly (number | null)[]) {
  const left = [...counts];
  return VIEWS.map((view) => {
    const count = view.counted ? (left.shift() ?? null) : null;
    return {
      title: view.title,
      href: Object.keys(view.values).length === 0 ? urls.home() : urls.search(view.values),
      current: isCurrent(view.values, values),
      count: count === null ? null : { number: Math.min(count, MOST_COUNTED), more: count > MOST_COUNTED },
    };
  });
}

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
      href: canSort ? urls.search(withFilters(values, { sort, order, page: undefined })) : null,
      direction: current ? (descending ? 'descending' : 'ascending') : null,
    };
  });
}

function counted(number: number, one: string, many: string): string[] {
  return number === 0 ? [] : [number === 1 ? one : `${numberHelpers.count(number)} ${many}`];
}

const CHILD_WINDOW = 60_000;
const MOST_CHILDREN = 1000;
const FIRST_READ = 100;
const MOST_READ = 5000;

async function findChildren(
  profiles: Profiles,
  parents: readonly ProfileIndex[],
  query: Partial<ProfileQuery>,
): Promise<Map<string, ProfileIndex[]>> {
  const byParent = new Map<string, ProfileIndex[]>();
  if (parents.length === 0) return byParent;
  const tokens = new Set(parents.map(({ token }) => token));
  const { rows: children } = await profiles.find({
    ...query,
    from: Math.min(...parents.map(({ startedAt }) => startedAt)),
    until:
      Math.max(...parents.map(({ startedAt, durationMs }) => startedAt + (durationMs ?? 0))) + CHILD_WINDOW,
    descending: false,
    counted: false,
    limit: MOST_CHILDREN,
  });
  for (const child of children)
    if (child.parent !== null && tokens.has(child.parent)) addTo(byParent, child.parent, child);
  return byParent;
}

/** A page of the list. Polled requests take one row, so more requests are read if they would fill the page. */
async function findVisits(
  profiles: Profiles,
  filters: Filters,
): Promise<FoundProfiles & { visits: readonly Visit[] }> {
  const { query } = filters;
  let asked = isNewestFirst(filters) ? Math.max(FIRST_READ, 4 * query.limit) : query.limit;
  const found = await profiles.find({ ...query, limit: asked });
  if (query.text !== undefined) return { ...found, visits: foldVisits(found.rows).visits };
  if (!isNewestFirst(filters)) return { ...found, visits: unfolded(found.rows) };
  let { rows } = found;
  let page = foldVisits(rows, query.limit);
  while (page.rows === rows.length && rows.length >= asked && rows.length < MOST_READ) {
    const limit = Math.min(9 * rows.length, MOST_READ - rows.length);
    const more = await profiles.find({
      ...query,
      offset: query.offset + rows.length,
      limit,
      counted: false,
    });
    rows = [...rows, ...more.rows];
    asked += limit;
    page = foldVisits(rows, query.limit);
  }
  return { ...found, rows: rows.slice(0, page.rows), visits: page.visits };
}

interface Below {
  errorPages: ReadonlyMap<string, readonly ProfileIndex[]>;
  failedWork: ReadonlyMap<string, readonly ProfileIndex[]>;
}

function entriesOf(
  { values }: Filters,
  found: FoundProfiles & { visits: readonly Visit[] },
  { errorPages, failedWork }: Below,
) {
  const slowestMs = Math.max(0, ...found.rows.map(({ durationMs }) => durationMs ?? 0));
  const pinned = new Set(found.pinned);
  const rowOf = (profile: ProfileIndex) => ({
    profile,
    bar: slowestMs === 0 ? 0 : Math.sqrt((profile.durationMs ?? 0) / slowestMs),
    pinned: pinned.has(profile.token),
    failed: failedWork.get(profile.token)?.[0] ?? null,
    place: found.looked?.found[profile.token] ?? null,
  });
  const pagesOf = (profile: ProfileIndex): readonly ProfileIndex[] => errorPages.get(profile.token) ?? [];
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
      folded: folded.map(rowOf),
      label: label.length === 0 ? null : label.join(', '),
      callsLeft:
        calls.length <= MOST_CALLS || calls[0]?.traceId === null
          ? null
          : {
              count: calls.length - MOST_CALLS,
              href: urls.search({ trace: calls[0]?.traceId ?? '', ...ALL_OLDEST_FIRST }),
            },
      alike:
        oldest === undefined
          ? null
          : {
              from: oldest.startedAt,
              until: head.startedAt,
              more: alike.length - listed.length,
              href: urls.search(withFilters(values, { ...sameAs(head), ...ALL_OLDEST_FIRST })),
            },
    };
  }
  return found.visits.map(entryOf);
}

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

export async function readListModel(
  { profiles, panels, forms, recording }: PageServices,
  { filters, wrong }: ReturnType<typeof readValidFilters>,
) {
  const found = await findVisits(profiles, filters);
  const drawn = histogramQuery(filters.query, found.rows, Date.now());
  const [errorPages, failedWork, { counts, histogram }, csrf] = await Promise.all([
    findChildren(
      profiles,
      found.rows.filter(({ child }) => child !== null),
      { kinds: ['error_page'] },
    ),
    findChildren(profiles, found.rows, { kinds: ['job', 'command'], hasError: true }),
    profiles.countsAndHistogram({
      counts: VIEWS.filter(({ counted }) => counted).map(queryOf),
      ...(drawn === undefined ? {} : { histogram: drawn }),
    }),
    forms.sign(),
    recording.refresh(),
  ]);
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
    shown,
    wrong,
    /** Words that look like filters and are none, a sentence each; for a list without rows. */
    misread: found.rows.length === 0 ? explainWords(values.q ?? '') : [],
    typed: writeTypedFilters(shown),
    entries: entriesOf(filters, found, { errorPages, failedWork }),
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
    live: given.length === 0 ? liveOf(filters) : null,
    views: createViews(values, counts),
    histogram: drawn === undefined ? null : (createHistogram(drawn, histogram) ?? 'too many'),
    looked: found.looked ?? null,
    /** The same search among the requests that were not searched; null if all were, or if there is a next page of matches. */
    searchOlder,
    processes: [...new Set(found.rows.map(({ process }) => process))].slice(0, 20),
    titles: Object.fromEntries(panels.map(({ name, title }) => [name, title])),
    pausedAt: recording.pausedAt(),
    csrf,
    filtered: Object.keys(values).some((name) => !isPresentation(name)),
    notice: found.notice,
    isAway: found.isAway,
  };
}
