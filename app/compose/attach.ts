/**
 * Runs a profiler before everything else in an Express application, also if routes are registered already. Express calls `app.handle` for
 * each request and for a mounted application; our replacement calls `watch` and `pages` first. Middleware would have to be registered before
 * all other middleware, and Express reads `strict routing` when the first is registered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigError } from '../config.ts';
import { isOverHttp2 } from '../node-http.ts';
import type { Profiler } from './profiler-options.ts';

type Next = (error?: unknown) => void;
export type Handle = (this: unknown, req: IncomingMessage, res: ServerResponse, next?: Next) => unknown;

export interface ExpressApplication {
  (req: IncomingMessage, res: ServerResponse, next?: Next): unknown;
  handle: Handle;
  request: object;
  response: object;
}

type Recording = Pick<Profiler, 'watch' | 'pages'>;

/** Property of an application: its profiler. The same symbol in every copy of this package in a process (ES module or CommonJS). */
const PROFILER = Symbol.for('express-hindsight.profiler');

export function isExpressApplication(value: unknown): value is ExpressApplication {
  if (typeof value !== 'function') return false;
  const { handle, set, request, response } = value as unknown as Record<string, unknown>;
  return (
    typeof handle === 'function' &&
    typeof set === 'function' &&
    typeof request === 'object' &&
    typeof response === 'object'
  );
}

/** Throws a ConfigError if `value` is not an application, or frozen. */
export function requireApplication(value: unknown): ExpressApplication {
  if (isExpressApplication(value)) {
    if (Object.isExtensible(value)) return value;
    throw new ConfigError(
      'hindsight:',
      'this application is frozen; attach the profiler before you freeze it.',
    );
  }
  throw new ConfigError(
    'hindsight:',
    'the first argument is not an Express application; pass what express() returned (in NestJS: app.getHttpAdapter().getInstance()).',
  );
}

export function profilerOf(app: ExpressApplication): Profiler | null {
  return (app as { [PROFILER]?: Profiler })[PROFILER] ?? null;
}

const PROFILED = Symbol.for('express-hindsight.profiled');

export function isProfiled(app: ExpressApplication): boolean {
  return profilerOf(app) !== null || PROFILED in app.handle;
}

/** Wraps `handle` with `watch` and `pages` of the profiler that `of` returns for the application; null: `handle` runs alone. */
export function profiledHandle(handle: Handle, of: (app: ExpressApplication) => Recording | null): Handle {
  function hindsightApplication(
    this: ExpressApplication,
    req: IncomingMessage,
    res: ServerResponse,
    next?: Next,
  ): unknown {
    const profiler = of(this);
    // Messages of HTTP/2 are of other classes: only packages that patch Express serve them, by prototypes of their own.
    if (profiler === null || isOverHttp2(req)) return Reflect.apply(handle, this, [req, res, next]);
    // As Express does next: `watch` learns the application, and what it trusts, from the request.
    const given = Object.getPrototypeOf(req) as object;
    Object.setPrototypeOf(req, this.request);
    Object.setPrototypeOf(res, this.response);
    profiler.watch(req, res, () => {
      profiler.pages(req, res, () => {
        // Express 4 asks for `query`, which a request may inherit from another one, before it does so.
        if ('query' in given) Object.setPrototypeOf(req, given);
        Reflect.apply(handle, this, [req, res, next]);
      });
    });
    return undefined;
  }
  Object.defineProperty(hindsightApplication, PROFILED, { value: true });
  return hindsightApplication as Handle;
}

/** Attaches a profiler to one application; returns the function that detaches it. Throws a ConfigError if it has a profiler. */
export function attach(value: object, profiler: Profiler): () => void {
  const app = requireApplication(value);
  if (profilerOf(app) !== null) throw new ConfigError('attach:', 'this application already has a profiler.');
  Object.defineProperty(app, PROFILER, { value: profiler, configurable: true });
  const { handle } = app;
  let attached = true;
  const profiled = profiledHandle(handle, () => (attached ? profiler : null));
  if (profiler.isOn) app.handle = profiled;
  return () => {
    attached = false;
    if (profilerOf(app) === profiler) Reflect.deleteProperty(app, PROFILER);
    // If somebody has wrapped our function, it stays and only calls the original.
    if (app.handle === profiled) Reflect.set(app, 'handle', handle);
  };
}
