/**
 * Views -> facts `view`: templates and partials with time, place in the tree and locals.
 *
 * Two sources that know of each other. `watchApp` wraps `app.render`, through which every engine of Express passes (and
 * `res.render` with it). `watchEngine` wraps `ejs.compile` of the copy handed in: the compiled function of a page and of
 * each partial then tells when it runs. A page's own function is the same fact as its render, not a child of it.
 * Wrapping `renderFile` was rejected: it sees no partial. Contexts of the profiler's own pages are left alone.
 */
import type { Context, ContextTracker } from '../profiler/context.ts';
import type { CallerOptions, FindCaller } from './caller.ts';
import { createViewTrace, type Frame } from './view-trace.ts';

/** What is used of an Express application. */
export interface RenderingApp {
  render: (name: string, options: object, callback: (error: Error, html: string) => void) => void;
  settings?: Readonly<Record<string, unknown>>;
  /** What responses inherit from, and those of mounted applications with them. */
  response?: object;
}

interface RenderingResponse {
  render?: (...args: unknown[]) => unknown;
  req?: { app?: RenderingApp };
}

type Template = (data?: object) => unknown;

/** What is used of EJS. */
export interface CompilingEngine {
  compile: (template: string, options?: object) => Template;
}

export interface ObserveViewsOptions {
  tracker: ContextTracker;
  findCaller?: FindCaller;
}

export interface ViewObserver {
  /** Safe to call again for the same application, such as a mounted one found later. */
  watchApp(app: RenderingApp): void;
  watchEngine(engine: CompilingEngine): void;
  close(): void;
}

/**
 * Mostly a handler itself calls `res.render`: a stack is dear by its length too, and taken by what is `below` itself. Made once
 * for each function: a literal that spreads another one has a hidden class of its own each time, which costs 5 µs to read.
 */
