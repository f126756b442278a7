/** All routes by cost, or one of them, as page, JSON or Markdown. */
import type { ProfileIndex } from '../../../profiler/store/profile-index.ts';
import type { RouteGroup, RouteSummaries } from '../../../profiler/store/route-summary.ts';
import type { ProfileQuery } from '../../../profiler/store/storage.ts';
import { createAnswers, type Forms, jsonForm } from '../respond.ts';
import type { PageRequest, PageServices } from '../page-services.ts';
import { createRouteModel, type RouteRequests } from './route-model.ts';
import { readRoutesFilters, summaryQuery } from './routes-filters.ts';
import { routesMarkdown } from './routes-markdown.ts';
import { createRoutesModel, EMPTY, type ReadRoutes } from './routes-model.ts';
import { messageOf } from '../../../errors.ts';

const SHOWN = 8;
const CANDIDATES = 50;

export function createRoutesController(services: PageServices): { routes: Forms } {
  const { profiles } = services;
  const { html, inForms } = createAnswers(services);

  async function read({ query }: PageRequest): Promise<ReadRoutes> {
    const filters = readRoutesFilters(query);
    try {
      const { notice, ...summaries } = await profiles.summarize(summaryQuery(filters, Date.now()));
      return { filters, summaries, notice };
    } catch (error) {
      return { filters, summaries: EMPTY, notice: messageOf(error) };
    }
  }

  async function requestsOf(
    { route, method, status }: RouteGroup,
    query: Pick<ProfileQuery, 'from' | 'until' | 'sort'>,
  ): Promise<ProfileIndex[]> {
    const exact = status === null ? {} : { status: [{ from: status, to: status }] };
    const filter = route === null ? exact : { route, ...(method === '' ? {} : { method }) };
    const limit = route === null ? CANDIDATES : SHOWN;
    const { rows } = await profiles.find({ ...query, ...filter, descending: true, limit });
    return rows
      .filter((row) => row.route === route && (route !== null || row.status === status))
      .slice(0, SHOWN);
  }

  async function endsOf(group: RouteGroup, { routes, from, until }: RouteSummaries): Promise<RouteRequests> {
    if (routes.length === 0) return { slowest: [], newest: [] };
    const [slowest, newest] = await Promise.all([
      requestsOf(group, { from, until, sort: 'durationMs' }),
      requestsOf(group, { from, until, sort: 'startedAt' }),
    ]);
    return { slowest, newest };
  }

  return {
    routes: inForms(read, {
      async page(page, shown) {
        const { group } = shown.filters;
        if (group === null) await html(page, 'profiler/routes', createRoutesModel(shown));
        else
          await html(
            page,
            'profiler/route',
            createRouteModel(shown, group, await endsOf(group, shown.summaries)),
          );
      },
      json: ({ filters, summaries, notice }) =>
        jsonForm('routes', { since: filters.period.name, notice, ...summaries }),
      async markdown(shown) {
        const { group } = shown.filters;
        const requests = group === null ? undefined : await endsOf(group, shown.summaries);
        return routesMarkdown(shown, requests);
      },
    }),
  };
}
