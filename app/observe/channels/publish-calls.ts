/** Makes a method of a library publish its calls to a TracingChannel; without subscribers, it only calls the original. */
import type { TracingChannel } from 'node:diagnostics_channel';
import { isThenable, traceCall, type Traced, tracedCallback, traceSync } from './trace.ts';
import { type Method, ownerOf, wrapMethod } from './wrap-method.ts';

/** The message of a call; null: it is not published. */
type MessageOf = (self: object, args: readonly unknown[]) => Traced | null;

export interface CallShape {
  /** Position of the callback that ends a call if it is given. Some libraries then return objects whose `then` only throws. */
  callbackAt?: number;
  /** Which results are promises, whose end is that of the call. */
  isFollowed?: typeof isThenable;
}

/** What stands for a method. */
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
