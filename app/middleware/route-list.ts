/** Routes of Express's routers, and how their layers are written as patterns. */
import { type Layer, pathOfRegexp } from '../profiler/record/express-routers.ts';
import type { Facts } from '../profiler/record/facts.ts';

export interface RouteLike {
  path?: unknown;
  stack: readonly { method?: string; name?: string }[];
  methods: Readonly<Record<string, boolean>>;
  _methods: (all?: boolean) => string[];
}

export interface LayerLike extends Layer {
  route?: RouteLike | undefined;
  handle: { name?: string };
}

export type RouteEntry = NonNullable<Facts['routing']['table']>[number];

function printPath(path: unknown): string {
  if (typeof path === 'string') return path === '/' ? '' : path.replace(/\/$/, '');
  return path instanceof RegExp ? path.toString() : '';
}

function pathOf({ rawPath, route, regexp, keys }: LayerLike): unknown {
  const given = rawPath ?? route?.path;
  return given === undefined && regexp instanceof RegExp ? pathOfRegexp(regexp, keys) : given;
}

export function listLayer(
  layer: LayerLike,
  mounts: readonly string[],
  only: unknown = pathOf(layer),
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

export function declaredMethods({ methods }: RouteLike): string[] {
  return Object.keys(methods).map((name) => (name === '_all' ? '*' : name.toUpperCase()));
}

export function handlerName({ stack }: RouteLike, method: string): string | null {
  const layer = stack.findLast((item) => item.method === undefined || item.method === method.toLowerCase());
  const name = layer?.name ?? '';
  return name === '' || name === '<anonymous>' || name === 'anonymous' ? null : name;
}

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
