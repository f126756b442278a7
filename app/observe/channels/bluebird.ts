/**
 * `bluebird` -> `express-hindsight:bluebird:attached`, and stores of `express-hindsight:bluebird:called` while a callback runs: it calls
 * the callbacks of all requests from one queue, in the context of whoever filled it first. Its option `asyncHooks` would not do: a query
 * builder that a callback returns is sent outside of it.
 */
import { channel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { isThenable } from './trace.ts';
import { allOf, wrapMethod } from './wrap-method.ts';

interface Bluebird {
  prototype?: object;
  resolve(value: unknown): unknown;
}

/** What Bluebird takes for the callback of `map`, `filter`, `each`, `reduce` and `join`; `async` is null unless its option `asyncHooks` is on. */
interface CallbackContext {
  async: { runInAsyncScope(work: Method, self: unknown, ...args: unknown[]): unknown } | null;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Message of both: an object for each callback, or for all of a `Promise.all`, `Promise.map`, `Promise.coroutine`. */
const attached = channel('express-hindsight:bluebird:attached');
const called = channel('express-hindsight:bluebird:called');

export const bluebirdChannels = { attached, called };

/** By the promise that the callback settles, or the list that waits for several. */
const callbacks = new WeakMap<object, object>();

function attach(): object {
  const callback = {};
  attached.publish(callback);
  return callback;
}

function run(callback: object, work: Method, self: unknown, args: unknown[]): unknown {
  return called.runStores(callback, () => Reflect.apply(work, self, args));
}

/** A callback whose promise nobody gets. */
function bound(handler: unknown, callback: object): unknown {
  if (typeof handler !== 'function') return handler;
  return function (this: unknown, ...args: unknown[]): unknown {
    return run(callback, handler as Method, this, args);
  };
}

/** A query builder that a callback returns is sent in its context. */
function sent(bluebird: Bluebird, result: unknown): unknown {
  return isThenable(result) && !(result instanceof (bluebird as never)) ? bluebird.resolve(result) : result;
}

export const bluebirdPatch: LibraryPatch = {
  name: 'bluebird',
  patch(exports) {
    const bluebird = exports as Bluebird;
    const { prototype } = bluebird;
    return allOf(
      wrapMethod(
        prototype,
        '_then',
        (original) =>
          function (this: unknown, ...args) {
            if (!attached.hasSubscribers) return Reflect.apply(original, this, args);
            const callback = attach();
            if (args[4] !== undefined) {
              args[0] = bound(args[0], callback);
              args[1] = bound(args[1], callback);
              return Reflect.apply(original, this, args);
            }
            const promise: unknown = Reflect.apply(original, this, args);
            callbacks.set(promise as object, callback);
            return promise;
          },
      ),
      wrapMethod(
        prototype,
        '_proxy',
        (original) =>
          function (this: unknown, ...args) {
            const list = args[0] as object;
            if (attached.hasSubscribers && !callbacks.has(list)) callbacks.set(list, attach());
            return Reflect.apply(original, this, args);
          },
      ),
      wrapMethod(
        prototype,
        '_settlePromise',
        (original) =>
          function (this: unknown, ...args) {
            const [promise, , list] = args as [object, unknown, object];
            const callback = callbacks.get(promise) ?? callbacks.get(list);
            return callback === undefined
              ? Reflect.apply(original, this, args)
              : run(callback, original, this, args);
          },
      ),
      wrapMethod(
        bluebird,
        '_getContext',
        (original) =>
          function (this: unknown) {
            const context = Reflect.apply(original, this, []) as CallbackContext | null;
            if (!attached.hasSubscribers || context?.async !== null) return context;
            const callback = attach();
            const runInAsyncScope = (work: Method, self: unknown, ...args: unknown[]): unknown =>
              called.runStores(callback, () => sent(bluebird, Reflect.apply(work, self, args)));
            return { ...context, async: { runInAsyncScope } };
          },
      ),
    );
  },
};
