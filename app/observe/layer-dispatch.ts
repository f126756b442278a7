/**
 * Reports each call of a layer of Express 4 or 5: `handleRequest` and `handleError` of the prototype that a router's layers share are replaced.
 * The tracing channel of Express 5.3 is not used: it gives handlers another `next` than `req.next`, and costs twice as much (decision 16).
 * Callbacks of `router.param` are not layers: they are wrapped in the lists of their router.
 */
import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Layer, stackOf } from '../profiler/express-routers.ts';
import type { CallKind, LayerCall } from './layer-call.ts';
import {
  type CallTrace,
  createHandlerProxies,
  type PromiseHandling,
  promiseHandlingOf,
} from './handler-proxy.ts';
import { createLayerMethod, type MethodTrace } from './layer-method.ts';

/**
 * Express 5.3's own methods publish to its subscribers. The service itself subscribes to ends, and to what our replacement leaves to the
 * original (lost-throws.ts).
 */
const CHANNELS = ['start', 'asyncStart', 'asyncEnd', 'error'].map((event) =>
  channel(`tracing:express.router.request:${event}`),
);

function isTracedByOthers(): boolean {
  return CHANNELS[0]?.hasSubscribers === true || CHANNELS.some(({ hasSubscribers }) => hasSubscribers);
}

/** What is reported; none of it may throw. */
export interface DispatchTrace extends CallTrace {
  /** null: the call is not traced. */
  started(req: IncomingMessage, layer: Layer, kind?: CallKind): LayerCall | null;
  /** An error looks for its handler: the layer that ran last passed it to `next`, or it is known already. */
  errorPassedToNext(req: IncomingMessage, error: unknown): void;
  /** The router of an application is done: nothing in it responded, or handled the error. */
  leftRouter(req: IncomingMessage, error: unknown): void;
  /** The router of a layer that is not in its stack: one made for a callback of `router.param`. */
  registerOwner(layer: Layer, router: object): void;
}

export interface LayerDispatch {
  /** A router, whose layers may come from another copy of the library. */
  observeRouter(router: unknown): void;
  /** The router of an application, which reports when it is done. */
  observeEnd(router: unknown): void;
  /** `Router` of a library: its layers are observed from the first request on, wherever the profiler is mounted. */
  observeLibrary(Router: unknown): void;
  close(): void;
}

type Next = (error?: unknown) => void;
type Handle = (req: IncomingMessage, res: ServerResponse, next: Next) => unknown;
type ErrorHandle = (error: unknown, req: IncomingMessage, res: ServerResponse, next: Next) => unknown;
type ParamHandle = (
  req: IncomingMessage,
  res: ServerResponse,
  next: Next,
  value: unknown,
  name: string,
) => unknown;

const FOR_ERRORS: CallKind = { isErrorHandler: true, param: null };

/** Router 2 and Express 4. */
const REQUEST_METHODS = ['handleRequest', 'handle_request'];
const ERROR_METHODS = ['handleError', 'handle_error'];

