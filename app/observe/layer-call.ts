/** A call of a layer as the router's channel tells it, and what can be read off it: pattern, mount, parameters. */
import type { IncomingMessage } from 'node:http';

/** What is read of a layer of `router`. */
export interface Layer {
  name?: unknown;
  handle?: unknown;
  rawPath?: unknown;
  route?: { stack?: unknown } | undefined;
  /** Present on the layers inside a route only. */
  method?: string | undefined;
}

/** A call of a layer, as the channel tells it; the same object in all its events. */
export interface LayerCall {
  req: IncomingMessage;
  layer: Layer;
  /** The pattern that matched. */
  route?: unknown;
  errorHandler?: boolean;
  /** Name of the parameter, for callbacks of `router.param`. */
  param?: string;
  error?: unknown;
}

const NO_PARAMS: Readonly<Record<string, unknown>> = Object.freeze({});

export function patternText(pattern: unknown): string {
  if (typeof pattern === 'string') return pattern;
  if (pattern instanceof RegExp) return pattern.toString();
  return Array.isArray(pattern) ? pattern.map(patternText).join(', ') : '';
}

/** `/shop` and `/orders/:id` -> `/shop/orders/:id`; a mount at `/` adds nothing. */
export function joinPatterns(mount: string, pattern: string): string {
  if (pattern === '/' || pattern === '') return mount === '' ? '/' : mount;
  return mount === '/' ? pattern : `${mount}${pattern}`;
}

/**
 * Where the router of a request's first layer is mounted. A profiler mounted below another router sees none of the
 * layers above it, so that this is known as sent (`/shop/7`), not as pattern. What a `use` layer matched is part of
 * `baseUrl` while it runs.
 */
export function baseOf({ req, layer, route }: LayerCall): string {
  const { baseUrl } = req as IncomingMessage & { baseUrl?: unknown };
  if (typeof baseUrl !== 'string' || baseUrl === '') return '';
  const own =
    'method' in layer
      ? 0
      : patternText(route ?? layer.rawPath)
          .split('/')
          .filter(Boolean).length;
  return own === 0 ? baseUrl : baseUrl.split('/').slice(0, -own).join('/');
}

/** A copy: a handler may change its own. */
export function copyParams(params: unknown): Readonly<Record<string, unknown>> {
  if (typeof params !== 'object' || params === null) return NO_PARAMS;
  return Object.keys(params).length === 0 ? NO_PARAMS : { ...params };
}