function askedBelow(below: (...args: never[]) => unknown): CallerOptions {
  return { below, near: 1, skip: 'express' };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

export function observeViews({ tracker, findCaller }: ObserveViewsOptions): ViewObserver {
  const { running, open, end, fail, within } = createViewTrace();
  const undo: (() => void)[] = [];
  const known = new WeakSet<object>();
  /** Where the `res.render` that runs now was called from; undefined where none does, or its view has begun. */
  let asked: string | null | undefined;
  let closed = false;

  function currentContext(): Context | undefined {
    const context = closed ? undefined : tracker.current();
    return context?.kind === 'profiler' ? undefined : context;
  }

  /** Of one `res.render` one view is the page; others that its template asks for have callers of their own. */
  function takeAsked(): string | null | undefined {
    const caller = asked;
    asked = undefined;
    return caller;
  }

  function watchApp(app: RenderingApp): void {
    if (known.has(app)) return;
    known.add(app);
    const own = Object.getOwnPropertyDescriptor(app, 'render');
    const original = app.render;
    const render = function (this: unknown, ...args: unknown[]): unknown {
      const context = currentContext();
      if (context === undefined || typeof args[0] !== 'string') return Reflect.apply(original, this, args);
      const known = takeAsked();
      const caller = known === undefined ? (findCaller?.(above) ?? null) : known;
      const frame = open(context, { name: args[0], file: null, data: args[1], caller });
      if (frame === null) return Reflect.apply(original, this, args);
      const engine = app.settings?.['view engine'];
      if (typeof engine === 'string') frame.fact.engine = engine.slice(0, 40);
      const at = args.findIndex((value, index) => index > 0 && typeof value === 'function');
      if (at !== -1) {
        const done = args[at] as (...results: unknown[]) => unknown;
        args[at] = function (this: unknown, ...results: unknown[]): unknown {
          end(context, frame);
          const [error] = results;
          if (error !== null && error !== undefined) fail(context, frame, error);
          return Reflect.apply(done, this, results);
        };
      }
      return within(context, frame, (): unknown => Reflect.apply(original, this, args));
    };
    const above = askedBelow(render);
    app.render = render;
    undo.push(() => {
      if (app.render !== (render as RenderingApp['render'])) return;
      if (own === undefined) Reflect.deleteProperty(app, 'render');
      else Object.defineProperty(app, 'render', own);
    });
    if (app.response !== undefined) watchResponses(app.response);
  }

  /** `res.render` calls `render` of the application that `req.app` is by then: a mounted one is watched from there on. */
  function watchResponses(prototype: RenderingResponse): void {
    const own = Object.getOwnPropertyDescriptor(prototype, 'render');
    const original = prototype.render;
    if (original === undefined) return;
    const render = function (this: RenderingResponse, ...args: unknown[]): unknown {
      const app = this.req?.app;
      if (!closed && app !== undefined && typeof app.render === 'function') watchApp(app);
      // A mounted application's passes on to that of the one it is mounted in.
      if (asked !== undefined || currentContext() === undefined) return Reflect.apply(original, this, args);
      asked = findCaller?.(above) ?? null;
      try {
        return Reflect.apply(original, this, args);
      } finally {
        asked = undefined;
      }
    };
    const above = askedBelow(render);
    prototype.render = render;
    undo.push(() => {
      if (prototype.render !== render) return;
      if (own === undefined) Reflect.deleteProperty(prototype, 'render');
      else Object.defineProperty(prototype, 'render', own);
    });
  }

  /** The frame that a compiled template runs as: its render's own, or a new one. */
  function frameFor(context: Context, file: string, root: string | null, data: unknown): Frame | null {
    const above = running(context);
    if (above !== null && above.fact.file === null && above.fact.depth === 0) {
      above.fact.file = file;
      return above;
    }
    return open(context, { name: shortName(file, root), file, data, caller: null });
  }

  function runTemplate(
    template: Template,
    context: Context,
    frame: Frame,
    self: unknown,
    args: unknown[],
  ): unknown {
    const own = frame.fact.durationMs === null && running(context) !== frame;
    try {
      const result: unknown = within(context, frame, (): unknown => Reflect.apply(template, self, args));
      if (isThenable(result)) {
        const settle = (): void => {
          end(context, frame);
        };
        result.then(settle, settle);
      } else if (own) end(context, frame);
      return result;
    } catch (error) {
      fail(context, frame, error);
      throw error;
    }
  }

  function watchEngine(engine: CompilingEngine): void {
    if (known.has(engine)) return;
    known.add(engine);
    const original = engine.compile;
    const compile = function (this: unknown, ...args: Parameters<CompilingEngine['compile']>): Template {
      const template = Reflect.apply(original, this, args);
      const options = (args[1] ?? {}) as { filename?: unknown; client?: unknown; views?: unknown };
      const { filename } = options;
      // A function for the browser is sent as its source.
      if (closed || typeof filename !== 'string' || options.client === true) return template;
      const root = rootOf(filename, options.views);
      const watched = function (this: unknown, ...given: unknown[]): unknown {
        const context = currentContext();
        if (context === undefined) return Reflect.apply(template, this, given);
        const frame = frameFor(context, filename, root, given[0]);
        if (frame === null) return Reflect.apply(template, this, given);
        return runTemplate(template, context, frame, this, given);
      };
      return Object.defineProperties(watched, Object.getOwnPropertyDescriptors(template));
    };
    engine.compile = compile;
    undo.push(() => {
      if (engine.compile === compile) engine.compile = original;
    });
  }

  return {
    watchApp,
    watchEngine,
    close() {
      closed = true;
      for (const restore of undo) restore();
    },
  };
}

/** The views folder that holds a template. */
function rootOf(file: string, views: unknown): string | null {
  const folders = Array.isArray(views) ? (views as unknown[]) : [views];
  const found = folders.find((folder) => typeof folder === 'string' && file.startsWith(folder));
  return typeof found === 'string' ? found : null;
}

/** Path below the views folder; without one the last two parts of the path. */
function shortName(file: string, root: string | null): string {
  const parts = (root === null ? file : file.slice(root.length)).split(/[\\/]/).filter((part) => part !== '');
  return (root === null ? parts.slice(-2) : parts).join('/');
}
