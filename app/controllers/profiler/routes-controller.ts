/** All routes by cost, or one of them, as page, JSON or Markdown. */
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { RouteGroup, RouteSummaries } from '../../profiler/route-summary.ts';
import type { ProfileQuery } from '../../profiler/storage.ts';
import { jsonForm } from './json-form.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { createRespond, HTML, JSON_TYPE, MARKDOWN_TYPE } from './respond.ts';
import { createRouteModel, type RouteRequests } from './route-model.ts';
import { readRoutesFilters, type RoutesFilters, summaryQuery } from './routes-filters.ts';
import { routesMarkdown } from './routes-markdown.ts';
import { createRoutesModel, EMPTY } from './routes-model.ts';
import { messageOf } from '../../errors.ts';

/** Slowest and newest requests shown for a route. */
const SHOWN = 8;
/** Requests read to find those without a route. */
const CANDIDATES = 50;

export function createRoutesController(
  services: PageServices,
): Record<'routes' | 'routesJson' | 'routesMarkdown', PageAction> {
  const { profiles, renderPage, foot } = services;
  const respond = createRespond(services);

  const filtersOf = ({ query }: PageRequest): RoutesFilters => readRoutesFilters(query);

  /** A failed summary is a notice on the page, not an error page. */
  async function summarize(
    filters: RoutesFilters,
  ): Promise<{ summaries: RouteSummaries; notice: string | null }> {
    try {
      const { notice, ...summaries } = await profiles.summarize(summaryQuery(filters, Date.now()));
      return { summaries, notice };
    } catch (error) {
      return { summaries: EMPTY, notice: messageOf(error) };
    }
  }

  async function requestsOf(
    { route, method, status }: RouteGroup,
    query: Pick<ProfileQuery, 'from' | 'until' | 'sort'>,
  ): Promise<ProfileIndex[]> {
    const exact = status === null ? {} : { status: [{ from: status, to: status }] };
    const filter = route === null ? exact : { route, ...(method === '' ? {} : { method }) };
    const limit = route === null ? CANDIDATES : SHOWN;
    const { rows } = await profiles.find({ ...query, ...filter, descending: true, limit, offset: 0 });
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

  async function showOne(page: PageRequest, filters: RoutesFilters & { group: RouteGroup }): Promise<void> {
    const { summaries, notice } = await summarize(filters);
    const requests = await endsOf(filters.group, summaries);
    const model = createRouteModel({ filters, summaries, ...requests, notice, foot });
    respond(page, { type: HTML, body: renderPage('profiler/route', model) });
  }

  return {
    async routes(page) {
      const filters = filtersOf(page);
      const { group } = filters;
      if (group !== null) {
        await showOne(page, { ...filters, group });
        return;
      }
      const model = createRoutesModel({ filters, ...(await summarize(filters)), foot });
      respond(page, { type: HTML, body: renderPage('profiler/routes', model) });
    },
    async routesJson(page) {
      const filters = filtersOf(page);
      const { summaries, notice } = await summarize(filters);
      const body = jsonForm('routes', { since: filters.period.name, notice, ...summaries });
      respond(page, { type: JSON_TYPE, body });
    },
    async routesMarkdown(page) {
      const filters = filtersOf(page);
      const { group } = filters;
      const { summaries, notice } = await summarize(filters);
      const requests = group === null ? undefined : await endsOf(group, summaries);
      const body = routesMarkdown({ filters, summaries, notice, requests });
      respond(page, { type: MARKDOWN_TYPE, body });
    },
  };
}