export function createLayerDispatch(trace: DispatchTrace): LayerDispatch {
  const observed = new WeakSet();
  const promiseHandling = new WeakMap<object, PromiseHandling>();
  const proxies = createHandlerProxies(trace);
  const restore: (() => void)[] = [];
  /** Changed lists of param callbacks, and routers of applications. Weak references: a host may create them for each request. */
  const changed = new Set<WeakRef<object>>();
  const undoOf = new WeakMap<object, () => void>();
  const forgotten = new FinalizationRegistry<WeakRef<object>>((ref) => changed.delete(ref));
  let closed = false;

  /** Not while other tracers subscribe: finding the places in the file calls the method, and they would record the call. */
  const replacementFor: typeof createLayerMethod = (...args) =>
    isTracedByOthers() ? null : createLayerMethod(...args);

  /** What the replacements of both methods have in common. */
  function ofMethod(promises: PromiseHandling): Omit<MethodTrace<LayerCall>, 'open'> {
    return {
      returned: (call, result, handle) => {
        proxies.returned(call, result, { handle, promises });
      },
      threw: proxies.threw,
      passed: (req, error) => {
        if (!closed) trace.errorPassedToNext(req, error);
      },
    };
  }

  function tracingRequest(original: Handle, promises: PromiseHandling): Handle {
    const method = replacementFor(original, 'request', {
      ...ofMethod(promises),
      open(layer, _handle, req) {
        if (closed || isTracedByOthers()) return undefined;
        return layer.route === undefined ? trace.started(req, layer) : null;
      },
    });
    if (method !== null) return method;
    return function handleRequest(this: Layer, req, res, next) {
      const { handle, route } = this as { handle: Handle; route?: unknown };
      const isTraced = !closed && route === undefined && typeof handle === 'function' && handle.length <= 3;
      const call = isTraced ? trace.started(req, this) : null;
      if (call === null) return original.call(this, req, res, next);
      const proxy = proxies.install({ layer: this, handle, call, promises });
      try {
        return original.call(this, req, res, next);
      } finally {
        proxies.remove(proxy);
      }
    };
  }

  function tracingError(original: ErrorHandle, promises: PromiseHandling): ErrorHandle {
    const method = replacementFor(original, 'error', {
      ...ofMethod(promises),
      open(layer, _handle, req) {
        return closed || isTracedByOthers() ? undefined : trace.started(req, layer, FOR_ERRORS);
      },
    });
    if (method !== null) return method;
    return function handleError(this: Layer, error, req, res, next) {
      const { handle } = this as { handle: ErrorHandle };
      if (!closed) trace.errorPassedToNext(req, error);
      const isTraced = !closed && typeof handle === 'function' && handle.length === 4;
      const call = isTraced ? trace.started(req, this, FOR_ERRORS) : null;
      if (call === null) return original.call(this, error, req, res, next);
      const proxy = proxies.install({ layer: this, handle, call, promises });
      try {
        return original.call(this, error, req, res, next);
      } finally {
        proxies.remove(proxy);
      }
    };
  }

  /** Wraps a method, with its name and length; restored at close unless somebody else has replaced ours. */
  function wrap<M extends (...args: never[]) => unknown>(
    prototype: object,
    names: readonly string[],
    make: (original: M, promises: PromiseHandling) => M,
  ): void {
    for (const name of names) {
      const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
      if (descriptor?.configurable !== true || typeof descriptor.value !== 'function') continue;
      const original = descriptor.value as M;
      const promises = promiseHandlingOf(name, original);
      if (!promiseHandling.has(prototype)) promiseHandling.set(prototype, promises);
      const made = Object.defineProperty(make(original, promises), 'name', {
        value: original.name,
        configurable: true,
      });
      Object.defineProperty(prototype, name, { ...descriptor, value: made });
      restore.push(() => {
        if (Object.getOwnPropertyDescriptor(prototype, name)?.value === made)
          Object.defineProperty(prototype, name, descriptor);
      });
    }
  }

  function observeLayer(layer: Layer): void {
    const prototype = Object.getPrototypeOf(layer) as object | null;
    if (prototype === null || prototype === Object.prototype || observed.has(prototype)) return;
    observed.add(prototype);
    wrap(prototype, REQUEST_METHODS, tracingRequest);
    wrap(prototype, ERROR_METHODS, tracingError);
  }

  function tracingParam(original: ParamHandle, router: object, promises: PromiseHandling): ParamHandle {
    const layer: Layer = { handle: original };
    trace.registerOwner(layer, router);
    const traced: ParamHandle = function param(this: unknown, req, res, next, value, name) {
      const call = closed ? null : trace.started(req, layer, { isErrorHandler: false, param: name });
      if (call === null) return original.call(this, req, res, next, value, name);
      let result: unknown;
      try {
        result = original.call(this, req, res, next, value, name);
      } catch (error) {
        proxies.threw(call, error);
        throw error;
      }
      proxies.returned(call, result, { handle: original, promises });
      return result;
    };
    Object.defineProperty(traced, 'name', { value: original.name, configurable: true });
    return Object.defineProperty(traced, 'length', { value: original.length, configurable: true });
  }

  /** `router.params` has a list of callbacks per name. */
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
      undoAtClose(originals, () => {
        for (const [index, ours] of made.entries())
          if (originals[index] === ours) originals[index] = before[index];
      });
    }
  }

  function undoAtClose(target: object, undo: () => void): void {
    undoOf.set(target, undo);
    const ref = new WeakRef(target);
    changed.add(ref);
    forgotten.register(target, ref);
  }

  /** An own property of this router, so that the stacks of routers inside it do not change. */
  function observeEnd(given: unknown): void {
    if (stackOf(given) === null || closed) return;
    const router = given as { handle?: unknown };
    const { handle: original } = router;
    const own = Object.getOwnPropertyDescriptor(router, 'handle');
    if (typeof original !== 'function' || own?.configurable === false || !Object.isExtensible(router)) return;
    const handle = function (this: unknown, ...args: unknown[]): unknown {
      const [req, , done] = args as [IncomingMessage, unknown, unknown];
      if (closed || typeof done !== 'function') return Reflect.apply(original, this, args);
      const left = function (this: unknown, ...given: unknown[]): unknown {
        trace.leftRouter(req, given[0]);
        return Reflect.apply(done as (...args: unknown[]) => unknown, this, given);
      };
      args[2] = left;
      return Reflect.apply(original, this, args);
    };
    Object.defineProperty(handle, 'name', { value: original.name, configurable: true });
    Object.defineProperty(handle, 'length', { value: original.length, configurable: true });
    Object.defineProperty(router, 'handle', {
      value: handle,
      writable: true,
      configurable: true,
      enumerable: own?.enumerable ?? false,
    });
    undoAtClose(router, () => {
      if (router.handle !== handle) return;
      if (own === undefined) delete router.handle;
      else Object.defineProperty(router, 'handle', own);
    });
  }

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
    observeLibrary(Router) {
      try {
        const router = (Router as () => { use(handle: () => void): void })();
        router.use(() => undefined);
        observeRouter(router);
      } catch {
        // Not Express's Router: applications are observed with their first request.
      }
    },
    close() {
      closed = true;
      for (const undo of restore.splice(0).reverse()) undo();
      for (const ref of changed) {
        const target = ref.deref();
        if (target !== undefined) undoOf.get(target)?.();
      }
      changed.clear();
    },
  };
}
