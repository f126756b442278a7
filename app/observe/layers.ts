/**
 * What the routers ran for a request, as it ran: facts `layer`, one per middleware, handler, router, error handler and
 * parameter callback, and the fact `route` with the full pattern.
 *
 * In: the tracing channel `express.router.request` of router 2.3 and later (Express 5.3). Nothing is patched and no
 * routing changes; a channel is process-wide, so requests without a context of this profiler are passed over. The trace
 * itself (`createLayerTrace`) knows nothing of the channel: another source, such as patched prototypes for older
 * routers, calls the same `started` and `ended`.
 *
 * Nothing says when `next()` was called: it is read off the layer that starts after it. So the last layer that ran stays
 * `running` until the answer is over; the routing panel then knows that it answered, or that nothing did.
 * What never changes of a layer is worked out once and kept beside it; no stack is taken per request.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { type Context, createSlot } from '../profiler/context.ts';
import type { RouteFact } from '../profiler/facts.ts';
import { baseOf, joinPatterns, type Layer, type LayerCall, copyParams, patternText } from './layer-call.ts';
import type { LayerFact, LayerKind } from './layer-fact.ts';

export interface LayerObserverOptions {
  contextOf: (req: IncomingMessage) => Context | undefined;
  /** `file:line` where a layer was registered, where that is known. */
  sourceOf?: (layer: object) => string | null;
  /** The code of a layer goes on to the next one, or is over. */
  onLeave?: (req: IncomingMessage, layer: object) => void;
}

export interface LayerTrace {
  started(call: LayerCall): void;
  /** The function returned. */
  ended(call: LayerCall): void;
  /** Its promise settled. */
  settled(call: LayerCall): void;
  failed(call: LayerCall): void;
  /** The layer whose code runs: the innermost call that has not returned, else the one that started last. */
  running(context: Context): LayerFact | null;
}

/** What is known of a layer once and for all. */
interface LayerMeta {
  name: string;
  isRouter: boolean;
  /** A mounted application: its layers turn up under a router that `req.app` names. */
  isApplication: boolean;
  source: string | null;
  /** Router whose stack holds it; null where no stack is known that does. */
  owner: object | null;
  /** Its full pattern as it was worked out last: mostly it is the same again. */
  full: { mount: string; route: unknown; pattern: string };
}

/** An open router of one request. */
interface Mount {
  /** null: a mounted application, whose router is not known before its first layer. */
  owner: object | null;
  pattern: string;
}

interface RequestTrace {
  context: Context;
  mounts: Mount[];
  facts: LayerFact[];
  /** Those whose function has not returned, each called by the one before it. */
  open: LayerFact[];
  /** The route that is being run: what identifies it, and its fact. */
  route: { key: unknown; fact: RouteFact } | null;
}

/** A call with what may be different by the time it is looked at. */
interface StartedCall {
  call: LayerCall;
  startMs: number;
  route: unknown;
  params: unknown;
}

/** Calls kept of a request that is sampled out. */
const MOST_NOTED = 200;
const CHANNEL = 'express.router.request';

function stackOf(router: unknown): readonly Layer[] | null {
  if ((typeof router !== 'object' && typeof router !== 'function') || router === null) return null;
  const { stack } = router as { stack?: unknown };
  return Array.isArray(stack) ? (stack as Layer[]) : null;
}

function fullPattern(meta: LayerMeta, mount: string, route: unknown): string {
  const { full } = meta;
  if (full.mount === mount && full.route === route) return full.pattern;
  meta.full = { mount, route, pattern: joinPatterns(mount, patternText(route)) };
  return meta.full.pattern;
}

