/**
 * Publishes a call to a TracingChannel. Node's own `tracePromise` turns what a library returns into a plain promise, and its frames
 * are more; ours keeps the library's kind of promise, and a rejection that nobody handles stays one.
 */
import type { TracingChannel } from 'node:diagnostics_channel';

/** What every message carries, by the conventions of TracingChannel. */
export interface Traced {
  result?: unknown;
  error?: unknown;
}

interface Thenable {
  then(resolved: (value: unknown) => unknown, rejected: (error: unknown) => unknown): unknown;
}

function isThenable(value: unknown): value is Thenable {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function settled(channel: TracingChannel, message: Traced): void {
  channel.asyncStart.publish(message);
  channel.asyncEnd.publish(message);
}

function failed(channel: TracingChannel, message: Traced, error: unknown): void {
  message.error = error ?? new Error('rejected without a reason');
  channel.error.publish(message);
}

/**
 * Calls `call` between `start` and `end`. A promise is returned as one that settles alike, after `asyncStart` and `asyncEnd`. What
 * `call` returns by callback is for `tracedCallback`.
 */
export function traceCall<T>(channel: TracingChannel, message: Traced, call: () => T): T {
  channel.start.publish(message);
  try {
    const result = call();
    if (!isThenable(result)) {
      message.result = result;
      return result;
    }
    return result.then(
      (value) => {
        message.result = value;
        settled(channel, message);
        return value;
      },
      (error: unknown) => {
        failed(channel, message, error);
        settled(channel, message);
        throw error;
      },
    ) as T;
  } catch (error) {
    failed(channel, message, error);
    throw error;
  } finally {
    channel.end.publish(message);
  }
}

/** A node callback in whose place the call is published as settled; stores bound to `asyncStart` hold while it runs. */
export function tracedCallback<F extends (...args: never[]) => unknown>(
  channel: TracingChannel,
  message: Traced,
  callback: F,
): F {
  const traced = function (this: unknown, ...args: Parameters<F>): unknown {
    const [error, result] = args as unknown[];
    if (error === null || error === undefined) message.result = result;
    else failed(channel, message, error);
    return channel.asyncStart.runStores(message, () => {
      try {
        return Reflect.apply(callback, this, args) as unknown;
      } finally {
        channel.asyncEnd.publish(message);
      }
    });
  };
  return traced as F;
}
