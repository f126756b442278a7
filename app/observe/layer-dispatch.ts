/**
 * Tells a trace of each call of a layer, for Express 4 and 5 alike: `handleRequest` and `handleError` of the prototype that all
 * layers of a router share are wrapped, and for the length of the call into them the function of the layer, so that what it
 * returns and throws is seen. Request, response and `next` are handed on as they came, and whatever is not traced
 * goes straight through.
 *
 * Express 5.3 publishes the same on a tracing channel. That is not listened to: it hands out another `next` than
 * `req.next` as soon as anybody does (decision 16), and costs twice as much.
 *
 * Callbacks of `router.param` are no layers: they are wrapped where their router keeps them, once it is known.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallKind, Layer, LayerCall, RoutedRequest } from './layer-call.ts';
import { type CallTrace, createStandIns, type Heed, heedOf, isOwn } from './layer-stand-in.ts';

/** What is told; nothing of it may throw. */
export interface DispatchTrace extends CallTrace {
  /** null: the call is not traced. */
  started(req: IncomingMessage, layer: Layer, kind?: CallKind): LayerCall | null;
  /** An error looks for its handler: whoever ran last has handed it to `next`, or it is known already. */
  handedOn(req: IncomingMessage, error: unknown): void;
  /** The router that holds this layer, which is none of its stack. */
  belongs(layer: Layer, router: object): void;
}

