/**
 * A temporary replacement for `layer.handle`, for router methods that we can't replace (layer-method.ts): in place only
 * while the router calls it, so that we see what the handler returns and throws. By the time the handler runs, the layer has its own
 * function again.
 */
import { types } from 'node:util';
import type { Layer } from '../profiler/express-routers.ts';
import { isNativePromise } from './channels/trace.ts';
import type { LayerCall } from './layer-call.ts';

/** What is reported of a call; none of it may throw. */
export interface CallTrace {
  /** The function returned. */
  ended(call: LayerCall): void;
  /** Its promise settled. */
  settled(call: LayerCall): void;
  /** It threw or rejected. */
  failed(call: LayerCall, error: unknown): void;
}

type Callable = (...args: never[]) => unknown;

export interface ProxiedCall<H extends Callable> {
  layer: Layer;
  /** The layer's own function. */
  handle: H;
  call: LayerCall;
  promises: PromiseHandling;
}

export interface HandlerProxy {
  proxied: ProxiedCall<never>;
  /** How the layer's function was defined. */
  descriptor: PropertyDescriptor | undefined;
  /** null if it could not be installed. */
  replacement: Callable | null;
}

export interface HandlerProxies {
  /** Replaces the layer's function, before the router's method is called. */
  install<H extends Callable>(proxied: ProxiedCall<H>): HandlerProxy;
  /** After that method: ends a call whose replacement could not be installed, or was not called. */
  remove(proxy: HandlerProxy): void;
  returned(call: LayerCall, result: unknown, by: { handle: unknown; promises: PromiseHandling }): void;
  threw(call: LayerCall, error: unknown): void;
}

const { isAsyncFunction } = types;

/**
 * Whether the router handles the rejection of a handler's promise. Attaching `then` marks a promise as handled: where the router
 * does not, our own handler has to throw the error again.
 */
export type PromiseHandling = 'handled' | 'ignored' | 'unknown';

/** The unmodified method of Express 4, which calls the handler and does nothing else. */
const IGNORING = /^function \w*\((?:error, )?req, res, next\) \{\s+var fn = this\.handle;/;

export function promiseHandlingOf(name: string, method: unknown): PromiseHandling {
  if (name === 'handleRequest' || name === 'handleError') return 'handled';
  const source = Function.prototype.toString.call(method);
  return IGNORING.test(source) && !/then|promise/i.test(source) ? 'ignored' : 'unknown';
}

/** Only promises of async functions are guaranteed to have no other consumer. */
function mayWatch(promises: PromiseHandling, handle: unknown): boolean {
  return promises === 'handled' || (promises === 'ignored' && isAsyncFunction(handle));
}

/** Replaces a layer's function, defined by `descriptor`; false if that is not possible. */
function replaceHandle(
  layer: Layer,
  descriptor: PropertyDescriptor | undefined,
  replacement: unknown,
): boolean {
  try {
    if (descriptor?.writable === true) layer.handle = replacement;
    // The setter of a prototype (express-async-errors) would take it for the layer's new function.
    else Object.defineProperty(layer, 'handle', { value: replacement, writable: true, configurable: true });
    return true;
  } catch {
    return false;
  }
}

/** Restores the layer's function; false if that was done already, or somebody has replaced ours. */
function restoreHandle(
  layer: Layer,
  descriptor: PropertyDescriptor | undefined,
  replacement: unknown,
): boolean {
  if (layer.handle !== replacement) return false;
  if (descriptor === undefined) delete layer.handle;
  else if (descriptor.writable === true) layer.handle = descriptor.value;
  else Object.defineProperty(layer, 'handle', descriptor);
  return true;
}

export function createHandlerProxies(trace: CallTrace): HandlerProxies {
  function returned(
    call: LayerCall,
    result: unknown,
    { handle, promises }: { handle: unknown; promises: PromiseHandling },
  ): void {
    trace.ended(call);
    if (!isNativePromise(result) || !mayWatch(promises, handle)) return;
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
    trace.failed(call, error);
    trace.ended(call);
  }

  /** Has the name, length and properties of the layer's function, for other tracers that look at it. */
  function createProxy<H extends Callable>(
    proxied: ProxiedCall<H>,
    descriptor: PropertyDescriptor | undefined,
  ): H {
    const { layer, handle, call } = proxied;
    const replacement = new Proxy(handle, {
      apply(_handle, self: unknown, args: Parameters<H>) {
        restoreHandle(layer, descriptor, replacement);
        let result: unknown;
        try {
          result = Reflect.apply(handle, self, args);
        } catch (error) {
          threw(call, error);
          throw error;
        }
        returned(call, result, proxied);
        return result;
      },
    });
    return replacement;
  }

  return {
    returned,
    threw,
    install(proxied) {
      const { layer } = proxied;
      const descriptor = Object.getOwnPropertyDescriptor(layer, 'handle');
      const replacement = createProxy(proxied, descriptor);
      const isInstalled = replaceHandle(layer, descriptor, replacement);
      return { proxied: proxied as never, descriptor, replacement: isInstalled ? replacement : null };
    },
    remove({ proxied: { layer, call }, descriptor, replacement }) {
      if (replacement === null || restoreHandle(layer, descriptor, replacement)) trace.ended(call);
    },
  };
}
