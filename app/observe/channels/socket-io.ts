/** socket.io 4 -> `express-hindsight:socket.io:event`: an event that a client sent, with its listeners. */
import { EventEmitter } from 'node:events';
import { tracingChannel } from 'node:diagnostics_channel';
import { types } from 'node:util';
import type { LibraryPatch } from '../libraries.ts';
import { isNativePromise, publishEnd, publishError, type Traced } from './trace.ts';
import { ownerOf, wrapCalls } from './wrap-method.ts';

export interface SocketEvent extends Traced {
  namespace: string;
  event: string;
  /** Without the acknowledgement. */
  values: readonly unknown[];
  /** Set by a subscriber that wants to know its end; others run as without the channel. */
  isFollowed?: true;
}

interface Listener {
  (...args: unknown[]): unknown;
  /** Of the wrapper that `once` adds. */
  listener?: unknown;
}

export const socketEvents = tracingChannel('express-hindsight:socket.io:event');

/** Listeners that only call back have this long to do so. */
const LONGEST_ANSWER_MS = 10_000;

/** The end of an event: all of its parts have ended. The first part is the call of the listeners. */
function countdown(message: SocketEvent): { begin(): () => void } {
  let running = 0;
  return {
    begin() {
      let isOver = false;
      running++;
      return () => {
        if (isOver) return;
        isOver = true;
        if (--running === 0) publishEnd(socketEvents, message);
      };
    },
  };
}

/** The acknowledgement, which ends its part; a listener that never calls it does after a while. */
function answering(answer: Listener, end: () => void): Listener {
  const timer = setTimeout(end, LONGEST_ANSWER_MS).unref();
  return function (this: unknown, ...values) {
    clearTimeout(timer);
    end();
    return Reflect.apply(answer, this, values);
  };
}

/**
 * Calls the listeners as `emit` does, and follows the acknowledgement and the promises of async functions. Other promises may have a
 * second user, who handles a rejection that we would leave unhandled.
 */
function callListeners(socket: EventEmitter, message: SocketEvent, given: unknown[]): boolean {
  const parts = countdown(message);
  const end = parts.begin();
  const answer: unknown = given.at(-1);
  if (typeof answer === 'function') given[given.length - 1] = answering(answer as Listener, parts.begin());
  const listeners = socket.rawListeners(message.event) as Listener[];
  try {
    for (const listener of listeners) {
      const result: unknown = Reflect.apply(listener, socket, given);
      if (!isNativePromise(result) || !types.isAsyncFunction(listener.listener ?? listener)) continue;
      const settled = parts.begin();
      result.then(settled, (error: unknown) => {
        publishError(socketEvents, message, error);
        settled();
        throw error;
      });
    }
  } catch (error) {
    publishError(socketEvents, message, error);
    throw error;
  } finally {
    end();
  }
  return listeners.length > 0;
}

export const socketIoPatch: LibraryPatch = {
  name: 'socket.io',
  patch(exports) {
    const { prototype } = (exports as { Socket?: { prototype?: object } }).Socket ?? {};
    return wrapCalls(ownerOf(prototype, 'emitUntyped'), 'emitUntyped', (call, socket, args) => {
      const [event, ...given] = args;
      const { nsp } = socket as { nsp?: { name?: unknown } };
      const isEvent = typeof event === 'string' && socket instanceof EventEmitter && nsp !== undefined;
      if (!isEvent || !socketEvents.start.hasSubscribers) return call();
      const message: SocketEvent = {
        namespace: String(nsp.name),
        event,
        values: given.filter((value) => typeof value !== 'function'),
      };
      return socketEvents.start.runStores(message, () =>
        message.isFollowed === true ? callListeners(socket as EventEmitter, message, given) : call(),
      );
    });
  },
};
