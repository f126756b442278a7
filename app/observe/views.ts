/**
 * Views -> facts `view`: templates and partials with duration, place in the tree and locals. `watchApp` wraps `app.render`, which
 * every engine of Express passes through; `watchEngine` wraps the `compile` of EJS, Pug and Eta, whose compiled functions tell when a page
 * or partial runs (`renderFile` doesn't see partials). A page's compiled function is the same fact as its render, not a child of it.
 */
import type { Context } from '../profiler/record/context.ts';
import { isNativePromise } from './channels/trace.ts';
import { replaceMethod } from './channels/wrap-method.ts';
import { createViewTrace, type Frame } from './view-trace.ts';
import { pathIn } from './stacks/caller.ts';
import type { ObserverParts } from './subscribe.ts';

export interface RenderingApp {
  render: (name: string, options: object, callback: (error: Error, html: string) => void) => void;
  settings?: Readonly<Record<string, unknown>>;
  response?: object;
}

interface RenderingResponse {
  render?: (...args: unknown[]) => unknown;
  req?: { app?: RenderingApp };
}

type Template = (data?: object) => unknown;

export interface CompilingEngine {
  compile: (template: string, options?: object) => Template;
  config?: { views?: unknown };
}

/** What we use of Handlebars: all of its environments share `VM`, which makes functions of compiled templates. */
interface HandlebarsEngine {
  VM: { template: (...args: unknown[]) => Template };
}

const MOST_INCLUDES = 50;

/** Applications that others call, not mount, are only known by what they share. */
function isExpress(exports: unknown): exports is { response: RenderingResponse } {
  return typeof (exports as { response?: RenderingResponse } | null)?.response?.render === 'function';
}

