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
import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { types } from 'node:util';
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

const { isAsyncFunction, isPromise } = types;

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
  return isPromise(value) && value.constructor === Promise && value.then === Promise.prototype.then;
}

/**
 * What a router does with the promise that a handler returns. To look at a promise is to have handled it, and Node then
 * tells nobody of its rejection: so the look must be one of several, or the rejection must go on.
 */
type Heed = 'heeded' | 'ignored' | 'unknown';

/** Express 4's own, which calls the handler and does no more. */
const IGNORING = /^function \w*\((?:error, )?req, res, next\) \{\s+var fn = this\.handle;/;

function heedOf(name: string, method: unknown): Heed {
  if (name === 'handleRequest' || name === 'handleError') return 'heeded';
  const source = Function.prototype.toString.call(method);
  return IGNORING.test(source) && !/then|promise/i.test(source) ? 'ignored' : 'unknown';
}

/** Who listens to it (Express 5.3) is handed what stands for the layer's function. */
const toldStarts = channel('tracing:express.router.request:start');

/** A router's own method, which reads the layer's function first and calls it: nobody else sees what stands for it. */
const OWN = /^function \w* ?\((?:error, )?req, res, next\) \{\s+(?:const|var) fn = this\.handle\b/;

function isOwn(method: unknown): boolean {
  return OWN.test(Function.prototype.toString.call(method));
}

/** A promise that nobody but the router was given is that of an async function called by it. */
function mayWatch(heed: Heed, handle: unknown): boolean {
  return heed === 'heeded' || (heed === 'ignored' && isAsyncFunction(handle));
}

/** Puts a function in the place of a layer's, which holds it as `own` tells; false where it can't be. */
function put(layer: Layer, own: PropertyDescriptor | undefined, standIn: unknown): boolean {
  try {
    if (own?.writable === true) layer.handle = standIn;
    // An accessor of the prototype (express-async-errors) would take it for the layer's new function.
    else Object.defineProperty(layer, 'handle', { value: standIn, writable: true, configurable: true });
    return true;
  } catch {
    return false;
  }
}

/** Puts the layer's function back, unless it was done or somebody has put another there; true: it was. */
function giveBack(layer: Layer, own: PropertyDescriptor | undefined, standIn: unknown): boolean {
  if (layer.handle !== standIn) return false;
  if (own === undefined) delete layer.handle;
  else if (own.writable === true) layer.handle = own.value;
  else Object.defineProperty(layer, 'handle', own);
  return true;
}

export function createLayerDispatch(trace: DispatchTrace): LayerDispatch {
  const seen = new WeakSet();
  const heeds = new WeakMap<object, Heed>();
  /** Layers that hold their function as a property of their own, as a router makes them. */
  const plain = new WeakSet<Layer>();
  const restore: (() => void)[] = [];
  let closed = false;

  function returned(call: LayerCall, result: unknown, handle: unknown, heed: Heed): void {
    trace.ended(call);
    if (!isPlainPromise(result) || !mayWatch(heed, handle)) return;
    result.then(
      () => {
        trace.settled(call);
      },
      // Before the router hears of it, which has not looked at the promise yet.
      (error: unknown) => {
        trace.failed(call, error);
        trace.settled(call);
        if (heed === 'ignored') throw error;
      },
    );
  }

  function threw(call: LayerCall, error: unknown): void {
    trace.failed(call, error);
    trace.ended(call);
  }

  /** What stands for the layer's function during one call, and looks like it to whoever asks meanwhile. */
  function standInFor<H extends (...args: never[]) => unknown>(
    layer: Layer,
    {
      handle,
      own,
      call,
      heed,
    }: { handle: H; own: PropertyDescriptor | undefined; call: LayerCall; heed: Heed },
  ): H {
    const standIn = new Proxy(handle, {
      apply(_handle, self: unknown, args: Parameters<H>) {
        giveBack(layer, own, standIn);
        let result: unknown;
        try {
          result = Reflect.apply(handle, self, args);
        } catch (error) {
          threw(call, error);
          throw error;
        }
        returned(call, result, handle, heed);
        return result;
      },
    });
    return standIn;
  }

  function isPlain(layer: Layer): boolean {
    if (plain.has(layer)) return true;
    if (Object.getOwnPropertyDescriptor(layer, 'handle')?.writable !== true) return false;
    plain.add(layer);
    return true;
  }

  /** The same where nobody can ask: most calls by far, and a tenth of the time. */
  function plainStandIn(
    layer: Layer,
    handle: Handle,
    { call, heed }: { call: LayerCall; heed: Heed },
  ): Handle {
    return (req, res, next) => {
      layer.handle = handle;
      let result: unknown;
      try {
        result = handle(req, res, next);
      } catch (error) {
        threw(call, error);
        throw error;
      }
      returned(call, result, handle, heed);
      return result;
    };
  }

  function tracingRequest(original: Handle, heed: Heed): Handle {
    const isDirect = isOwn(original);
    return function handleRequest(this: Layer, req, res, next) {
      const { handle, route } = this as { handle: Handle; route?: unknown };
      const isTraced = !closed && route === undefined && typeof handle === 'function' && handle.length <= 3;
      const call = isTraced ? trace.started(req, this) : null;
      if (call === null) return original.call(this, req, res, next);
      const direct = isDirect && !toldStarts.hasSubscribers && isPlain(this);
      const own = direct
        ? { value: handle, writable: true }
        : Object.getOwnPropertyDescriptor(this, 'handle');
      const standIn = direct
        ? plainStandIn(this, handle, { call, heed })
        : standInFor(this, { handle, own, call, heed });
      const stands = put(this, own, standIn);
      try {
        return original.call(this, req, res, next);
      } finally {
        if (!stands || giveBack(this, own, standIn)) trace.ended(call);
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
      const own = Object.getOwnPropertyDescriptor(this, 'handle');
      const standIn = standInFor(this, { handle, own, call, heed });
      const stands = put(this, own, standIn);
      try {
        return original.call(this, error, req, res, next);
      } finally {
        if (!stands || giveBack(this, own, standIn)) trace.ended(call);
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
        threw(call, error);
        throw error;
      }
      returned(call, result, original, heed);
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
      for (const [index, original] of (callbacks as unknown[]).entries()) {
        if (typeof original !== 'function') continue;
        const made = tracingParam(original as ParamHandle, router, heed);
        callbacks[index] = made;
        restore.push(() => {
          if (callbacks[index] === made) callbacks[index] = original;
        });
      }
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
    },
  };
}
