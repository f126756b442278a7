/** What stays the same for a layer, whatever request it runs for: its name, its router, the line that registered it. */
import type { IncomingMessage } from 'node:http';
import { type Layer, patternText, routerOf, stackOf } from '../../profiler/record/express-routers.ts';
import { joinPatterns, type RoutedRequest } from './layer-call.ts';

export interface LayerMeta {
  name: string;
  isRouter: boolean;
  isApplication: boolean;
  source: string | null;
  setsQuery: string | undefined;
  isOfLibrary: boolean;
  owner: object | null;
  full: { mount: string; route: unknown; pattern: string };
}

const SETS_QUERY = /\breq(?:uest)?\.query(?:\.(\w+)|\[['"](\w+)['"]\])\s*=(?!=)/;

/** The getter of Express 5 is on the prototype. An own property keeps what is set. */
function queryNameSet(handle: unknown, req: IncomingMessage): string | undefined {
  if (typeof handle !== 'function' || Object.hasOwn(req, 'query')) return undefined;
  const [, name, quoted] = SETS_QUERY.exec(Function.prototype.toString.call(handle)) ?? [];
  return name ?? quoted;
}

export function fullPattern(meta: LayerMeta, mount: string, route: unknown): string {
  const { full } = meta;
  if (full.mount === mount && full.route === route) return full.pattern;
  meta.full = { mount, route, pattern: joinPatterns(mount, patternText(route)) };
  return meta.full.pattern;
}

export interface KnownLayersOptions {
  sourceOf: (layer: object) => string | null;
  isOfLibrary: (layer: object) => boolean;
  observeRouter: (router: unknown) => void;
}

export function createKnownLayers({ sourceOf, isOfLibrary, observeRouter }: KnownLayersOptions) {
  const metas = new WeakMap<Layer, LayerMeta>();
  const owners = new WeakMap<Layer, object>();
  /** Layers inside a route -> the layer of the route. */
  const routeLayers = new WeakMap<Layer, Layer>();
  const listed = new WeakMap<object, number>();

  function list(router: unknown): void {
    const stack = stackOf(router);
    if (stack === null || listed.get(router as object) === stack.length) return;
    listed.set(router as object, stack.length);
    observeRouter(router);
    for (const layer of stack) {
      owners.set(layer, router as object);
      for (const inner of stackOf(layer.route) ?? []) {
        owners.set(inner, router as object);
        routeLayers.set(inner, layer);
      }
    }
  }

  function metaOf(layer: Layer, req: IncomingMessage): LayerMeta {
    const known = metas.get(layer);
    if (known !== undefined) return known;
    if (!owners.has(layer)) list(routerOf((req as RoutedRequest).app));
    const { route } = req as RoutedRequest;
    const inRoute = stackOf(route)?.includes(layer) === true ? (route as object) : layer;
    const added = routeLayers.get(layer) ?? inRoute;
    const isRouter = stackOf(layer.handle) !== null;
    if (isRouter) list(layer.handle);
    const meta: LayerMeta = {
      name: typeof layer.name === 'string' && layer.name !== '' ? layer.name.slice(0, 200) : '<anonymous>',
      isRouter,
      isApplication: layer.name === 'mounted_app',
      // Of a parameter, the callback is registered.
      source:
        sourceOf(layer) ??
        sourceOf(added) ??
        (typeof layer.handle === 'function' ? sourceOf(layer.handle) : null),
      setsQuery: queryNameSet(layer.handle, req),
      isOfLibrary: isOfLibrary(added),
      owner: owners.get(layer) ?? null,
      full: { mount: '', route: '', pattern: '/' },
    };
    metas.set(layer, meta);
    return meta;
  }

  return {
    metaOf,
    /** The layer itself, or that of its route. */
    inStack(layer: Layer): Layer {
      return routeLayers.get(layer) ?? layer;
    },
    registerOwner(layer: Layer, router: object): void {
      owners.set(layer, router);
    },
  };
}
