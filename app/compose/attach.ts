/**
 * Puts a profiler in front of everything that an Express application does, whenever that is asked for: `app.handle`, which the application
 * calls for each request and which mounting calls for a sub-application, is replaced by one that goes through `watch` and `pages` first. A
 * layer of its own would have to be registered before all others, and Express reads `strict routing` when the first one is.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigError } from '../config.ts';
import { PROFILER_PREFIX } from '../urls.ts';
import type { Profiler } from './profiler-options.ts';

type Next = (error?: unknown) => void;
export type Handle = (this: unknown, req: IncomingMessage, res: ServerResponse, next?: Next) => unknown;

/** What is used of an application of Express 4 or 5. */
export interface ExpressApplication {
  (req: IncomingMessage, res: ServerResponse, next?: Next): unknown;
  handle: Handle;
  request: object;
  response: object;
}

type Recording = Pick<Profiler, 'watch' | 'pages'>;

/** On an application: its profiler. Known to every copy of this package in a process, built as ES module or CommonJS. */
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

/** Throws a ConfigError where `value` is no application. */
export function requireApplication(value: unknown): ExpressApplication {
  if (isExpressApplication(value)) return value;
  throw new ConfigError(
    'hindsight:',
    'the first argument is no Express application; pass what express() returned (of NestJS: app.getHttpAdapter().getInstance()).',
  );
}

/** The profiler that an application was given before; null where it has none. */
export function profilerOf(app: ExpressApplication): Profiler | null {
  return (app as { [PROFILER]?: Profiler })[PROFILER] ?? null;
}

/** On a `handle` that goes through a profiler. */
const PROFILED = Symbol.for('express-hindsight.profiled');

/** Whether an application has a profiler, or that of its process, in front of it. */
export function isProfiled(app: ExpressApplication): boolean {
  return profilerOf(app) !== null || PROFILED in app.handle;
}

/** `handle` behind `watch` and `pages` of the profiler that `of` names for the application; null: as it was. */
export function profiledHandle(handle: Handle, of: (app: ExpressApplication) => Recording | null): Handle {
  function profiled(
    this: ExpressApplication,
    req: IncomingMessage,
    res: ServerResponse,
    next?: Next,
  ): unknown {
    const profiler = of(this);
    if (profiler === null) return Reflect.apply(handle, this, [req, res, next]);
    // As Express does next: `watch` learns the application, and what it trusts, from the request.
    Object.setPrototypeOf(req, this.request);
    Object.setPrototypeOf(res, this.response);
    const go = (): unknown => Reflect.apply(handle, this, [req, res, next]);
    // Each call more stands in the stacks of the application.
    profiler.watch(
      req,
      res,
      req.url?.includes(PROFILER_PREFIX) === true
        ? () => {
            profiler.pages(req, res, go);
          }
        : go,
    );
    return undefined;
  }
  Object.defineProperty(profiled, 'name', { value: handle.name, configurable: true });
  Object.defineProperty(profiled, PROFILED, { value: true });
  return profiled as Handle;
}

/** Attaches a profiler to one application; returns what detaches it. Throws a ConfigError where it has another profiler. */
export function attach(value: object, profiler: Profiler): () => void {
  const app = requireApplication(value);
  if (profilerOf(app) !== null) throw new ConfigError('attach:', 'this application has a profiler already.');
  Object.defineProperty(app, PROFILER, { value: profiler, configurable: true });
  const { handle } = app;
  let attached = true;
  const profiled = profiledHandle(handle, () => (attached ? profiler : null));
  if (profiler.isOn) app.handle = profiled;
  return () => {
    attached = false;
    if (profilerOf(app) === profiler) Reflect.deleteProperty(app, PROFILER);
    // Where somebody has wrapped ours, it stays, and passes everything on.
    if (app.handle === profiled) app.handle = handle;
  };
}
