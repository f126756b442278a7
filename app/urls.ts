/** Every URL of the profiler as a function; the only place where a path is spelled. All are origin-relative. */

export const PROFILER_PREFIX = '/_profiler';

/** A token: 6 lower-case hexadecimal digits. No route name below the prefix may look like one. */
export const TOKEN_PATTERN = /^[0-9a-f]{6}$/;
const TOKEN_IN = /(?:^|\/)([0-9a-f]{6})(?=$|[/?#.])/i;

/** A token as people paste it: in capitals, or in the address of its profile; null if there is none. */
export function tokenIn(text: string): string | null {
  return TOKEN_IN.exec(text.trim())?.[1]?.toLowerCase() ?? null;
}

/** Sent with each request of the toolbar: they are recorded separately, and if one is refused, no browser asks for a password. */
export const TOOLBAR_HEADER = 'x-hindsight-toolbar';

function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.append(name, String(value));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

function panelQuery(panel: string | undefined): string {
  return panel === undefined ? '' : withQuery('', { panel });
}

export const urls = {
  home: () => `${PROFILER_PREFIX}/`,
  search: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/search`, query),
  searchJson: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/search.json`, query),
  searchMarkdown: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/search.md`, query),
  searchBar: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/search_bar`, query),
  live: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/live`, query),
  latest: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/latest`, query),
  profile: (token: string, panel?: string, anchor?: string) =>
    `${PROFILER_PREFIX}/${token}${panelQuery(panel)}${anchor === undefined ? '' : `#${anchor}`}`,
  /** A row of a panel, on whichever page of it. */
  profileRow: (token: string, panel: string, row: string) =>
    `${withQuery(`${PROFILER_PREFIX}/${token}`, { panel, open: row })}#${row}`,
  /** Of one panel, or of all. */
  profileJson: (token: string, panel?: string) => `${PROFILER_PREFIX}/${token}.json${panelQuery(panel)}`,
  /** All of it in one file that opens without a server. */
  profileFile: (token: string) => `${PROFILER_PREFIX}/${token}.html`,
  profileHar: (token: string) => `${PROFILER_PREFIX}/${token}.har`,
  /** For Chrome DevTools and VS Code. */
  profileCpu: (token: string) => `${PROFILER_PREFIX}/${token}.cpuprofile`,
  profileOtlp: (token: string) => `${PROFILER_PREFIX}/${token}.otlp.json`,
  profileMarkdown: (token: string, panel?: string) => `${PROFILER_PREFIX}/${token}.md${panelQuery(panel)}`,
  /** `place`: the key of a place that the profile holds. */
  source: (token: string, place: string) => `${PROFILER_PREFIX}/${token}/source/${place}`,
  /** The HTML of a mail; `id`: of its row. */
  mail: (token: string, id: string) => `${PROFILER_PREFIX}/${token}/mail/${id}`,
  newer: (token: string, panel?: string) => `${PROFILER_PREFIX}/${token}/newer${panelQuery(panel)}`,
  older: (token: string, panel?: string) => `${PROFILER_PREFIX}/${token}/older${panelQuery(panel)}`,
  /** Where coding agents ask, by the Model Context Protocol. */
  mcp: () => `${PROFILER_PREFIX}/mcp`,
  exception: (token: string) => `${PROFILER_PREFIX}/${token}/exception`,
  exceptionCss: (token: string) => `${PROFILER_PREFIX}/${token}/exception.css`,
  toolbar: (token: string) => `${PROFILER_PREFIX}/${token}/toolbar`,
  /** What the bar shows of one request. */
  toolbarJson: (token: string) => `${PROFILER_PREFIX}/${token}/toolbar.json`,
  /** The calls that a page made, without the rest. */
  callsJson: (token: string) => `${PROFILER_PREFIX}/${token}/calls.json`,
  /** The calls of a front end of another origin, which has no page of ours. */
  originCalls: () => `${PROFILER_PREFIX}/calls.json`,
  /** The bar's one script; with the hash of its content, for good. */
  toolbarScript: (hash?: string) => `${PROFILER_PREFIX}/toolbar.js${hash === undefined ? '' : `?v=${hash}`}`,
  routes: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/routes`, query),
  routesJson: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/routes.json`, query),
  compare: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/compare`, query),
  compareJson: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/compare.json`, query),
  compareMarkdown: (query: Record<string, string | number | undefined> = {}) =>
    withQuery(`${PROFILER_PREFIX}/compare.md`, query),
  health: () => `${PROFILER_PREFIX}/health`,
  healthJson: () => `${PROFILER_PREFIX}/health.json`,
  asset: (file: string) => `${PROFILER_PREFIX}/assets/${file}`,
  action: (name: string) => `${PROFILER_PREFIX}/-/${name}`,
} as const;

/** True for a path (without query) that belongs to the profiler itself. */
function isProfilerPath(path: string): boolean {
  return path === PROFILER_PREFIX || path.startsWith(`${PROFILER_PREFIX}/`);
}

/** The same for a request target: with its query, and perhaps in absolute form. */
export function isProfilerTarget(target: string): boolean {
  if (target.startsWith('/') && !target.startsWith(PROFILER_PREFIX)) return false;
  const end = target.search(/[?#]/);
  const path = end === -1 ? target : target.slice(0, end);
  return isProfilerPath(path.startsWith('/') ? path : path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, ''));
}

/** One of the toolbar's own requests: with its header, or its report, which `sendBeacon` sends without one. */
export function isToolbarRequest({
  url,
  headers,
}: {
  url?: string | undefined;
  headers: Readonly<Record<string, unknown>>;
}): boolean {
  return headers[TOOLBAR_HEADER] !== undefined || url === urls.action('report');
}
