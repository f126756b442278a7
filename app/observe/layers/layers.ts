/**
 * Facts `layer` (one per middleware, handler, router, error handler and parameter callback that ran) and `route`, from the calls that
 * layer-dispatch.ts reports. `next()` calls aren't observed: we infer them from the start of the following layer, and attribute an
 * error passed to `next` to the layer that ran last.
 */
import type { IncomingMessage } from 'node:http';
import { type Context, type ContextTracker, createSlot } from '../../profiler/record/context.ts';
import type { ErrorFact, ResponseFact, RouteFact } from '../../profiler/record/facts.ts';
import {
  CATCH_ALL,
  type Layer,
  patternText,
  routerOf,
  stackOf,
} from '../../profiler/record/express-routers.ts';
import {
  baseOf,
  type CallKind,
  copyParams,
  joinPatterns,
  createLayerCall,
  type LayerCall,
  type RoutedRequest,
} from './layer-call.ts';
import { createLayerDispatch, type DispatchTrace } from './layer-dispatch.ts';
import { field, isObject } from '../../profiler/record/safe-read.ts';
import type { FindNextCaller } from '../stacks/caller.ts';
import { isFailure, notePassedOn, recordError, recordPassedOn } from '../errors-seen.ts';
import type { LayerFact, LayerKind } from './layer-fact.ts';
import { notePut, noteRemoved, type SeenNames } from './layer-names.ts';
import { createKnownLayers, fullPattern, type LayerMeta } from './known-layers.ts';

