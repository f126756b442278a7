/**
 * What stands for the function of a layer while its router calls it, so that what it returns and throws is told. By the time the
 * function runs, the layer holds its own again.
 */
import { channel } from 'node:diagnostics_channel';
import { types } from 'node:util';
import type { Layer, LayerCall } from './layer-call.ts';

/** What is told of a call; nothing of it may throw. */
export interface CallTrace {
  /** The function returned. */
  ended(call: LayerCall): void;
  /** Its promise settled. */
  settled(call: LayerCall): void;
  /** It threw or rejected. */
  failed(call: LayerCall, error: unknown): void;
}

type Callable = (...args: never[]) => unknown;

export interface Standing<H extends Callable> {
  layer: Layer;
  /** The layer's own function. */
  handle: H;
  call: LayerCall;
  heed: Heed;
  /** The router's method is its own: nobody else sees what stands there. */
  isDirect: boolean;
}

export interface StandIn {
  standing: Standing<never>;
  /** How the layer held its function. */
  own: PropertyDescriptor | undefined;
  /** null where it could not be put there. */
  made: Callable | null;
}

export interface StandIns {
  /** Puts something into the place of the layer's function, before its router's method is called. */
  put<H extends Callable>(standing: Standing<H>): StandIn;
  /** After it; a call that nothing could be put in for, or that did not come, ends here. */
  takeBack(standIn: StandIn): void;
  returned(call: LayerCall, result: unknown, by: { handle: unknown; heed: Heed }): void;
  threw(call: LayerCall, error: unknown): void;
}

const { isAsyncFunction, isPromise } = types;

/** Who listens to it (Express 5.3) is handed what stands for the layer's function. */
const toldStarts = channel('tracing:express.router.request:start');

/** One whose `then` is Node's own: that of a Knex query would run it once more. */
function isPlainPromise(value: unknown): value is Promise<unknown> {
  return isPromise(value) && value.constructor === Promise && value.then === Promise.prototype.then;
}

/**
 * What a router does with the promise that a handler returns. To look at a promise is to have handled it, and Node then
 * tells nobody of its rejection: so the look must be one of several, or the rejection must go on.
 */
export type Heed = 'heeded' | 'ignored' | 'unknown';

/** Express 4's own, which calls the handler and does no more. */
const IGNORING = /^function \w*\((?:error, )?req, res, next\) \{\s+var fn = this\.handle;/;

export function heedOf(name: string, method: unknown): Heed {
  if (name === 'handleRequest' || name === 'handleError') return 'heeded';
  const source = Function.prototype.toString.call(method);
  return IGNORING.test(source) && !/then|promise/i.test(source) ? 'ignored' : 'unknown';
}

/** A router's own method, which reads the layer's function first and calls it: nobody else sees what stands for it. */
const OWN = /^function \w* ?\((?:error, )?req, res, next\) \{\s+(?:const|var) fn = this\.handle\b/;

export function isOwn(method: unknown): boolean {
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

export function createStandIns(trace: CallTrace): StandIns {
  /** Layers that hold their function as a property of their own, as a router makes them. */
  const plain = new WeakSet<Layer>();

  function returned(
    call: LayerCall,
    result: unknown,
    { handle, heed }: { handle: unknown; heed: Heed },
  ): void {
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

  /** Looks like the layer's function to whoever asks meanwhile. */
  function likeIt<H extends Callable>(standing: Standing<H>, own: PropertyDescriptor | undefined): H {
    const { layer, handle, call } = standing;
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
        returned(call, result, standing);
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

  /** Where nobody can ask: most calls by far, in a tenth of the time. */
  function plainly<H extends Callable>(standing: Standing<H>): Callable {
    const { layer, handle, call } = standing;
    return (...args) => {
      layer.handle = handle;
      let result: unknown;
      try {
        result = handle(...args);
      } catch (error) {
        threw(call, error);
        throw error;
      }
      returned(call, result, standing);
      return result;
    };
  }

  return {
    returned,
    threw,
    put(standing) {
      const { layer, handle, isDirect } = standing;
      const direct = isDirect && !toldStarts.hasSubscribers && isPlain(layer);
      const own = direct
        ? { value: handle, writable: true }
        : Object.getOwnPropertyDescriptor(layer, 'handle');
      const made = direct ? plainly(standing) : likeIt(standing, own);
      return { standing: standing as never, own, made: put(layer, own, made) ? made : null };
    },
    takeBack({ standing: { layer, call }, own, made }) {
      if (made === null || giveBack(layer, own, made)) trace.ended(call);
    },
  };
}
