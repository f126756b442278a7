/**
 * The first middleware: opens the context of a request, sets the token headers, observes request and response, and runs everything
 * after it inside AsyncLocalStorage. Emitters are bound because body and finish events otherwise fire outside the request's context
 * (multer 1, `req.on('end')`).
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { messageOf } from '../errors.ts';
import { isOverHttp2 } from '../node-http.ts';
import type { Context } from '../profiler/record/context.ts';
import type { CpuReason, CpuSampler } from '../profiler/record/cpu-samples.ts';
import type { Recorder } from '../profiler/record/recorder.ts';
import type { SummaryReason } from '../profiler/record/recording-limit.ts';
import { plainPropertyOf } from '../profiler/record/session-of.ts';
import type { ValueReader } from '../profiler/record/values.ts';
import { isProfilerTarget, isToolbarRequest, TOOLBAR_HEADER, urls } from '../urls.ts';
import { leaveBody, setMethod, tapBody } from './body-tap.ts';
import { attachToolbar, type ToolbarOptions } from './toolbar/create-toolbar.ts';
import { requestFactOf, type RequestSource, targetOf } from './request-fact.ts';
import { createResponseWatch, type ResponseOptions } from './watched-response.ts';

export interface WatchOptions extends ResponseOptions {
  recorder: Recorder;
  sourceOf: (req: IncomingMessage) => RequestSource;
  summaryReason?: (req: IncomingMessage, isAsked: boolean) => SummaryReason | null;
  toolbar?: ToolbarOptions | undefined;
  /** Called once with each server: when it is watched, else with its first request. */
  onServer?: ((server: Server) => void) | undefined;
  observeApp?: (req: IncomingMessage) => void;
  cpu?: { sampler: CpuSampler; mayAsk: (req: IncomingMessage) => Promise<boolean> } | undefined;
  values?: Pick<ValueReader, 'whenReady'> | undefined;
  onRequest?: readonly ((context: Context) => void)[];
  onOtherProfiler?: (sentence: string) => void;
  onFinish?: (context: Context, req: IncomingMessage) => void;
  warn?: (sentence: string) => void;
}

export interface Watch {
  (req: IncomingMessage, res: ServerResponse, next: () => void): void;
  /** A server is about to listen: `onServer` need not wait for its first request. */
  watchServer(server: Server): void;
}

const OTHER_PROFILER =
  'another profiler records these requests already, and this one leaves them to it; mount one of the two.';
const SWEEP_EVERY = 1024;

/** None for a request that was created by hand, or whose socket only looks like a server's. */
function serverOf(req: IncomingMessage): Server | undefined {
  const { socket } = req as { socket?: { server?: unknown } | null };
  const server = socket?.server;
  return server instanceof NetServer ? (server as object as Server) : undefined;
}

const LEFT = ['session', 'user'] as const;

/** What a host's middleware put on a request; accessors stay accessors, and are never called. */
function leftOn(req: IncomingMessage): object {
  const left: object = { app: (req as IncomingMessage & { app?: unknown }).app };
  for (const name of LEFT) {
    if (!Object.hasOwn(req, name)) continue;
    const own = Object.getOwnPropertyDescriptor(req, name);
    if (own === undefined) continue;
    Object.defineProperty(left, name, 'value' in own ? own : { get: () => undefined, enumerable: true });
  }
  return left;
}

/** Of the toolbar, or the preflight that asks for its header. */
function isOfToolbar(req: IncomingMessage): boolean {
  const { headers } = req;
  return (
    isToolbarRequest(req) || headers['access-control-request-headers']?.includes(TOOLBAR_HEADER) === true
  );
}

/** Over HTTP/2, or upgraded: such a request may be passed to an application with a response that is never sent (express-ws). */
function isOther(req: IncomingMessage & { upgrade?: boolean }): boolean {
  return isOverHttp2(req) || req.upgrade === true;
}

/** A plain object, which a test passes to an application: it has no headers, or Node's methods throw on it. */
function isMadeUp(req: { headers?: unknown }, res: ServerResponse): boolean {
  if (typeof req.headers !== 'object' || req.headers === null) return true;
  try {
    res.hasHeader('x-debug-token');
    return false;
  } catch {
    return true;
  }
}

function applicationTarget(req: IncomingMessage): string | null {
  const target = targetOf(req);
  return isProfilerTarget(target) ? null : target;
}

