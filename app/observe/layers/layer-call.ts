/** A call of a router's layer, with its pattern, mount and parameters. */
import type { IncomingMessage } from 'node:http';
import type { Context } from '../../profiler/record/context.ts';
import {
  type Layer,
  matchedAmong,
  pathOfRegexp,
  patternText,
} from '../../profiler/record/express-routers.ts';
import type { LayerFact } from './layer-fact.ts';

export interface RoutedRequest extends IncomingMessage {
  app?: unknown;
  body?: unknown;
  baseUrl?: unknown;
  params?: unknown;
  route?: { path?: unknown };
  res?: { headersSent?: unknown; locals?: unknown };
}

export interface CallKind {
  isErrorHandler: boolean;
  param: string | null;
}

/** One call of a layer: what is known at its start, and what is recorded later. */
export interface LayerCall extends CallKind {
  req: IncomingMessage;
  layer: Layer;
  context: Context;
  startMs: number;
  /** The route that runs, what matched, and its parameters: all of them change during the request. */
  route: unknown;
  pattern: unknown;
  params: unknown;
  fact: LayerFact | null;
}

export function createLayerCall(
  req: IncomingMessage,
  layer: Layer,
  context: Context,
  kind: CallKind = { isErrorHandler: false, param: null },
): LayerCall {
  const { route, params } = req as RoutedRequest;
  const pattern = kind.param === null ? matchedPattern(req, layer, route) : pathOfRoute(req, route);
  return { ...kind, req, layer, context, startMs: context.elapsedMs(), route, pattern, params, fact: null };
}

const NO_PARAMS: Readonly<Record<string, unknown>> = Object.freeze({});

const MATCHED = 'router.tracing.matchedRoute';

/** The one of several patterns that matched: router 2.3 puts it on the request. */
function matchedOf(req: IncomingMessage): unknown {
  const key = Object.getOwnPropertySymbols(req).find(({ description }) => description === MATCHED);
  return key === undefined ? undefined : (req as unknown as Record<symbol, unknown>)[key];
}

/** A route sees its path in `url`; while a `use` layer runs, `baseUrl` ends with what it matched. */
function matchedOfList(req: IncomingMessage, patterns: readonly unknown[], isRoute: boolean): unknown {
  const { url = '', baseUrl } = req as RoutedRequest;
  if (isRoute) return matchedAmong(patterns, url.split('?', 1)[0] ?? '');
  return matchedAmong(patterns, typeof baseUrl === 'string' ? baseUrl : '', { isEnd: true });
}

function pathOfRoute(req: IncomingMessage, route: RoutedRequest['route']): unknown {
  const path = route?.path;
  return matchedOf(req) ?? (Array.isArray(path) ? matchedOfList(req, path, true) : path);
}

function matchedPattern(req: IncomingMessage, layer: Layer, route: RoutedRequest['route']): unknown {
  const given = 'method' in layer ? route?.path : layer.rawPath;
  const pattern =
    given === undefined && layer.regexp instanceof RegExp ? pathOfRegexp(layer.regexp, layer.keys) : given;
  if (typeof pattern === 'string') return pattern;
  if (Array.isArray(pattern)) return matchedOf(req) ?? matchedOfList(req, pattern, 'method' in layer);
  return pattern ?? layer.path;
}

/** `/shop` and `/orders/:id` -> `/shop/orders/:id`; a mount at `/` adds nothing. */
export function joinPatterns(mount: string, pattern: string): string {
  if (pattern === '/' || pattern === '') return mount === '' ? '/' : mount;
  return mount === '/' ? pattern : `${mount}${pattern}`;
}

/**
 * Where the router of a request's first layer is mounted. A profiler mounted below another router doesn't see the
 * layers above it, so this is the path as sent (`/shop/7`), not a pattern. While a `use` layer runs, `baseUrl` includes what it matched.
 */
export function baseOf({ req, layer, pattern }: LayerCall): string {
  const { baseUrl } = req as RoutedRequest;
  if (typeof baseUrl !== 'string' || baseUrl === '') return '';
  const own = 'method' in layer ? 0 : patternText(pattern).split('/').filter(Boolean).length;
  return own === 0 ? baseUrl : baseUrl.split('/').slice(0, -own).join('/');
}

export function copyParams(params: unknown): Readonly<Record<string, unknown>> {
  if (typeof params !== 'object' || params === null) return NO_PARAMS;
  return Object.keys(params).length === 0 ? NO_PARAMS : { ...params };
}
