/**
 * Reports each call of a layer of Express 4 or 5: `handleRequest` and `handleError` of the prototype that a router's layers share are replaced.
 * The tracing channel of Express 5.3 is not used: it gives handlers another `next` than `req.next`, and costs twice as much (decision 16).
 * Callbacks of `router.param` are not layers: they are wrapped in the lists of their router.
 */
import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { types } from 'node:util';
import { type Layer, stackOf } from '../../profiler/record/express-routers.ts';
import { isNativePromise } from '../channels/trace.ts';
import { replaceMethod } from '../channels/wrap-method.ts';
import type { CallKind, LayerCall } from './layer-call.ts';
import { createUndoList } from '../undo-list.ts';

/** Express 5.3's own methods publish to their subscribers, such as other tracers. */
const CHANNELS = ['start', 'asyncStart', 'asyncEnd', 'error'].map((event) =>
  channel(`tracing:express.router.request:${event}`),
);

function isTracedByOthers(): boolean {
  return CHANNELS.some(({ hasSubscribers }) => hasSubscribers);
}

export interface DispatchTrace {
  started(req: IncomingMessage, layer: Layer, kind?: CallKind): LayerCall | null;
  ended(call: LayerCall): void;
  settled(call: LayerCall): void;
  failed(call: LayerCall, error: unknown): void;
  /** Express takes something falsy that was thrown for a call of `next()`. */
  threwFalsy(call: LayerCall, thrown: unknown): void;
  /** An error looks for its handler: the layer that ran last passed it to `next`, or it is known already. */
  errorPassedToNext(req: IncomingMessage, error: unknown): void;
  /** The router of an application is done: nothing in it responded, or handled the error. */
  leftRouter(req: IncomingMessage, error: unknown): void;
  /** The router of a layer that is not in its stack: one made for a callback of `router.param`. */
  registerOwner(layer: Layer, router: object): void;
}

type Next = (error?: unknown) => void;
type Method = (...args: unknown[]) => unknown;
type ParamHandle = (
  req: IncomingMessage,
  res: ServerResponse,
  next: Next,
  value: unknown,
  name: string,
) => unknown;

const FOR_REQUESTS: CallKind = { isErrorHandler: false, param: null };
const FOR_ERRORS: CallKind = { isErrorHandler: true, param: null };

const REQUEST_METHODS = ['handleRequest', 'handle_request'];
const ERROR_METHODS = ['handleError', 'handle_error'];