export function createWatch(options: WatchOptions): Watch {
  const {
    recorder,
    tracker,
    sourceOf,
    previewBytes,
    summaryReason = () => null,
    onRequest = [],
    onFinish,
    warn,
  } = options;
  /** Observing runs inside calls of the application, and of Node.js, where an error would end the process. */
  function attempt<T>(observe: () => T): T | undefined {
    try {
      return observe();
    } catch (error) {
      warn?.(`A request was not recorded in full: ${messageOf(error)}.`);
      return undefined;
    }
  }

  let opened = 0;
  let other = false;
  const { onServer } = options;
  /** Those of the requests: none is kept alive. */
  const servers = new WeakSet<Server>();
  const responses = createResponseWatch({
    ...options,
    onHeaders: (context, req) => {
      attempt(() => {
        const body = context.first('body');
        if (body !== undefined && !req.readableDidRead) body.unread = true;
        const request = context.first('request');
        if (request?.live === req) request.session = plainPropertyOf(req, 'session').value;
      });
    },
    onClose: (context, req) => {
      tracker.forget(req);
      attempt(() => {
        options.observeApp?.(req);
        const request = context.first('request');
        if (request?.live === req) request.live = leftOn(req);
        const body = context.first('body');
        if (body !== undefined) leaveBody(body);
        onFinish?.(context, req);
      });
      recorder.finish(context);
    },
  });

  function observeServer(req: IncomingMessage): void {
    const server = onServer === undefined ? undefined : serverOf(req);
    if (server === undefined || servers.has(server)) return;
    servers.add(server);
    onServer?.(server);
  }

  /** The toolbar's frequent requests are kept apart from the pages that somebody opened. */
  function openContext(req: IncomingMessage, own: boolean, isSampled: boolean): Context {
    if (own) return isOfToolbar(req) ? recorder.openInternal() : recorder.open('profiler');
    const reason = summaryReason(req, isSampled);
    return reason === null ? recorder.open('request') : recorder.openSummary(reason);
  }

  function open(req: IncomingMessage, res: ServerResponse, isSampled: boolean): Context {
    const source = sourceOf(req);
    const target = targetOf(req);
    const context = openContext(req, isProfilerTarget(target), isSampled);
    tracker.open(req, context);
    observeServer(req);
    attempt(() => options.observeApp?.(req));
    if (++opened % SWEEP_EVERY === 0) responses.sweep();
    context.add('request', requestFactOf(req, source, context.summary === null));
    const body = context.summary !== null ? null : tapBody(req, previewBytes);
    if (body !== null) context.add('body', body, previewBytes);
    res.setHeader('x-debug-token', context.token);
    res.setHeader('x-debug-token-link', `${source.origin.origin ?? ''}${urls.profile(context.token)}`);
    return context;
  }

  function watch(req: IncomingMessage, res: ServerResponse, next: () => void): void {
    // A request that was derived from another one has its response.
    if (isOther(req) || isMadeUp(req, res) || tracker.isOpen(req) || tracker.isOpen(res.req)) {
      next();
      return;
    }
    if (res.hasHeader('x-debug-token')) {
      // Its token would be replaced by one that its pages, which respond first, don't know.
      if (!other) options.onOtherProfiler?.(OTHER_PROFILER);
      other = true;
      next();
      return;
    }
    const ready = options.values?.whenReady(req, applicationTarget) ?? null;
    if (ready === null) start(req, res, next);
    else
      void ready.then(() => {
        start(req, res, next);
      });
  }

  function start(req: IncomingMessage, res: ServerResponse, next: () => void): void {
    const asked = options.cpu?.sampler.reasonFor(req) ?? null;
    if (options.cpu === undefined || asked === null) serveUnsampled(req, res, next);
    else if (asked === 'header')
      void options.cpu.mayAsk(req).then((may) => {
        serveSampled(may ? asked : null, req, res, next);
      });
    else serveSampled(asked, req, res, next);
  }

  /** A request that can't be opened is served, and not recorded. */
  function serveUnsampled(req: IncomingMessage, res: ServerResponse, next: () => void): void {
    const context = attempt(() => open(req, res, false));
    if (context === undefined) next();
    else serve(context, req, res, next);
  }

  function serveSampled(
    asked: CpuReason | null,
    req: IncomingMessage,
    res: ServerResponse,
    next: () => void,
  ): void {
    const sampler = options.cpu?.sampler;
    if (sampler === undefined || asked === null || isProfilerTarget(targetOf(req))) {
      serveUnsampled(req, res, next);
      return;
    }
    const context = sampler.begin(asked, () => open(req, res, true));
    sampler.run(context, () => {
      serve(context, req, res, next);
    });
  }

  function serve(context: Context, req: IncomingMessage, res: ServerResponse, next: () => void): void {
    responses.watch(res, context);
    if (context.summary !== null) {
      next();
      return;
    }
    // The listeners of a request with a body run in its context, whoever emits.
    if (context.first('body') !== undefined)
      setMethod(req, 'emit', tracker.bindTo(context, req.emit.bind(req)));
    if (context.kind === 'request' && options.toolbar !== undefined)
      attachToolbar(req, res, { ...options.toolbar, context });
    tracker.run(context, () => {
      for (const observe of onRequest)
        attempt(() => {
          observe(context);
        });
      next();
    });
  }
  return Object.assign(watch, {
    watchServer: (server: Server) => {
      onServer?.(server);
    },
  });
}
