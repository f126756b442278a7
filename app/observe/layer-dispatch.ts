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

/** What is told; nothing of it may throw. */
export interface DispatchTrace {
  /** null: the call is not traced. */
  started(req: IncomingMessage, layer: Layer, kind?: CallKind): LayerCall | null;
  /** The function returned. */
  ended(call: LayerCall): void;
  /** Its promise settled. */
  settled(call: LayerCall): void;
  /** It threw or rejected. */
  failed(call: LayerCall, error: unknown): void;
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

/** One whose `then` is Node's own: that of a Knex query would run it once more. */
function isPlainPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise && value.constructor === Promise && value.then === Promise.prototype.then;
}

export function createLayerDispatch(trace: DispatchTrace): LayerDispatch {
  const seen = new WeakSet();
  const restore: (() => void)[] = [];
  let closed = false;

  function returned(call: LayerCall, result: unknown): void {
    trace.ended(call);
    if (!isPlainPromise(result)) return;
    result.then(
      () => {
        trace.settled(call);
      },
      // Before the router hears of it, which has not looked at the promise yet.
      (error: unknown) => {
        trace.failed(call, error);
        trace.settled(call);
      },
    );
  }

  function threw(call: LayerCall, error: unknown): void {
    trace.failed(call, error);
    trace.ended(call);
  }

  /** Puts a function in the place of the layer's for one call; false where it can't be. */
  function put(layer: Layer, handle: unknown): boolean {
    try {
      layer.handle = handle;
      return true;
    } catch {
      return false;
    }
  }

  function tracingRequest(original: Handle): Handle {
    return function handleRequest(this: Layer, req, res, next) {
      const { handle, route } = this as { handle: Handle; route?: unknown };
      const isTraced = !closed && route === undefined && typeof handle === 'function' && handle.length <= 3;
      const call = isTraced ? trace.started(req, this) : null;
      if (call === null) return original.call(this, req, res, next);
      const traced: Handle = (sameReq, sameRes, sameNext) => {
        this.handle = handle;
        let result: unknown;
        try {
          result = handle(sameReq, sameRes, sameNext);
        } catch (error) {
          threw(call, error);
          throw error;
        }
        returned(call, result);
        return result;
      };
      if (!put(this, traced)) return original.call(this, req, res, next);
      const answer = original.call(this, req, res, next);
      if (this.handle === traced) this.handle = handle;
      return answer;
    };
  }

  function tracingError(original: ErrorHandle): ErrorHandle {
    return function handleError(this: Layer, error, req, res, next) {
      const { handle } = this as { handle: ErrorHandle };
      if (!closed) trace.handedOn(req, error);
      const isTraced = !closed && typeof handle === 'function' && handle.length === 4;
      const call = isTraced ? trace.started(req, this, FOR_ERRORS) : null;
      if (call === null) return original.call(this, error, req, res, next);
      const traced: ErrorHandle = (sameError, sameReq, sameRes, sameNext) => {
        this.handle = handle;
        let result: unknown;
        try {
          result = handle(sameError, sameReq, sameRes, sameNext);
        } catch (thrown) {
          threw(call, thrown);
          throw thrown;
        }
        returned(call, result);
        return result;
      };
      if (!put(this, traced)) return original.call(this, error, req, res, next);
      const answer = original.call(this, error, req, res, next);
      if (this.handle === traced) this.handle = handle;
      return answer;
    };
  }

  /** Replaces a method for as long as nobody else replaces ours; what reads its name and length finds those it had. */
  function wrap<M extends (...args: never[]) => unknown>(
    prototype: object,
    names: readonly string[],
    make: (original: M) => M,
  ): void {
    for (const name of names) {
      const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
      if (descriptor?.configurable !== true || typeof descriptor.value !== 'function') continue;
      const original = descriptor.value as M;
      const made = Object.defineProperty(make(original), 'name', {
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

  function tracingParam(original: ParamHandle, router: object): ParamHandle {
    const layer: Layer = { handle: original };
    trace.belongs(layer, router);
    const traced: ParamHandle = function param(this: unknown, req, res, next, value, name) {
      const call = closed ? null : trace.started(req, layer, { isErrorHandler: false, param: name });
      if (call === null) return original.call(this, req, res, next, value, name);
      let result: unknown;
      try {
        result = original.call(this, req, res, next, value, name);
      } catch (error) {
        threw(call, error);
        throw error;
      }
      returned(call, result);
      return result;
    };
    Object.defineProperty(traced, 'name', { value: original.name, configurable: true });
    return Object.defineProperty(traced, 'length', { value: original.length, configurable: true });
  }

  /** They are kept by name, each in a list of its own. */
  function seeParams(router: object): void {
    for (const callbacks of Object.values((router as { params?: object }).params ?? {})) {
      if (!Array.isArray(callbacks) || seen.has(callbacks) || Object.isFrozen(callbacks)) continue;
      seen.add(callbacks);
      const originals = [...(callbacks as unknown[])];
      const made = originals.map((callback) =>
        typeof callback === 'function' ? tracingParam(callback as ParamHandle, router) : callback,
      );
      callbacks.splice(0, callbacks.length, ...made);
      restore.push(() => {
        for (const [index, callback] of made.entries())
          if (callbacks[index] === callback) callbacks[index] = originals[index];
      });
    }
  }

  function seeRouter(router: unknown): void {
    const stack = stackOf(router);
    if (stack === null || closed) return;
    for (const layer of stack) {
      seeLayer(layer);
      for (const inner of stackOf(layer.route) ?? []) seeLayer(inner);
    }
    seeParams(router as object);
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
    },
  };
}