export function observeViews({ tracker, findCaller, root }: ObserverParts & { root: string }) {
  const { running, open, end, fail, within } = createViewTrace();
  const undo: (() => void)[] = [];
  const known = new WeakSet<object>();
  let closed = false;

  function currentContext(): Context | undefined {
    return closed ? undefined : tracker.observed();
  }

  /** Can be called again for the same application, such as a mounted one that is found later. */
  function watchApp(app: RenderingApp): void {
    if (known.has(app)) return;
    known.add(app);
    const original = app.render;
    const render = function (this: unknown, ...args: unknown[]): unknown {
      const context = currentContext();
      if (context === undefined || typeof args[0] !== 'string') return Reflect.apply(original, this, args);
      const called = findCaller?.called({ skip: 'express' }) ?? { caller: null };
      const frame = open(context, { name: args[0], file: null, data: args[1], ...called });
      if (frame === null) return Reflect.apply(original, this, args);
      const engine = app.settings?.['view engine'];
      if (typeof engine === 'string') frame.fact.engine = engine.slice(0, 40);
      const at = args.findIndex((value, index) => index > 0 && typeof value === 'function');
      if (at !== -1) {
        const done = args[at] as (...results: unknown[]) => unknown;
        const rendered = function (this: unknown, ...results: unknown[]): unknown {
          end(context, frame);
          const [error] = results;
          if (error !== null && error !== undefined) fail(context, frame, error);
          return Reflect.apply(done, this, results);
        };
        args[at] = rendered;
      }
      return within(context, frame, (): unknown => Reflect.apply(original, this, args));
    };
    undo.push(replaceMethod(app, 'render', render));
    if (app.response !== undefined) watchResponses(app.response);
  }

  /** `res.render` calls `render` of `req.app` at that time: a mounted application is observed from then on. */
  function watchResponses(prototype: RenderingResponse): void {
    const original = prototype.render;
    if (original === undefined) return;
    const render = function (this: RenderingResponse, ...args: unknown[]): unknown {
      const app = this.req?.app;
      if (!closed && app !== undefined && typeof app.render === 'function') watchApp(app);
      return Reflect.apply(original, this, args);
    };
    undo.push(replaceMethod(prototype, 'render', render));
  }

  function frameFor(
    context: Context,
    { name, file }: { name: string; file: string },
    data: unknown,
  ): Frame | null {
    const above = running(context);
    if (above !== null && above.fact.file === null && above.fact.depth === 0) {
      above.fact.file = file;
      return above;
    }
    return open(context, { name, file, data, caller: null, isPart: true });
  }

  function runTemplate(
    template: Template,
    { context, frame, isPage }: { context: Context; frame: Frame; isPage: boolean },
    self: unknown,
    args: unknown[],
  ): unknown {
    try {
      const result: unknown = within(context, frame, (): unknown => Reflect.apply(template, self, args));
      if (isNativePromise(result))
        return result.finally(() => {
          end(context, frame);
        });
      if (!isPage) end(context, frame);
      return result;
    } catch (error) {
      fail(context, frame, error);
      throw error;
    }
  }

  function watched(
    template: Template,
    openFrame: (context: Context, given: unknown[]) => Frame | null,
  ): Template {
    const run = function (this: unknown, ...given: unknown[]): unknown {
      const context = currentContext();
      const above = context === undefined ? null : running(context);
      const frame = context === undefined ? null : openFrame(context, given);
      if (context === undefined || frame === null) return Reflect.apply(template, this, given);
      return runTemplate(template, { context, frame, isPage: frame.fact === above?.fact }, this, given);
    };
    return Object.defineProperties(run, Object.getOwnPropertyDescriptors(template));
  }

  function replace<K extends string>(
    holder: Record<K, (...args: never[]) => Template>,
    name: K,
    watch: (template: Template, args: unknown[]) => Template,
  ): void {
    const original = holder[name];
    const replacement = function (this: unknown, ...args: unknown[]): Template {
      const template = Reflect.apply(original, this, args as never[]);
      return closed ? template : watch(template, args);
    };
    undo.push(replaceMethod(holder, name, replacement));
  }

  function watchEngine(engine: CompilingEngine): void {
    if (known.has(engine)) return;
    known.add(engine);
    replace(engine, 'compile', (template, [, given]) => {
      const options = (given ?? {}) as CompileOptions;
      const file = options.filename ?? options.filepath;
      // Client functions are sent as source.
      if (typeof file !== 'string' || options.client === true) return template;
      const folder = folderOf(file, options.views ?? options.settings?.views ?? engine.config?.views);
      const includes = includesOf(template, folder);
      const view = { name: shortName(file, folder), file: pathIn(root, file) };
      return watched(template, (context, [data]) => {
        const frame = frameFor(context, view, data);
        if (frame !== null && includes.length > 0) frame.fact.includes = includes;
        return frame;
      });
    });
  }

  /** Partials only: the page is a render of the application. */
  function watchHandlebars({ VM }: HandlebarsEngine): void {
    if (known.has(VM)) return;
    known.add(VM);
    replace(VM, 'template', (template) =>
      watched(template, (context, [data, options]) => {
        const { partial, name } = (options ?? {}) as { partial?: unknown; name?: unknown };
        if (partial !== true || typeof name !== 'string') return null;
        return open(context, { name, file: null, data, caller: null, isPart: true });
      }),
    );
  }

  return {
    watchApp,
    watchEngine,
    watchLibrary(exports: unknown): (() => void) | null {
      const { compile, VM } = (exports ?? {}) as Partial<CompilingEngine & HandlebarsEngine>;
      if (isExpress(exports)) watchResponses(exports.response);
      else if (typeof VM?.template === 'function') watchHandlebars(exports as HandlebarsEngine);
      else if (typeof compile === 'function') watchEngine(exports as CompilingEngine);
      else return null;
      // `close` restores it.
      return () => undefined;
    },
    close(): void {
      closed = true;
      for (const restore of undo) restore();
    },
  };
}

export type ViewObserver = ReturnType<typeof observeViews>;

interface CompileOptions {
  filename?: unknown;
  filepath?: unknown;
  client?: unknown;
  views?: unknown;
  settings?: { views?: unknown };
}

/** Pug names the files that it has compiled into a template. */
function includesOf(template: Template, folder: string | null): readonly string[] {
  const { dependencies } = template as { dependencies?: unknown };
  if (!Array.isArray(dependencies)) return [];
  const files = dependencies.filter((file): file is string => typeof file === 'string');
  return [...new Set(files)].slice(0, MOST_INCLUDES).map((file) => shortName(file, folder));
}

function folderOf(file: string, views: unknown): string | null {
  const folders = Array.isArray(views) ? (views as unknown[]) : [views];
  const found = folders.find((folder) => typeof folder === 'string' && file.startsWith(folder));
  return typeof found === 'string' ? found : null;
}

function shortName(file: string, folder: string | null): string {
  const parts = (folder === null ? file : file.slice(folder.length))
    .split(/[\\/]/)
    .filter((part) => part !== '');
  return (folder === null ? parts.slice(-2) : parts).join('/');
}
