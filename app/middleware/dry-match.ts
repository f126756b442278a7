/**
 * Matches a method and a path against the routers, without calling a handler: for 405 and Allow, the slash redirect, the routing
 * panel and a 404's nearest routes.
 */
import type { Express } from 'express';
import { matchLayer, routerOf, stackOf as stackOfRouter } from '../profiler/record/express-routers.ts';
import {
  allMethods,
  declaredMethods,
  handlerName,
  type LayerLike,
  listLayer,
  type RouteEntry,
  type RouteLike,
} from './route-list.ts';
import type { Facts } from '../profiler/record/facts.ts';

export interface MatchedRoute {
  methods: readonly string[];
  pattern: string;
}

export interface DryMatch {
  routes: readonly MatchedRoute[];
  /** What the first layer threw that could not be matched, such as for an invalid percent-encoding; else null. */
  fault: unknown;
}

type ConsideredLayer = NonNullable<Facts['routing']['considered']>[number];

export interface DryMatchOptions {
  sourceOf?: (layer: object) => string | null;
  applications: { watch(app: unknown): void; of(layer: object): unknown };
}

type Stack = readonly LayerLike[];

interface Mount {
  stack: Stack;
  path: string;
  pattern: string;
}

type Match = { taken: string | null; pattern?: unknown } | { taken: null; fault: unknown };

interface Tried {
  layer: LayerLike;
  match: Match;
  pattern: string;
  inner: Stack | null;
  depth: number;
}

function stackOfTarget(target: unknown): Stack | null {
  return (stackOfRouter(target) ?? stackOfRouter(routerOf(target))) as Stack | null;
}

function restAfter(path: string, taken: string): string | null {
  if (taken === '') return path;
  if (!path.startsWith(taken)) return null;
  const rest = path.slice(taken.length);
  if (rest !== '' && !rest.startsWith('/')) return null;
  return rest === '' ? '/' : rest;
}

function matchSafely(layer: LayerLike, path: string): Match {
  try {
    return matchLayer(layer, path) ?? { taken: null };
  } catch (fault) {
    return { taken: null, fault };
  }
}

function nameOf({ handle, route }: LayerLike, method: string): string {
  const name = route === undefined ? handle.name : handlerName(route, method);
  return name === null || name === undefined || name === '' ? '<anonymous>' : name;
}

export function answers({ methods }: Pick<MatchedRoute, 'methods'>, method: string): boolean {
  return methods.includes('*') || methods.includes(method) || (method === 'HEAD' && methods.includes('GET'));
}

/** Milliseconds for which a list of routes is reused: every request needs it, and it hardly changes. */
const LIST_FOR = 1000;

export function createDryMatcher(
  application: Express,
  { sourceOf = () => null, applications }: DryMatchOptions,
) {
  applications.watch(application);
  let listed: readonly RouteEntry[] = [];
  let listedAt = -Infinity;

  const rootStack = (): Stack => stackOfTarget(application) ?? [];

  function stackOf(layer: LayerLike): Stack | null {
    return stackOfTarget(applications.of(layer) ?? layer.handle);
  }

  function walk(
    stack: Stack,
    visit: (layer: LayerLike, mounts: readonly string[]) => void,
    mounts: readonly string[] = [''],
    above: readonly Stack[] = [],
  ): void {
    if (above.includes(stack)) return;
    for (const layer of stack) {
      visit(layer, mounts);
      const inner = layer.route === undefined ? stackOf(layer) : null;
      if (inner !== null) walk(inner, visit, listLayer(layer, mounts), [...above, stack]);
    }
  }

  function tryLayers(router: Mount, visit: (tried: Tried) => boolean, above: readonly Mount[] = []): boolean {
    const { stack, path } = router;
    if (above.some((mount) => mount.stack === stack && mount.path === path)) return false;
    for (const layer of stack) {
      const inner = layer.route === undefined ? stackOf(layer) : null;
      const match = matchSafely(layer, path);
      const [pattern = ''] = listLayer(
        layer,
        [router.pattern],
        'pattern' in match ? match.pattern : undefined,
      );
      if (visit({ layer, match, pattern, inner, depth: above.length })) return true;
      const rest = inner === null || match.taken === null ? null : restAfter(path, match.taken);
      if (inner === null || rest === null) continue;
      if (tryLayers({ stack: inner, path: rest, pattern }, visit, [...above, router])) return true;
    }
    return false;
  }

  function verdictOf({ layer, match, inner }: Tried, method: string): ConsideredLayer['verdict'] {
    if ('fault' in match) return 'unreadable';
    if (match.taken === null) return 'path';
    if (layer.route === undefined) return inner === null ? 'passed' : 'entered';
    return answers({ methods: declaredMethods(layer.route) }, method) ? 'matched' : 'method';
  }

  function silence(route: RouteLike): void {
    if (Object.hasOwn(route, '_methods')) return;
    const methods = route._methods.bind(route);
    // The automatic response calls it without an argument; route lists pass `true`.
    const listed: RouteLike['_methods'] = (all) => (all === true ? methods(true) : []);
    route._methods = listed;
  }

  return {
    match(path: string): DryMatch {
      const routes: MatchedRoute[] = [];
      let fault: unknown = null;
      tryLayers({ stack: rootStack(), path, pattern: '' }, ({ layer: { route }, match, pattern }) => {
        if ('fault' in match) fault ??= match.fault;
        if (match.taken !== null && route !== undefined)
          routes.push({ methods: declaredMethods(route), pattern });
        return false;
      });
      return { routes, fault: routes.length === 0 ? fault : null };
    },
    consider(method: string, path: string): ConsideredLayer[] {
      const considered: ConsideredLayer[] = [];
      tryLayers({ stack: rootStack(), path, pattern: '' }, (tried) => {
        const { layer, pattern, inner, depth } = tried;
        const verdict = verdictOf(tried, method);
        considered.push({
          kind: layer.route !== undefined ? 'route' : inner === null ? 'middleware' : 'router',
          name: nameOf(layer, method),
          pattern: pattern === '' ? '/' : pattern,
          methods: layer.route === undefined ? [] : declaredMethods(layer.route),
          verdict,
          depth,
          source: sourceOf(layer),
        });
        return verdict === 'matched';
      });
      return considered;
    },
    routes(): readonly RouteEntry[] {
      if (performance.now() - listedAt < LIST_FOR) return listed;
      const entries: RouteEntry[] = [];
      walk(rootStack(), (layer, mounts) => {
        if (layer.route !== undefined) {
          entries.push(...allMethods(layer.route, listLayer(layer, mounts), sourceOf(layer)));
        }
      });
      listed = entries;
      listedAt = performance.now();
      return entries;
    },
    /** Disables the routers' automatic responses to OPTIONS. */
    silenceOptions(): void {
      walk(rootStack(), (layer) => {
        if (layer.route !== undefined) silence(layer.route);
      });
    },
  };
}

export type DryMatcher = ReturnType<typeof createDryMatcher>;