/** A router's own method, minified or not: it begins by reading the layer's function. Another tracer's wrapper does not. */
const OWN_METHOD = /^function ?[\w$]* ?\([\w$, ]+\) ?\{\s*(?:var|let|const) [\w$]+ ?= ?this\.handle\b/;

/** Attaching `then` marks a promise as handled: where the router does not handle rejections, our own handler has to throw the error again. */
type PromiseHandling = 'handled' | 'ignored' | 'unknown';

function promiseHandlingOf(name: string, source: string): PromiseHandling {
  if (name === 'handleRequest' || name === 'handleError') return 'handled';
  return OWN_METHOD.test(source) && !/then|promise/i.test(source) ? 'ignored' : 'unknown';
}

/** The layer with another function, which has the name, length and properties of its own: other tracers look at them. */
function withHandle(layer: Layer, handle: Method, run: (self: unknown, args: unknown[]) => unknown): Layer {
  const proxy = new Proxy(handle, { apply: (_handle, self, args: unknown[]) => run(self, args) });
  return Object.create(layer, { handle: { value: proxy } }) as Layer;
}

const DEFAULT_FRAMES = 10;
const FRAMES = 30;

/** A stack has frames of ours. If the application has Node's limit, it is raised, so that no frame of the application is pushed out. */
function raiseStackLimit(): () => void {
  if (Error.stackTraceLimit !== DEFAULT_FRAMES) return () => undefined;
  Reflect.set(Error, 'stackTraceLimit', FRAMES);
  return () => {
    if (Error.stackTraceLimit === FRAMES) Reflect.set(Error, 'stackTraceLimit', DEFAULT_FRAMES);
  };
}

export function createLayerDispatch(trace: DispatchTrace) {
  const observed = new WeakSet();
  const promiseHandling = new WeakMap<object, PromiseHandling>();
  const restore: (() => void)[] = [raiseStackLimit()];
  /** Changed lists of param callbacks, and routers of applications. */
  const changed = createUndoList();
  let closed = false;

  function returned(call: LayerCall, result: unknown, handle: unknown, promises: PromiseHandling): void {
    trace.ended(call);
    // Of a function that is not `async`, somebody else may have the promise, too.
    const mayWatch = promises === 'handled' || (promises === 'ignored' && types.isAsyncFunction(handle));
    if (!mayWatch || !isNativePromise(result)) return;
    result.then(
      () => {
        trace.settled(call);
      },
      // Runs before the router's own handler, which is attached later.
      (error: unknown) => {
        trace.failed(call, error);
        trace.settled(call);
        if (promises === 'ignored') throw error;
      },
    );
  }

  function threw(call: LayerCall, error: unknown): void {
    if (error) trace.failed(call, error);
    else trace.threwFalsy(call, error);
    trace.ended(call);
  }

  function callOf(layer: Layer, args: readonly unknown[], kind: CallKind): LayerCall | null {
    const { handle, route } = layer;
    if (closed || typeof handle !== 'function') return null;
    const isCalled = kind.isErrorHandler ? handle.length === 4 : handle.length <= 3 && route === undefined;
    return isCalled ? trace.started(args[kind.isErrorHandler ? 1 : 0] as IncomingMessage, layer, kind) : null;
  }

  function tracing(original: Method, kind: CallKind, promises: PromiseHandling): Method {
    const isOwn = OWN_METHOD.test(Function.prototype.toString.call(original));

    /** Others see the call in their own wrapper, or on the channel, so the original has to make it. */
    function tracedInside(call: LayerCall, layer: Layer, handle: Method, args: unknown[]): unknown {
      const traced = withHandle(layer, handle, (self, given) => {
        let result: unknown;
        try {
          result = Reflect.apply(handle, self, given);
        } catch (error) {
          threw(call, error);
          throw error;
        }
        returned(call, result, handle, promises);
        return result;
      });
      try {
        return Reflect.apply(original, traced, args);
      } finally {
        trace.ended(call);
      }
    }

    return function hindsightLayer(this: Layer, ...args: unknown[]): unknown {
      if (kind.isErrorHandler && !closed) trace.errorPassedToNext(args[1] as IncomingMessage, args[0]);
      const call = callOf(this, args, kind);
      if (call === null) return Reflect.apply(original, this, args);
      const handle = this.handle as Method;
      if (!isOwn || isTracedByOthers()) return tracedInside(call, this, handle, args);
      // Called here and not by the original, so that a stack has one frame of ours in place of the router's.
      let result: unknown;
      try {
        result = handle(...args);
      } catch (error) {
        threw(call, error);
        const fails = withHandle(this, handle, () => {
          throw error;
        });
        return Reflect.apply(original, fails, args);
      }
      returned(call, result, handle, promises);
      // What a router does with a promise differs from version to version.
      if (result !== undefined)
        Reflect.apply(
          original,
          withHandle(this, handle, () => result),
          args,
        );
      return undefined;
    };
  }

  /** Replaces methods; restored at close unless somebody else has replaced ours. */
  function wrap(prototype: object, names: readonly string[], kind: CallKind): void {
    for (const name of names) {
      const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
      if (descriptor?.configurable !== true || typeof descriptor.value !== 'function') continue;
      const original = descriptor.value as Method;
      const promises = promiseHandlingOf(name, Function.prototype.toString.call(original));
      if (!promiseHandling.has(prototype)) promiseHandling.set(prototype, promises);
      const methods = prototype as Record<string, Method>;
      restore.push(replaceMethod(methods, name, tracing(original, kind, promises)));
    }
  }

  function observeLayer(layer: Layer): void {
    const prototype = Object.getPrototypeOf(layer) as object | null;
    if (prototype === null || prototype === Object.prototype || observed.has(prototype)) return;
    observed.add(prototype);
    wrap(prototype, REQUEST_METHODS, FOR_REQUESTS);
    wrap(prototype, ERROR_METHODS, FOR_ERRORS);
  }

  function tracingParam(original: ParamHandle, router: object, promises: PromiseHandling): ParamHandle {
    const layer: Layer = { handle: original };
    trace.registerOwner(layer, router);
    return function hindsightParam(this: unknown, req, res, next, value, name) {
      const call = closed ? null : trace.started(req, layer, { isErrorHandler: false, param: name });
      if (call === null) return original.call(this, req, res, next, value, name);
      let result: unknown;
      try {
        result = original.call(this, req, res, next, value, name);
      } catch (error) {
        threw(call, error);
        throw error;
      }
      returned(call, result, original, promises);
      return result;
    };
  }

  function observeParams(router: object, promises: PromiseHandling): void {
    for (const callbacks of Object.values((router as { params?: object }).params ?? {})) {
      if (!Array.isArray(callbacks) || observed.has(callbacks) || Object.isFrozen(callbacks)) continue;
      observed.add(callbacks);
      const originals = callbacks as unknown[];
      const before = [...originals];
      const made = before.map((original) =>
        typeof original === 'function' ? tracingParam(original as ParamHandle, router, promises) : original,
      );
      for (const [index, ours] of made.entries()) originals[index] = ours;
      changed.add(originals, () => {
        for (const [index, ours] of made.entries())
          if (originals[index] === ours) Reflect.set(originals, index, before[index]);
      });
    }
  }

  /** The router of an application, which reports when it is done: as an own property, because routers inside it are none of an application. */
  function observeEnd(given: unknown): void {
    if (stackOf(given) === null || closed) return;
    const router = given as { handle?: unknown };
    const original: unknown = router.handle;
    if (typeof original !== 'function') return;
    function hindsightRouter(this: unknown, ...args: unknown[]): unknown {
      const [req, , done] = args as [IncomingMessage, unknown, unknown];
      if (closed || typeof done !== 'function') return Reflect.apply(original as Method, this, args);
      function hindsightDone(this: unknown, ...given: unknown[]): unknown {
        trace.leftRouter(req, given[0]);
        return Reflect.apply(done as Method, this, given);
      }
      args[2] = hindsightDone;
      return Reflect.apply(original as Method, this, args);
    }
    changed.add(router, replaceMethod(router, 'handle', hindsightRouter));
  }

  /** A router, whose layers may come from another copy of the library. */
  function observeRouter(router: unknown): void {
    const stack = stackOf(router);
    if (stack === null || closed) return;
    for (const layer of stack) {
      observeLayer(layer);
      for (const inner of stackOf(layer.route) ?? []) observeLayer(inner);
    }
    const [first] = stack;
    if (first !== undefined)
      observeParams(
        router as object,
        promiseHandling.get(Object.getPrototypeOf(first) as object) ?? 'unknown',
      );
  }

  return {
    observeRouter,
    observeEnd,
    /** `Router` of a library: its layers are observed from the first request on, wherever the profiler is mounted. */
    observeLibrary(Router: unknown): void {
      try {
        const router = (Router as () => { use(handle: () => void): void })();
        router.use(() => undefined);
        observeRouter(router);
      } catch {
        // Not Express's Router: applications are observed with their first request.
      }
    },
    close(): void {
      closed = true;
      for (const undo of restore.splice(0).reverse()) undo();
      changed.undo();
    },
  };
}
