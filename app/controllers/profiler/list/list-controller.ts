/** The list as page, JSON or Markdown, the newest profile and the search form. */
import { TOKEN_PATTERN, urls } from '../../../urls.ts';
import {
  type Filters,
  isTokenAlone,
  readFilters,
  readOne,
  readValidFilters,
  withFilters,
} from './filters.ts';
import { createAnswers, jsonForm } from '../respond.ts';
import { listMarkdown } from './list-markdown.ts';
import { readListModel } from './list-model.ts';
import type { PageAction, PageRequest, PageServices } from '../page-services.ts';
import { explainWords } from './typed-filters.ts';

export function createListController(
  services: PageServices,
): Record<'home' | 'search' | 'searchJson' | 'searchMarkdown' | 'latest' | 'searchBar', PageAction> {
  const { profiles } = services;
  const { html, json, markdown, redirect } = createAnswers(services);
  const filtersOf = ({ query }: PageRequest): Filters => readFilters(query);

  /** With invalid filters, what is valid is shown all the same, and the form says what is wrong. */
  async function list(page: PageRequest, read: ReturnType<typeof readValidFilters>): Promise<void> {
    const model = await readListModel(services, read);
    await html(page, 'profiler/list', model, Object.keys(read.wrong).length === 0 ? 200 : 400);
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
      const newestFirst = { sort: 'startedAt', descending: true, limit: 1, offset: 0 } as const;
      const { rows } = await profiles.find({ ...filters.query, ...newestFirst });
      const newest = rows[0];
      const location =
        newest === undefined
          ? urls.search(withFilters(filters.values, { page: undefined }))
          : urls.profile(newest.token, panel);
      redirect(page, location);
    },
    async searchBar(page) {
      readOne(page.query, 'panel');
      await html(page, 'partials/search-form', { values: filtersOf(page).values });
    },
  };
}