function createLayerTrace({
  contextOf,
  sourceOf = () => null,
  onLeave = () => undefined,
}: LayerObserverOptions): LayerTrace {
  const metas = new WeakMap<Layer, LayerMeta>();
  const owners = new WeakMap<Layer, object>();
  /** Layers inside a route -> the layer of the route. */
  const routeLayers = new WeakMap<Layer, Layer>();
  const listed = new WeakMap<object, number>();
  const traces = createSlot<RequestTrace>('layers');
  const outlines = createSlot<StartedCall[]>('calls of layers');
  /** Kept on the call itself, which lives as long: a WeakMap costs as much again as all the rest. */
  const noted = Symbol('noted layer');
  const notedIn = Symbol('context of a noted layer');
  type NotedCall = LayerCall & { [noted]?: LayerFact; [notedIn]?: Context };

  /** Notes which layers a router holds, again when it has grown. */
  function list(router: unknown): void {
    const stack = stackOf(router);
    if (stack === null || listed.get(router as object) === stack.length) return;
    listed.set(router as object, stack.length);
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
    if (!owners.has(layer)) list((req as IncomingMessage & { app?: { router?: unknown } }).app?.router);
    const isRouter = stackOf(layer.handle) !== null;
    if (isRouter) list(layer.handle);
    const meta: LayerMeta = {
      name: typeof layer.name === 'string' && layer.name !== '' ? layer.name.slice(0, 200) : '<anonymous>',
      isRouter,
      isApplication: layer.name === 'mounted_app',
      source: sourceOf(layer) ?? sourceOf(routeLayers.get(layer) ?? layer),
      owner: owners.get(layer) ?? null,
      full: { mount: '', route: '', pattern: '/' },
    };
    metas.set(layer, meta);
    return meta;
  }

  function traceOf(context: Context, owner: object | null, base: string | LayerCall): RequestTrace {
    const known = traces.get(context);
    if (known !== undefined) return known;
    const trace: RequestTrace = {
      context,
      mounts: [{ owner, pattern: typeof base === 'string' ? base : baseOf(base) }],
      facts: [],
      open: [],
      route: null,
    };
    traces.set(context, trace);
    return trace;
  }

  /** Leaves the routers that are over, so that the innermost open one holds the layer. */
  function enter(trace: RequestTrace, owner: object | null): Mount {
    const { mounts } = trace;
    const innermost = mounts[mounts.length - 1];
    if (innermost === undefined) return { owner: null, pattern: '' };
    if (owner === null || innermost.owner === owner) return innermost;
    const at = mounts.findLastIndex((mount) => mount.owner === owner);
    if (at === -1) {
      innermost.owner ??= owner;
      return innermost;
    }
    mounts.length = at + 1;
    return mounts[at] ?? innermost;
  }

  /** A layer starts: those before it that stand no higher have gone on. */
  function wentOn(facts: readonly LayerFact[], depth: number, now: number): void {
    for (let index = facts.length - 1; index >= 0; index--) {
      const fact = facts[index];
      if (fact === undefined || fact.depth < depth || (fact.depth === depth && fact.nextMs !== null)) return;
      if (fact.nextMs !== null) continue;
      fact.nextMs = now - fact.startMs;
      if (fact.outcome === 'running') fact.outcome = 'next';
    }
  }

  function noteRoute(trace: RequestTrace, { call, route, params }: StartedCall, fact: LayerFact): void {
    if (trace.route?.key === route && trace.route?.fact.pattern === fact.pattern) {
      trace.route.fact.handler = fact.name === '<anonymous>' ? null : fact.name;
      return;
    }
    const method = fact.method ?? call.req.method ?? '';
    const handler = fact.name === '<anonymous>' ? null : fact.name;
    const made = {
      pattern: fact.pattern,
      method,
      params: copyParams(params),
      handler,
      source: fact.source,
    };
    trace.route = { key: route, fact: made };
    trace.context.add('route', made);
  }

  function kindOf(call: LayerCall, meta: LayerMeta): LayerKind {
    if (call.param !== undefined) return 'param';
    if (call.errorHandler === true) return 'error';
    if ('method' in call.layer) return 'handler';
    return meta.isRouter || meta.isApplication ? 'router' : 'middleware';
  }

  function started(call: LayerCall): void {
    const context = contextOf(call.req);
    if (context === undefined || context.ended) return;
    const { route, params } = call.req as IncomingMessage & { route?: unknown; params?: unknown };
    const start = { call, startMs: context.elapsedMs(), route, params };
    if (context.outline) note(context, start);
    else begin(context, start, null);
  }

  /** Of a request that is sampled out only the calls are kept: what they mean is worked out when someone asks. */
  function note(context: Context, start: StartedCall): void {
    metaOf(start.call.layer, start.call.req);
    const known = outlines.get(context);
    if (known !== undefined) {
      if (known.length < MOST_NOTED) known.push(start);
      return;
    }
    const starts = [start];
    const base = baseOf(start.call);
    outlines.set(context, starts);
    context.addLater(['layer', 'route'], () => {
      for (const each of starts) begin(context, each, base);
      for (const { call } of starts) if (call.error !== undefined) failed(call);
    });
  }

  function runningIn(trace: RequestTrace | undefined): LayerFact | null {
    return trace?.open[trace.open.length - 1] ?? trace?.facts[trace.facts.length - 1] ?? null;
  }

  /** `base`: where the outermost router is mounted, where that is no longer to be read off the request. */
  function begin(context: Context, start: StartedCall, base: string | null): void {
    const { call, startMs } = start;
    const meta = metaOf(call.layer, call.req);
    const trace = traceOf(context, meta.owner, base ?? call);
    const mount = enter(trace, meta.owner);
    const depth = trace.mounts.length - 1;
    const kind = kindOf(call, meta);
    const fact: LayerFact = {
      name: call.param === undefined ? meta.name : `:${call.param}`,
      kind,
      pattern: fullPattern(meta, mount.pattern, call.route ?? call.layer.rawPath),
      method: kind === 'handler' ? (call.layer.method?.toUpperCase() ?? null) : null,
      source: meta.source,
      startMs,
      durationMs: null,
      settledMs: null,
      nextMs: null,
      outcome: 'running',
      error: false,
      depth,
    };
    const before = runningIn(trace);
    if (before !== null) onLeave(call.req, before);
    wentOn(trace.facts, depth, startMs);
    trace.facts.push(fact);
    trace.open.push(fact);
    (call as NotedCall)[noted] = fact;
    (call as NotedCall)[notedIn] = context;
    context.add('layer', fact, 200);
    if (kind === 'handler') noteRoute(trace, start, fact);
    if (kind === 'router') {
      const pattern = fact.pattern === '/' ? '' : fact.pattern;
      trace.mounts.push({ owner: meta.isRouter ? (call.layer.handle as object) : null, pattern });
    }
  }

  function failed(call: NotedCall): void {
    const fact = call[noted];
    if (fact === undefined) return;
    fact.error = true;
    fact.outcome = 'threw';
  }

  /** Since the layer of a fact started. */
  function elapsedMs(call: NotedCall, { startMs }: LayerFact): number {
    return (call[notedIn]?.elapsedMs() ?? startMs) - startMs;
  }

  function leave(call: NotedCall, fact: LayerFact): void {
    const context = call[notedIn];
    const open = context === undefined ? undefined : traces.get(context)?.open;
    const at = open?.lastIndexOf(fact) ?? -1;
    if (open !== undefined && at !== -1) open.length = at;
  }

  return {
    started,
    running: (context) => runningIn(traces.get(context)),
    ended(call: NotedCall) {
      const fact = call[noted];
      if (fact === undefined) return;
      fact.durationMs ??= elapsedMs(call, fact);
      onLeave(call.req, fact);
      leave(call, fact);
    },
    settled(call: NotedCall) {
      const fact = call[noted];
      if (fact !== undefined) fact.settledMs ??= elapsedMs(call, fact);
    },
    failed,
  };
}

/** Subscribes a trace to the channel until closed. */
export function createLayerObserver(
  options: LayerObserverOptions,
): Pick<LayerTrace, 'running'> & { close(): void } {
  const trace = createLayerTrace(options);
  // The channel belongs to the host: whatever goes wrong here must not reach it.
  const guarded = (note: (call: LayerCall) => void) => (message: unknown) => {
    try {
      note(message as LayerCall);
    } catch {
      // A layer that can't be noted is missing from the trace; the request goes on.
    }
  };
  const subscribers = {
    start: guarded(trace.started),
    end: guarded(trace.ended),
    asyncStart: () => undefined,
    asyncEnd: guarded(trace.settled),
    error: guarded(trace.failed),
  };
  const channel = tracingChannel(CHANNEL);
  channel.subscribe(subscribers);
  return {
    running: trace.running,
    close() {
      channel.unsubscribe(subscribers);
    },
  };
}