export interface LayerDispatch {
  /** Looks at the application of a request, once. */
  see(req: IncomingMessage): void;
  /** A router, whose layers may be of another copy of the library. */
  seeRouter(router: unknown): void;
  /** `Router` of a library: its layers are seen from the first request on, wherever the profiler stands. */
  seeLibrary(Router: unknown): void;
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

export function stackOf(router: unknown): readonly Layer[] | null {
  if ((typeof router !== 'object' && typeof router !== 'function') || router === null) return null;
  const { stack } = router as { stack?: unknown };
  return Array.isArray(stack) ? (stack as Layer[]) : null;
}

/** Express 4 has it under another name, and throws where it is asked by this one. */
export function routerOf(app: unknown): unknown {
  if (typeof app !== 'function') return undefined;
  return '_router' in app ? app._router : (app as { router?: unknown }).router;
}

export function createLayerDispatch(trace: DispatchTrace): LayerDispatch {
  const seen = new WeakSet();
  const heeds = new WeakMap<object, Heed>();
  const standIns = createStandIns(trace);
  const restore: (() => void)[] = [];
  /** How lists of param callbacks were; a host may make routers for each request, so that nothing here keeps them. */
  const lists = new Set<WeakRef<unknown[]>>();
  const undoOf = new WeakMap<unknown[], () => void>();
  const forgotten = new FinalizationRegistry<WeakRef<unknown[]>>((list) => lists.delete(list));
  let closed = false;

  function tracingRequest(original: Handle, heed: Heed): Handle {
    const isDirect = isOwn(original);
    return function handleRequest(this: Layer, req, res, next) {
      const { handle, route } = this as { handle: Handle; route?: unknown };
      const isTraced = !closed && route === undefined && typeof handle === 'function' && handle.length <= 3;
      const call = isTraced ? trace.started(req, this) : null;
      if (call === null) return original.call(this, req, res, next);
      const standIn = standIns.put({ layer: this, handle, call, heed, isDirect });
      try {
        return original.call(this, req, res, next);
      } finally {
        standIns.takeBack(standIn);
      }
    };
  }

  function tracingError(original: ErrorHandle, heed: Heed): ErrorHandle {
    return function handleError(this: Layer, error, req, res, next) {
      const { handle } = this as { handle: ErrorHandle };
      if (!closed) trace.handedOn(req, error);
      const isTraced = !closed && typeof handle === 'function' && handle.length === 4;
      const call = isTraced ? trace.started(req, this, FOR_ERRORS) : null;
      if (call === null) return original.call(this, error, req, res, next);
      const standIn = standIns.put({ layer: this, handle, call, heed, isDirect: false });
      try {
        return original.call(this, error, req, res, next);
      } finally {
        standIns.takeBack(standIn);
      }
    };
  }

  /** Replaces a method for as long as nobody else replaces ours; what reads its name and length finds those it had. */
  function wrap<M extends (...args: never[]) => unknown>(
    prototype: object,
    names: readonly string[],
    make: (original: M, heed: Heed) => M,
  ): void {
    for (const name of names) {
      const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
      if (descriptor?.configurable !== true || typeof descriptor.value !== 'function') continue;
      const original = descriptor.value as M;
      const heed = heedOf(name, original);
      if (!heeds.has(prototype)) heeds.set(prototype, heed);
      const made = Object.defineProperty(make(original, heed), 'name', {
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

  function seeLayer(layer: Layer): void {
    const prototype = Object.getPrototypeOf(layer) as object | null;
    if (prototype === null || prototype === Object.prototype || seen.has(prototype)) return;
    seen.add(prototype);
    wrap(prototype, REQUEST_METHODS, tracingRequest);
    wrap(prototype, ERROR_METHODS, tracingError);
  }

  function tracingParam(original: ParamHandle, router: object, heed: Heed): ParamHandle {
    const layer: Layer = { handle: original };
    trace.belongs(layer, router);
    const traced: ParamHandle = function param(this: unknown, req, res, next, value, name) {
      const call = closed ? null : trace.started(req, layer, { isErrorHandler: false, param: name });
      if (call === null) return original.call(this, req, res, next, value, name);
      let result: unknown;
      try {
        result = original.call(this, req, res, next, value, name);
      } catch (error) {
        standIns.threw(call, error);
        throw error;
      }
      standIns.returned(call, result, { handle: original, heed });
      return result;
    };
    Object.defineProperty(traced, 'name', { value: original.name, configurable: true });
    return Object.defineProperty(traced, 'length', { value: original.length, configurable: true });
  }

  /** They are kept by name, each in a list of its own. */
  function seeParams(router: object, heed: Heed): void {
    for (const callbacks of Object.values((router as { params?: object }).params ?? {})) {
      if (!Array.isArray(callbacks) || seen.has(callbacks) || Object.isFrozen(callbacks)) continue;
      seen.add(callbacks);
      const originals = callbacks as unknown[];
      const before = [...originals];
      const made = before.map((original) =>
        typeof original === 'function' ? tracingParam(original as ParamHandle, router, heed) : original,
      );
      for (const [index, ours] of made.entries()) originals[index] = ours;
      undoOf.set(originals, () => {
        for (const [index, ours] of made.entries())
          if (originals[index] === ours) originals[index] = before[index];
      });
      const list = new WeakRef(originals);
      lists.add(list);
      forgotten.register(originals, list);
    }
  }

  function seeRouter(router: unknown): void {
    const stack = stackOf(router);
    if (stack === null || closed) return;
    for (const layer of stack) {
      seeLayer(layer);
      for (const inner of stackOf(layer.route) ?? []) seeLayer(inner);
    }
    const [first] = stack;
    if (first !== undefined)
      seeParams(router as object, heeds.get(Object.getPrototypeOf(first) as object) ?? 'unknown');
  }

  return {
    see(req) {
      const { app } = req as RoutedRequest;
      if (typeof app !== 'function' || seen.has(app) || closed) return;
      seen.add(app);
      seeRouter(routerOf(app));
    },
    seeRouter,
    seeLibrary(Router) {
      try {
        const router = (Router as () => { use(handle: () => void): void })();
        router.use(() => undefined);
        seeRouter(router);
      } catch {
        // No Router of Express; those that answer are seen one by one.
      }
    },
    close() {
      closed = true;
      for (const undo of restore.splice(0).reverse()) undo();
      for (const list of lists) {
        const callbacks = list.deref();
        if (callbacks !== undefined) undoOf.get(callbacks)?.();
      }
      lists.clear();
    },
  };
}
