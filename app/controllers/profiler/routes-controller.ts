/** All routes by cost, or one of them, as page or JSON. */
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { RouteGroup, RouteSummaries } from '../../profiler/route-summary.ts';
import type { ProfileQuery } from '../../profiler/storage.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { createRespond, HTML, JSON_TYPE } from './respond.ts';
import { createRouteModel } from './route-model.ts';
import { readRoutesFilters, type RoutesFilters, summaryQuery } from './routes-filters.ts';
import { createRoutesModel, EMPTY } from './routes-model.ts';

/** Version of the JSON form. */
const ROUTES_VERSION = 1;
/** Slowest and newest requests shown for a route. */
const SHOWN = 8;
/** Requests read to find those without a route. */
const CANDIDATES = 50;

export function createRoutesController(services: PageServices): Record<'routes' | 'routesJson', PageAction> {
  const { profiles, renderPage, foot } = services;
  const respond = createRespond(services);

  const filtersOf = ({ query }: PageRequest): RoutesFilters => readRoutesFilters(query);

  /** A failed summary is a notice on the page, not an error page. */
  async function summarize(
    filters: RoutesFilters,
  ): Promise<{ summaries: RouteSummaries; notice: string | null }> {
    try {
      return { summaries: await profiles.summarize(summaryQuery(filters, Date.now())), notice: null };
    } catch (error) {
      return { summaries: EMPTY, notice: error instanceof Error ? error.message : String(error) };
    }
  }

  async function requestsOf(
    { route, method, status }: RouteGroup,
    query: Pick<ProfileQuery, 'from' | 'until' | 'sort'>,
  ): Promise<ProfileIndex[]> {
    const filter =
      route === null ? (status === null ? {} : { status }) : { route, ...(method === '' ? {} : { method }) };
    const limit = route === null ? CANDIDATES : SHOWN;
    const { rows } = await profiles.find({ ...query, ...filter, descending: true, limit, offset: 0 });
    return rows
      .filter((row) => row.route === route && (route !== null || row.status === status))
      .slice(0, SHOWN);
  }

  async function showOne(page: PageRequest, filters: RoutesFilters & { group: RouteGroup }): Promise<void> {
    const { summaries, notice } = await summarize(filters);
    const { from, until } = summaries;
    const found = summaries.routes.length > 0;
    const ends = (sort: 'durationMs' | 'startedAt'): Promise<ProfileIndex[]> =>
      found ? requestsOf(filters.group, { from, until, sort }) : Promise.resolve([]);
    const [slowest, newest] = await Promise.all([ends('durationMs'), ends('startedAt')]);
    const model = createRouteModel({
      filters,
      summaries,
      slowest,
      newest,
      notice,
      foot,
    });
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
      const body = { version: ROUTES_VERSION, since: filters.period.name, notice, ...summaries };
      respond(page, { type: JSON_TYPE, body: JSON.stringify(body) });
    },
  };
}
