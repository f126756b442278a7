/**
 * Publishes a call to a TracingChannel. Node's own `tracePromise` turns what a library returns into a plain promise, and its frames
 * are more; ours returns the library's kind of promise, and an unhandled rejection stays unhandled.
 */
import type { TracingChannel } from 'node:diagnostics_channel';
import { types } from 'node:util';
import { publishThrow } from '../../profiler/record/context.ts';
import { allOf, type Method, ownerOf, wrapCalls, wrapMethod } from './wrap-method.ts';

export interface Traced {
  result?: unknown;
  error?: unknown;
}

export interface Connect extends Traced {
  pool: object;
  isForQuery: boolean;
}

interface Thenable {
  then(resolved: (value: unknown) => unknown, rejected: (error: unknown) => unknown): unknown;
}

export function isThenable(value: unknown): value is Thenable {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** Whether calling `then` has no effect but a callback: that of a Knex query runs it, and others return nothing. */
export function isNativePromise(value: unknown): value is Promise<unknown> {
  return types.isPromise(value) && value.constructor === Promise && value.then === Promise.prototype.then;
}

export function publishEnd(channel: TracingChannel, message: Traced): void {
  channel.asyncStart.publish(message);
  channel.asyncEnd.publish(message);
}

export function publishError(channel: TracingChannel, message: Traced, error: unknown): void {
  message.error = error ?? new Error('rejected without a reason');
  channel.error.publish(message);
}

/** Calls `call` between `start` and `end`. A call that throws is over; otherwise its end is to be published. */
export function traceSync<T>(channel: TracingChannel, message: Traced, call: () => T): T {
  channel.start.publish(message);
  try {
    const result = call();
    message.result = result;
    channel.end.publish(message);
    return result;
  } catch (error) {
    publishError(channel, message, error);
    channel.end.publish(message);
    publishEnd(channel, message);
    throw error;
  }
}

/** The result of a call, as a promise that settles alike, after `asyncStart` and `asyncEnd`. */
function traceResult(channel: TracingChannel, message: Traced, result: Thenable): unknown {
  message.result = undefined;
  return result.then(
    (value) => {
      message.result = value;
      publishEnd(channel, message);
      return value;
    },
    (error: unknown) => {
      publishError(channel, message, error);
      publishEnd(channel, message);
      throw error;
    },
  );
}

/** A call that is over when it returns or its promise settles; `isFollowed`: which results are promises. */
export function traceCall<T>(
  channel: TracingChannel,
  message: Traced,
  call: () => T,
  isFollowed: (result: unknown) => result is Thenable = isThenable,
): T {
  const result = traceSync(channel, message, call);
  if (isFollowed(result)) return traceResult(channel, message, result) as T;
  publishEnd(channel, message);
  return result;
}

export function tracedCallback<F extends (...args: never[]) => unknown>(
  channel: TracingChannel,
  message: Traced,
  callback: F,
): F {
  const traced = function (this: unknown, ...args: Parameters<F>): unknown {
    const [error, result] = args as unknown[];
    if (error === null || error === undefined) message.result = result;
    else publishError(channel, message, error);
    return channel.asyncStart.runStores(message, () => {
      try {
        return publishThrow(() => Reflect.apply(callback, this, args) as unknown);
      } finally {
        channel.asyncEnd.publish(message);
      }
    });
  };
  return traced as F;
}

type MessageOf = (self: object, args: readonly unknown[]) => Traced | null;

interface CallShape {
  /** Position of the callback that ends a call if it is given. Some libraries then return objects whose `then` only throws. */
  callbackAt?: number;
  /** Which results are promises, whose end is that of the call. */
  isFollowed?: typeof isThenable;
}

export function publishing(
  original: Method,
  channel: TracingChannel,
  messageOf: MessageOf,
  { callbackAt, isFollowed = isThenable }: CallShape = {},
): Method {
  return function (this: unknown, ...args) {
    const message = channel.start.hasSubscribers ? messageOf(this as object, args) : null;
    const call = (): unknown => Reflect.apply(original, this, args);
    if (message === null) return call();
    const callback = callbackAt === undefined ? undefined : args[callbackAt];
    if (callbackAt === undefined || typeof callback !== 'function')
      return traceCall(channel, message, call, isFollowed);
    args[callbackAt] = tracedCallback(channel, message, callback as Method);
    return traceSync(channel, message, call);
  };
}

/** Undone as `wrapMethod` is; `target` may inherit the method. */
export function publishCalls(
  target: unknown,
  name: string,
  channel: TracingChannel,
  messageOf: MessageOf,
  shape?: CallShape,
): (() => void) | null {
  return wrapMethod(ownerOf(target, name), name, (original) =>
    publishing(original, channel, messageOf, shape),
  );
}

/** Knows of what runs now whether it is inside of a call. */
export function createInside() {
  let isInside = false;
  return {
    isInside: () => isInside,
    run<T>(call: () => T): T {
      const before = isInside;
      isInside = true;
      try {
        return call();
      } finally {
        isInside = before;
      }
    },
  };
}

const poolQuery = createInside();

/** `queries` of a pool, or of what chooses a pool, ask for a connection themselves. */
export function markPoolQueries(prototype: unknown, queries: readonly string[]): (() => void) | null {
  return allOf(...queries.map((name) => wrapCalls(ownerOf(prototype, name), name, poolQuery.run)));
}

/** A pool: a connection is asked for by `connect`; `queries` are its own methods for statements, which ask for one, too. */
export function publishPool(
  prototype: unknown,
  connect: string,
  channel: TracingChannel,
  queries: readonly string[],
): (() => void) | null {
  return allOf(
    markPoolQueries(prototype, queries),
    publishCalls(
      prototype,
      connect,
      channel,
      (pool): Connect => ({ pool, isForQuery: poolQuery.isInside() }),
      { callbackAt: 0 },
    ),
  );
}
