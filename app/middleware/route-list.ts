/** The shape of Express 5's routers that we rely on, and how their layers are written as patterns. */

export interface RouteLike {
  stack: readonly { method?: string; name?: string }[];
  methods: Readonly<Record<string, boolean>>;
  _methods: (all?: boolean) => string[];
}

export interface LayerLike {
  /** As passed to `use`, `get` …; absent before router 2.3. */
  rawPath?: unknown;
  route?: RouteLike | undefined;
  handle: { stack?: readonly LayerLike[] } & ((...values: never[]) => unknown);
  match: (path: string) => false | { path: string; pattern?: unknown };
}

/** An Express application, or anything else with a router and mounts. */
export interface AppLike {
  router: { stack: readonly LayerLike[] };
  use: (...values: never[]) => unknown;
}

/** One method of one route. */
export interface RouteEntry {
  /** `*`: any. */
  method: string;
  /** With its mounts, such as `/api/orders/:id`; a regular expression as written. */
  pattern: string;
  /** Name of the last handler; null if it has none. */
  handler: string | null;
  /** `file:line`, where known. */
  source: string | null;
}

function printPath(path: unknown): string {
  if (typeof path === 'string') return path === '/' ? '' : path.replace(/\/$/, '');
  return path instanceof RegExp ? path.toString() : '';
}

/** Patterns of a layer below each of its mounts; `only` picks the one that matched. */
export function listLayer(
  layer: LayerLike,
  mounts: readonly string[],
  only: unknown = layer.rawPath,
): string[] {
  const paths: unknown[] = Array.isArray(only) ? only : [only];
  const isRoute = layer.route !== undefined;
  return mounts.flatMap((mount) =>
    paths.map((path) => {
      if (!isRoute) return mount + printPath(path);
      const own = typeof path === 'string' ? path : printPath(path);
      return mount + (own === '/' && mount !== '' ? '' : own);
    }),
  );
}

/** Methods in declared order; HEAD only where declared, `*` for all. */
export function declaredMethods({ methods }: RouteLike): string[] {
  return Object.keys(methods).map((name) => (name === '_all' ? '*' : name.toUpperCase()));
}

/** Name of the last handler of a method; null if it has none. */
export function handlerName({ stack }: RouteLike, method: string): string | null {
  const layer = stack.findLast((item) => item.method === undefined || item.method === method.toLowerCase());
  const name = layer?.name ?? '';
  return name === '' || name === '<anonymous>' || name === 'anonymous' ? null : name;
}

/** An entry for each method and pattern of a route. */
export function allMethods(
  route: RouteLike,
  patterns: readonly string[],
  source: string | null = null,
): RouteEntry[] {
  return patterns.flatMap((pattern) =>
    declaredMethods(route).map((method) => ({
      method,
      pattern,
      handler: handlerName(route, method),
      source,
    })),
  );
}
