/**
 * The table of the profiler's own addresses: method, path, name -> action. Paths are spelled in app/urls.ts; here they
 * are matched, in order. `createPages` is what a host mounts.
 *
 * `/_profiler/-/<action>` is for what changes state (POST only, signed).
 */
import { byAccept, type Forms } from '../controllers/profiler/respond.ts';
import {
  createDispatch,
  type Dispatch,
  type DispatchOptions,
  type PageRoute,
} from '../controllers/profiler/dispatch.ts';
import type { ProfilerControllers } from '../controllers/profiler/index.ts';
import type { PageAction } from '../controllers/profiler/page-services.ts';
import { PROFILER_PREFIX, urls } from '../urls.ts';

const TOKEN = '(?<token>[0-9a-f]{6})';

/** `below` is what follows the prefix; a string of a regular expression. */
function get(name: string, below: string, action: PageRoute['action']): PageRoute {
  return { name, method: 'GET', path: new RegExp(`^${PROFILER_PREFIX}${below}$`), action };
}

function post(name: string, action: PageRoute['action']): PageRoute {
  return { name: `_profiler_${name}`, method: 'POST', path: new RegExp(`^${urls.action(name)}$`), action };
}

/** Also requested by front ends of other origins. */
function shared(route: PageRoute): PageRoute {
  return { ...route, shared: true };
}

/** A page whose address also gives JSON and Markdown, as `Accept` says. */
function inForms(name: string, below: string, forms: Forms): PageRoute[] {
  return [
    get(name, below, byAccept(forms)),
    get(`${name}_json`, `${below}\\.json`, forms.json),
    get(`${name}_markdown`, `${below}\\.md`, forms.markdown),
  ];
}

/** What changes state. */
const ACTIONS = [
  'pin', 'unpin', 'clear', 'cpu', 'full', 'pause', 'resume', 'replay', 'values', 'explain', 'report',
] as const; // prettier-ignore

export function createProfilerRoutes(controllers: ProfilerControllers): PageRoute[] {
  const { searchJson, searchMarkdown, json, markdown } = controllers;
  const list = (page: PageAction): PageAction =>
    byAccept({ page, json: searchJson, markdown: searchMarkdown });
  return [
    get('_profiler_home', '/', list(controllers.home)),
    get('_profiler_search', '/search', list(controllers.search)),
    get('_profiler_search_markdown', '/search\\.md', searchMarkdown),
    get('_profiler_search_bar', '/search_bar', controllers.searchBar),
    get('_profiler_live', '/live', controllers.live),
    get('_profiler_latest', '/latest', controllers.latest),
    get('_profiler_json', '/search\\.json', searchJson),
    get('_profiler_json', `/${TOKEN}\\.json`, json),
    get('_profiler_markdown', `/${TOKEN}\\.md`, markdown),
    get('_profiler_file', `/${TOKEN}\\.html`, controllers.file),
    get('_profiler_har', `/${TOKEN}\\.har`, controllers.har),
    get('_profiler_cpuprofile', `/${TOKEN}\\.cpuprofile`, controllers.cpuProfile),
    get('_profiler_otlp', `/${TOKEN}\\.otlp\\.json`, controllers.otlp),
    ...inForms('_profiler_routes', '/routes', controllers.routes),
    ...inForms('_profiler_health', '/health', controllers.health),
    ...inForms('_profiler_compare', '/compare', controllers.compare),
    get('_profiler_asset', '/assets/(?<file>[a-z0-9-]+\\.[0-9a-f]+\\.[a-z]+)', controllers.asset),
    shared({ ...get('_profiler_toolbar_script', '/toolbar\\.js', controllers.toolbarScript), open: true }),
    get('_profiler_source', `/${TOKEN}/source/(?<place>[0-9a-f]{12})`, controllers.source),
    get('_profiler_mail', `/${TOKEN}/mail/m(?<number>[1-9][0-9]{0,5})`, controllers.mail),
    get('_profiler_newer', `/${TOKEN}/newer`, controllers.newer),
    get('_profiler_older', `/${TOKEN}/older`, controllers.older),
    get('_profiler_toolbar', `/${TOKEN}/toolbar`, controllers.toolbar),
    shared(get('_profiler_toolbar_json', `/${TOKEN}/toolbar\\.json`, controllers.toolbarJson)),
    shared(get('_profiler_calls', `/${TOKEN}/calls\\.json`, controllers.callsJson)),
    shared(get('_profiler_origin_calls', '/calls\\.json', controllers.originCalls)),
    get('_profiler_exception', `/${TOKEN}/exception`, controllers.exception),
    get('_profiler_exception_css', `/${TOKEN}/exception\\.css`, controllers.exceptionCss),
    get('_profiler', `/${TOKEN}`, byAccept({ page: controllers.profile, json, markdown })),
    get('_profiler_no_token', '/(?<token>[0-9A-Fa-f]{5,7})', controllers.noToken),
    { name: '_profiler_mcp', method: 'POST', path: new RegExp(`^${urls.mcp()}$`), action: controllers.mcp },
    ...ACTIONS.map((name) => post(name, controllers[name])),
  ];
}

/** The middleware that answers everything below `/_profiler`. */
export function createPages(
  options: { controllers: ProfilerControllers } & Omit<DispatchOptions, 'routes'>,
): Dispatch {
  const { controllers, ...rest } = options;
  return createDispatch({ ...rest, routes: createProfilerRoutes(controllers) });
}