const PARAMETERS = 4;
/** `error, req` at the beginning of a function. */
const ERROR_FIRST =
  /^(?:async\s*)?(?:function\b[^(]*)?\(\s*_?(?:err|error|exception|e)\s*,\s*_?req(?:uest)?\b/;
const START = 200;

function misdeclaredHandler(router: unknown): Layer | undefined {
  return stackOf(router)?.find(({ handle, route }) => {
    if (route !== undefined || typeof handle !== 'function' || handle.length >= PARAMETERS) return false;
    return ERROR_FIRST.test(Function.prototype.toString.call(handle).slice(0, START));
  });
}

export interface LayerObserverOptions {
  tracker: Pick<ContextTracker, 'of'>;
  sourceOf?: (layer: object) => string | null;
  isOfLibrary?: (layer: object) => boolean;
  findNextCaller?: FindNextCaller;
  onRouter?: (router: unknown) => void;
  onMounted?: (layer: object, app: unknown) => void;
}

interface Mount {
  /** null: a mounted application, whose router is unknown before its first layer runs. */
  owner: object | null;
  pattern: string;
  base?: string | null;
  layer: Layer | null;
}

interface RequestTrace {
  context: Context;
  mounts: Mount[];
  facts: LayerFact[];
  open: LayerFact[];
  route: { key: unknown; fact: RouteFact } | null;
  error: unknown;
  failure: ErrorFact | null;
  handler: Layer | null;
  isUnanswered: boolean;
  names: SeenNames;
}

/** The router's own failure to decode a path: no layer threw it. */
function isOfMatching(error: unknown): boolean {
  return error instanceof URIError && error.message.startsWith('Failed to decode param');
}

/**
 * Of `connect-timeout`, which gave up waiting: the layer that runs did not fail. The stack is not read here: its first read fixes its first
 * line, and the application may still change the message.
 */
function isOfTimeout(error: unknown): boolean {
  return (
    isObject(error) && field(error, 'code') === 'ETIMEDOUT' && typeof field(error, 'timeout') === 'number'
  );
}

function isAfterHeaders(context: Context, { startMs }: LayerFact): boolean {
  const headersAtMs = context.first('response')?.headersAtMs ?? null;
  return headersAtMs !== null && startMs > headersAtMs;
}

/** Express responds to OPTIONS by itself: with the methods of the routes that match. */
function isOptionsList(response: ResponseFact, method: string): boolean {
  const isName = (text: string, index: number): boolean => index % 2 === 0 && text.toLowerCase() === 'allow';
  return method === 'OPTIONS' && response.status === 200 && response.rawHeaders.some(isName);
}

/** What `next` takes as an instruction, not an error. */
function isSignal(error: unknown): boolean {
  return error === 'route' || error === 'router';
}

/** Segments of a path that a pattern names. */
function wordsIn(pattern = ''): number {
  return pattern.split('/').filter((segment) => /^[\w.-]+$/.test(segment)).length;
}

function createLayerTrace(
  {
    tracker,
    sourceOf = () => null,
    isOfLibrary = () => false,
    onMounted = () => undefined,
    findNextCaller,
  }: LayerObserverOptions,
  observeRouter: (router: unknown) => void,
): DispatchTrace & { noteMount(context: Context): void } {
  const layers = createKnownLayers({ sourceOf, isOfLibrary, observeRouter });
  const traces = createSlot<RequestTrace>('layers');
  /** Where a router is mounted, once a request recorded in full has shown it; null if it is mounted in several places. */
  const mountPatterns = new WeakMap<object, string | null>();

  function traceOf(context: Context, owner: object | null, first: LayerCall): RequestTrace {
    const known = traces.get(context);
    if (known !== undefined) return known;
    const trace: RequestTrace = {
      context,
      mounts: [{ owner, pattern: baseOf(first), layer: null }],
      facts: [],
      open: [],
      route: null,
      error: undefined,
      failure: null,
      handler: null,
      isUnanswered: false,
      names: { body: [], req: [], locals: [] },
    };
    traces.set(context, trace);
    return trace;
  }

  /** A router that a middleware calls by itself, as LoopBack's does, is below it like one that is mounted there. */
  function calledBy(caller: LayerFact | null, owner: object | null, base: string | null): Mount | null {
    if (caller?.kind !== 'middleware' || caller.outcome !== 'running' || caller.pattern === '/') return null;
    // Once the middleware has called `next()`, the base is shorter again.
    if (base !== null && base.split('/').length < caller.pattern.split('/').length) return null;
    return { owner, pattern: caller.pattern, base, layer: null };
  }

  /** Drops the routers that are finished, so that the innermost open one contains the layer. */
  function enter(trace: RequestTrace, owner: object | null, call: LayerCall): Mount {
    const { mounts } = trace;
    const innermost = mounts[mounts.length - 1];
    if (innermost === undefined) return { owner: null, pattern: '', layer: null };
    if (owner !== null && innermost.owner === owner) return innermost;
    // The owner of a layer is unknown if its router was never mounted.
    const base = owner === null ? baseOf(call) : null;
    const at = mounts.findLastIndex((mount) =>
      base === null ? mount.owner === owner : mount.owner === null && mount.base === base,
    );
    if (at !== -1) {
      mounts.length = at + 1;
      return mounts[at] ?? innermost;
    }
    if (owner === null || innermost.owner !== null) {
      const called = calledBy(runningIn(trace), owner, base);
      if (called !== null) mounts.push(called);
      return called ?? innermost;
    }
    if (innermost.layer !== null) onMounted(innermost.layer, (call.req as RoutedRequest).app);
    innermost.owner = owner;
    return innermost;
  }

  /** A layer starts: those before it, at its depth or deeper, have called `next()`. */
  function markNextCalled(facts: readonly LayerFact[], depth: number, now: number): void {
    for (let index = facts.length - 1; index >= 0; index--) {
      const fact = facts[index];
      if (fact === undefined || fact.depth < depth || (fact.depth === depth && fact.nextMs !== null)) return;
      if (fact.nextMs !== null) continue;
      fact.nextMs = now - fact.startMs;
      if (fact.outcome === 'running') fact.outcome = 'next';
    }
  }

  /** Something is called although the headers were sent: notes who called `next()`. */
  function noteNextCaller(context: Context): void {
    const response = context.first('response');
    if (response !== undefined && response.nextFrom === undefined) response.nextFrom = findNextCaller?.();
  }

  /** The layer that ran last called `next()` although the response was over: no layer is recorded any more, but that is. */
  function markNextAfterEnd(context: Context): void {
    const facts = traces.get(context)?.facts;
    const fact = facts?.[facts.length - 1];
    if (fact?.outcome !== 'running' || fact.nextMs !== null) return;
    fact.nextMs = context.elapsedMs() - fact.startMs;
    fact.outcome = 'next';
    noteNextCaller(context);
    context.changed();
  }

  /** Whether a router went on behind the error handler to this layer; otherwise the handler itself called a router to respond. */
  function isBehindHandler({ mounts, handler }: RequestTrace, at: number, layer: Layer): boolean {
    const stack = stackOf(mounts[at]?.owner);
    const reached = mounts[at + 1]?.layer ?? handler;
    if (stack === null || reached === null) return false;
    const positionOf = (one: Layer): number => stack.indexOf(layers.inStack(one));
    return positionOf(reached) !== -1 && positionOf(layer) >= positionOf(reached);
  }

  /** The error handler called `next()` without the error; it may do so once it has responded. */
  function noteDropped(trace: RequestTrace, { res }: RoutedRequest): void {
    const { failure } = trace;
    if (failure !== null && res?.headersSent !== true) failure.dropped = true;
  }

  function noteRoute(trace: RequestTrace, { req, route, params }: LayerCall, fact: LayerFact): void {
    const handler = fact.name === '<anonymous>' ? null : fact.name;
    if (trace.route?.key === route && trace.route?.fact.pattern === fact.pattern) {
      trace.route.fact.handler = handler;
      return;
    }
    // Handlers that a framework still calls when the first one has responded are not the route.
    if (trace.route !== null && isAfterHeaders(trace.context, fact)) return;
    const made: RouteFact = {
      pattern: fact.pattern,
      method: fact.method ?? req.method ?? '',
      params: copyParams(params),
      handler,
      source: fact.source,
    };
    trace.route = { key: route, fact: made };
    trace.context.add('route', made);
  }

  /** Whether its handlers called `next()`, and something else responded. */
  function isPassedOn({ facts }: RequestTrace, { pattern }: RouteFact, headersAtMs: number): boolean {
    const handler = facts.findLast((fact) => fact.kind === 'handler' && fact.pattern === pattern);
    return handler?.outcome === 'next' && headersAtMs >= handler.startMs + (handler.nextMs ?? Infinity);
  }

  /**
   * The mount of the middleware that responded. One that responds with 404 may be there for
   * unknown paths, but a callback of `app.param` runs for a path that has a route.
   */
  function mountOf(context: Context, trace: RequestTrace, response: ResponseFact): RouteFact | null {
    const fact = trace.facts[trace.facts.length - 1];
    if (trace.isUnanswered || fact?.outcome !== 'running') return null;
    if (fact.kind !== 'middleware' && fact.kind !== 'param') return null;
    const isMiddleware = fact.kind === 'middleware';
    if (isMiddleware && (response.status === 404 || response.status === 405)) return null;
    const method = context.first('request')?.method ?? '';
    if (isOptionsList(response, method)) return null;
    const handler = fact.name === '<anonymous>' || !isMiddleware ? null : fact.name;
    return { pattern: fact.pattern, method, params: {}, handler, source: fact.source };
  }

  /** No handler responded: the mount of the middleware that did is the route. A route that named more of the path keeps its name. */
  function noteMount(context: Context): void {
    const trace = traces.get(context);
    const response = context.first('response');
    if (trace === undefined || typeof response?.headersAtMs !== 'number') return;
    const known = trace.route?.fact;
    if (known !== undefined && !isPassedOn(trace, known, response.headersAtMs)) return;
    const made = mountOf(context, trace, response);
    if (known !== undefined && CATCH_ALL.test(known.pattern)) context.retract('route');
    else if (known !== undefined && wordsIn(made?.pattern) <= wordsIn(known.pattern)) return;
    if (made === null) return;
    trace.route = { key: null, fact: made };
    context.add('route', made);
    // `/ · serveStatic` is not the home page.
    const { handler } = made;
    if (handler !== null && context.first('routeLabel') === undefined) context.add('routeLabel', handler);
  }

  function kindOf(call: LayerCall, meta: LayerMeta): LayerKind {
    if (call.param !== null) return 'param';
    if (call.isErrorHandler) return 'error';
    if ('method' in call.layer) return 'handler';
    return meta.isRouter || meta.isApplication ? 'router' : 'middleware';
  }

  function started(req: IncomingMessage, layer: Layer, kind?: CallKind): LayerCall | null {
    const context = tracker.of(req);
    if (context === undefined) return null;
    if (context.ended) {
      // A middleware may be there for what is left to do; a handler means to respond.
      if ('method' in layer) markNextAfterEnd(context);
      return null;
    }
    if (context.summary !== null) {
      if ('method' in layer) noteSummaryRoute(context, createLayerCall(req, layer, context, kind));
      return null;
    }
    const call = createLayerCall(req, layer, context, kind);
    begin(call);
    context.runLayer(call.fact);
    return call;
  }

  function noteMountPattern(router: object, pattern: string): void {
    const known = mountPatterns.get(router);
    if (known === undefined) mountPatterns.set(router, pattern);
    else if (known !== pattern) mountPatterns.set(router, null);
  }

  /** Of a request of which only a summary is recorded: the route that its last handler belongs to. */
  function noteSummaryRoute(context: Context, call: LayerCall): void {
    const { layer, req, params } = call;
    const { name, owner, source } = layers.metaOf(layer, req);
    const mount = (owner === null ? undefined : mountPatterns.get(owner)) ?? baseOf(call);
    const made: RouteFact = {
      pattern: joinPatterns(mount, patternText(call.pattern)),
      method: layer.method?.toUpperCase() ?? req.method ?? '',
      params: copyParams(params),
      handler: name === '<anonymous>' ? null : name,
      source,
    };
    context.add('route', made);
  }

  /** The innermost call that has not returned, else the one that started last. */
  function runningIn(trace: RequestTrace | undefined): LayerFact | null {
    return trace?.open[trace.open.length - 1] ?? trace?.facts[trace.facts.length - 1] ?? null;
  }

  function begin(call: LayerCall): void {
    const { context, layer, req, startMs } = call;
    const meta = layers.metaOf(layer, req);
    const trace = traceOf(context, meta.owner, call);
    if (trace.handler !== null && !call.isErrorHandler) {
      const at = trace.mounts.findLastIndex(({ owner }) => owner !== null && owner === meta.owner);
      if (isBehindHandler(trace, at, layer)) noteDropped(trace, req);
      trace.failure = null;
      trace.handler = null;
    }
    const mount = enter(trace, meta.owner, call);
    const depth = trace.mounts.length - 1;
    const kind = kindOf(call, meta);
    const fact: LayerFact = {
      name: call.param === null ? meta.name : `:${call.param}`,
      kind,
      pattern: fullPattern(meta, mount.pattern, call.pattern),
      method: kind === 'handler' ? (layer.method?.toUpperCase() ?? null) : null,
      source: meta.source,
      startMs,
      durationMs: null,
      settledMs: null,
      nextMs: null,
      outcome: 'running',
      error: false,
      depth,
      ...(meta.setsQuery === undefined ? {} : { setsQuery: meta.setsQuery }),
      ...(meta.isOfLibrary ? { isOfLibrary: true } : {}),
    };
    markNextCalled(trace.facts, depth, startMs);
    noteRemoved(trace.names, req, trace.facts.at(-1));
    notePut(trace.names, req, trace.facts.at(-1));
    if ((req as RoutedRequest).res?.headersSent === true && kind !== 'error') noteNextCaller(context);
    trace.isUnanswered = false;
    trace.facts.push(fact);
    trace.open.push(fact);
    if (!call.isErrorHandler) trace.error = undefined;
    else if (trace.failure !== null) {
      trace.failure.handler = fact;
      trace.handler = layer;
    }
    call.fact = fact;
    context.add('layer', fact, 200);
    if (kind === 'handler') noteRoute(trace, call, fact);
    if (kind === 'router') {
      const pattern = fact.pattern === '/' ? '' : fact.pattern;
      const owner = meta.isRouter ? (layer.handle as object) : null;
      trace.mounts.push({ owner, pattern, layer });
      if (owner !== null) noteMountPattern(owner, pattern);
    }
  }

  function markThrew(fact: LayerFact | null): void {
    if (fact === null) return;
    fact.error = true;
    fact.outcome = 'threw';
  }

  /** An error belongs to the layer that threw it, not to those that pass it on. */
  function failed(call: LayerCall, error: unknown): void {
    const trace = traces.get(call.context);
    if (trace === undefined || !error || isSignal(error) || trace.error === error) return;
    trace.error = error;
    markThrew(call.fact);
    trace.failure = recordError(call.context, error, { origin: 'passed on', layer: call.fact });
  }

  function threwFalsy({ context, fact }: LayerCall, thrown: unknown): void {
    markThrew(fact);
    notePassedOn(context, thrown, fact);
  }

  function errorPassedToNext(req: IncomingMessage, error: unknown): void {
    const context = tracker.of(req);
    if (context === undefined || context.ended) return;
    if (context.summary !== null) {
      if (!isFailure(error)) notePassedOn(context, error, null);
      else if (!context.all('error').some((known) => known.error === error))
        recordError(context, error, { origin: 'passed on', layer: null });
      return;
    }
    const trace = traces.get(context);
    if (trace === undefined || trace.error === error) return;
    trace.error = error;
    if (!isFailure(error)) {
      notePassedOn(context, error, runningIn(trace));
      return;
    }
    const fact = isOfMatching(error) || isOfTimeout(error) ? null : runningIn(trace);
    markThrew(fact);
    trace.failure = recordError(context, error, { origin: 'passed on', layer: fact });
  }

  function leftRouter(req: IncomingMessage, error: unknown): void {
    if (error && !isSignal(error)) errorPassedToNext(req, error);
    const context = tracker.of(req);
    const trace = context === undefined ? undefined : traces.get(context);
    if (context === undefined || trace === undefined) return;
    // An error is no `next()`: the framework may have responded with it already.
    const isNext = !error || isSignal(error);
    if (context.ended && isNext) markNextAfterEnd(context);
    // What called the application goes on: a framework around it, or Express's own 404.
    else if (isNext) markNextCalled(trace.facts, trace.facts.at(-1)?.depth ?? 0, context.elapsedMs());
    trace.isUnanswered = true;
    if (trace.failure === null) return;
    if (isNext) {
      if (trace.handler !== null) noteDropped(trace, req);
      return;
    }
    trace.failure.handler = null;
    const layer = misdeclaredHandler(routerOf((req as RoutedRequest).app));
    if (layer === undefined) return;
    const { name } = layers.metaOf(layer, req);
    const parameters = (layer.handle as { length: number }).length;
    trace.failure.misdeclared = { name, source: sourceOf(layer), parameters };
  }

  function elapsedMs({ context, startMs }: LayerCall): number {
    return context.elapsedMs() - startMs;
  }

  function leave({ context, req }: LayerCall, fact: LayerFact): void {
    const trace = traces.get(context);
    const at = trace?.open.lastIndexOf(fact) ?? -1;
    if (trace !== undefined && at !== -1) trace.open.length = at;
    if (trace !== undefined) notePut(trace.names, req, fact);
    context.runLayer(runningIn(trace));
  }

  return {
    started,
    ended(call) {
      const { fact } = call;
      if (fact?.durationMs !== null) return;
      fact.durationMs = elapsedMs(call);
      leave(call, fact);
    },
    settled(call) {
      if (call.fact !== null) call.fact.settledMs ??= elapsedMs(call);
    },
    failed,
    threwFalsy,
    errorPassedToNext,
    leftRouter,
    noteMount,
    registerOwner(layer, router) {
      layers.registerOwner(layer, router);
    },
  };
}

/** Nothing that goes wrong here may reach the host. */
function guarded<Args extends unknown[], T>(note: (...args: Args) => T, otherwise: T): (...args: Args) => T {
  return (...args) => {
    try {
      return note(...args);
    } catch {
      // The layer is missing from the trace; the request continues.
      return otherwise;
    }
  };
}

/** Traces the layers of the applications that it observes, until closed. */
export function createLayerObserver(options: LayerObserverOptions) {
  const known = new WeakSet();
  const observeRouter = (router: unknown): void => {
    options.onRouter?.(router);
    dispatch.observeRouter(router);
  };
  const trace = createLayerTrace(options, observeRouter);
  const dispatch = createLayerDispatch({
    started: guarded(trace.started, null),
    ended: guarded(trace.ended, undefined),
    settled: guarded(trace.settled, undefined),
    failed: guarded(trace.failed, undefined),
    threwFalsy: guarded(trace.threwFalsy, undefined),
    errorPassedToNext: guarded(trace.errorPassedToNext, undefined),
    leftRouter: guarded(trace.leftRouter, undefined),
    registerOwner: guarded(trace.registerOwner, undefined),
  });
  return {
    /** The response is finished: a mounted middleware may have sent it. */
    onFinish: guarded((context: Context) => {
      trace.noteMount(context);
      recordPassedOn(context);
    }, undefined),
    /** The application of a request; observed once. */
    observeApplication: guarded((app: unknown) => {
      if (typeof app !== 'function' || known.has(app)) return;
      known.add(app);
      observeRouter(routerOf(app));
      dispatch.observeEnd(routerOf(app));
    }, undefined),
    observeRouter: guarded(observeRouter, undefined),
    observeLibrary: guarded(dispatch.observeLibrary, undefined),
    close: dispatch.close,
  };
}
