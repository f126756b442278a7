/** The list as page, JSON or Markdown, the newest profile and the search form. */
import { TOKEN_PATTERN, urls } from '../../urls.ts';
import { addTo } from '../../profiler/group-by.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { ProfileQuery } from '../../profiler/storage.ts';
import type { FoundProfiles } from '../../profiler/profiles.ts';
import {
  type Filters,
  isNewestFirst,
  isTokenAlone,
  readFilters,
  readOne,
  readValidFilters,
  withFilters,
} from './filters.ts';
import { createAnswers, jsonForm } from './respond.ts';
import { listMarkdown } from './list-markdown.ts';
import { createListModel } from './list-model.ts';
import { viewQueries } from './list-views.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { createHistogram, histogramQuery } from './request-histogram.ts';
import { explainWords } from './typed-filters.ts';
import { foldVisits, unfolded, type Visit } from './visits.ts';

/** Error pages and work start at most this many milliseconds after the end of their request. */
const CHILD_WINDOW = 60_000;
const MOST_CHILDREN = 1000;
/** Rows read for one page: at least, so that polling is seen, and at most. */
const FIRST_READ = 100;
const MOST_READ = 5000;

export function createListController(
  services: PageServices,
): Record<'home' | 'search' | 'searchJson' | 'searchMarkdown' | 'latest' | 'searchBar', PageAction> {
  const { profiles, recording, forms } = services;
  const { html, json, markdown, redirect } = createAnswers(services);
  const titles = Object.fromEntries(services.panels.map(({ name, title }) => [name, title]));
  const filtersOf = ({ query }: PageRequest): Filters => readFilters(query);

  /** Profiles whose parent is one of the rows, by its token: one query for the whole list. */
  async function findChildren(
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
      sort: 'startedAt',
      descending: false,
      counted: false,
      limit: MOST_CHILDREN,
      offset: 0,
    });
    for (const child of children)
      if (child.parent !== null && tokens.has(child.parent)) addTo(byParent, child.parent, child);
    return byParent;
  }

  /** A page of the list. Polled requests take one row, so more requests are read if they would fill the page. */
  async function findVisits(filters: Filters): Promise<FoundProfiles & { visits: readonly Visit[] }> {
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

  /** With invalid filters, what is valid is shown all the same, and the form says what is wrong. */
  async function list(
    page: PageRequest,
    { filters, wrong }: ReturnType<typeof readValidFilters>,
  ): Promise<void> {
    const found = await findVisits(filters);
    const histogram = histogramQuery(filters.query, found.rows, Date.now());
    const [children, failedWork, counted, csrf] = await Promise.all([
      findChildren(
        found.rows.filter(({ child }) => child !== null),
        { kinds: ['error_page'] },
      ),
      findChildren(found.rows, { kinds: ['job', 'command'], hasError: true }),
      profiles.countsAndHistogram({
        counts: viewQueries(),
        ...(histogram === undefined ? {} : { histogram }),
      }),
      forms.sign(),
      recording.refresh(),
    ]);
    const model = createListModel({
      filters,
      wrong,
      found,
      visits: found.visits,
      children,
      failedWork,
      counts: counted.counts,
      histogram:
        histogram === undefined ? null : (createHistogram(histogram, counted.histogram) ?? 'too many'),
      titles,
      pausedAt: recording.pausedAt(),
      csrf,
    });
    const status = Object.keys(wrong).length === 0 ? 200 : 400;
    html(page, 'profiler/list', model, status);
  }

  async function requestedToken(filters: Filters): Promise<string | null> {
    const { token, q } = filters.values;
    if (isTokenAlone(filters) && TOKEN_PATTERN.test(token?.toLowerCase() ?? ''))
      return token?.toLowerCase() ?? null;
    const typed = q?.toLowerCase() ?? '';
    if (!TOKEN_PATTERN.test(typed)) return null;
    return (await profiles.read(typed)) === null ? null : typed;
  }

  return {
    home: (page) => list(page, readValidFilters(page.query)),
    async search(page) {
      const read = readValidFilters(page.query);
      const token = Object.keys(read.wrong).length === 0 ? await requestedToken(read.filters) : null;
      if (token === null) await list(page, read);
      else redirect(page, urls.profile(token));
    },
    async searchJson(page) {
      const { query, values, page: number } = filtersOf(page);
      const { rows, total, totalIsExact, notice, pinned = [], looked = null } = await profiles.find(query);
      const body = jsonForm('list', {
        total,
        totalIsExact,
        page: number,
        limit: query.limit,
        filters: values,
        notice,
        misread: rows.length === 0 ? explainWords(values.q ?? '') : [],
        profiles: rows,
        pinned,
        looked,
      });
      json(page, body);
    },
    async searchMarkdown(page) {
      const filters = filtersOf(page);
      const body = listMarkdown(filters, await profiles.find(filters.query));
      markdown(page, body);
    },
    async latest(page) {
      const panel = readOne(page.query, 'panel') ?? undefined;
      const filters = filtersOf(page);
      const { rows } = await profiles.find({
        ...filters.query,
        sort: 'startedAt',
        descending: true,
        limit: 1,
        offset: 0,
      });
      const newest = rows[0];
      const location =
        newest === undefined
          ? urls.search(withFilters(filters.values, { page: undefined }))
          : urls.profile(newest.token, panel);
      redirect(page, location);
    },
    searchBar(page) {
      readOne(page.query, 'panel');
      html(page, 'profiler/search-bar', { values: filtersOf(page).values });
    },
  };
}
