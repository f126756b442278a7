/** socket.io 4 -> `express-hindsight:socket.io:event`: an event that a client sent, with its listeners; `…:emit`: one for several clients. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import { types } from 'node:util';
import type { LibraryPatch } from '../libraries.ts';
import { isNativePromise, publishEnd, publishError, type Traced } from './trace.ts';
import { allOf, ownerOf, wrapCalls } from './wrap-method.ts';

export interface SocketEvent extends Traced {
  namespace: string;
  event: string;
  values: readonly unknown[];
  isFollowed?: true;
}

/** Of `io.to(room).emit()`, before it is sent. */
export interface SocketEmit {
  event: unknown;
  rooms: ReadonlySet<unknown>;
  exceptRooms: ReadonlySet<unknown>;
  adapter: object;
}

export const socketEmits = channel('express-hindsight:socket.io:emit');

interface Listener {
  (...args: unknown[]): unknown;
  listener?: unknown;
}

export const socketEvents = tracingChannel('express-hindsight:socket.io:event');

/** Listeners that only call back have this long to do so. */
const LONGEST_ANSWER_MS = 10_000;

interface Running {
  message: SocketEvent;
  /** A part of the event begins; the returned function ends it. With its last part, the event has ended. */
  begin(): () => void;
  isOver(): boolean;
}

interface ServerSocket extends EventEmitter {
  nsp: { name: string };
  listenersAny(): Listener[];
  ack(id: number): Listener;
  dispatch(event: unknown[]): void;
}

/** Listeners of `onAny` run first, and those of the event's name a tick later. Set only for sockets that have both. */
const current = new AsyncLocalStorage<Running>();

function runningEvent(message: SocketEvent): Running {
  let parts = 0;
  let isOver = false;
  return {
    message,
    isOver: () => isOver,
    begin() {
      let isEnded = false;
      parts++;
      return () => {
        if (isEnded) return;
        isEnded = true;
        isOver = --parts === 0;
        if (isOver) publishEnd(socketEvents, message);
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

/** Follows the promises of async functions only: others may have a second user, whose unhandled rejection we would hide. */
function callListeners(
  socket: EventEmitter,
  listeners: readonly Listener[],
  { message, begin }: Running,
  given: unknown[],
): void {
  const end = begin();
  try {
    for (const listener of listeners) {
      const result: unknown = Reflect.apply(listener, socket, given);
      if (!isNativePromise(result) || !types.isAsyncFunction(listener.listener ?? listener)) continue;
      const settled = begin();
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
}

function publish<T>(
  { nsp }: ServerSocket,
  [event, ...given]: unknown[],
  follow: (running: Running, given: unknown[]) => T,
  plain: () => T,
): T {
  if (typeof event !== 'string') return plain();
  const values = given.filter((value) => typeof value !== 'function');
  const message: SocketEvent = { namespace: String(nsp.name), event, values };
  return socketEvents.start.runStores(message, () => {
    if (message.isFollowed !== true) return plain();
    const running = runningEvent(message);
    const answer: unknown = given.at(-1);
    if (typeof answer === 'function')
      given[given.length - 1] = answering(answer as Listener, running.begin());
    return follow(running, given);
  });
}

function isServerSocket(value: unknown): value is ServerSocket {
  return value instanceof EventEmitter && 'nsp' in value && socketEvents.start.hasSubscribers;
}

type Around = Parameters<typeof wrapCalls>[2];

const emitted: Around = (plain, socket, args) => {
  if (!isServerSocket(socket)) return plain();
  const [event, ...given] = args;
  const call = (running: Running, values: unknown[]): boolean => {
    const listeners = socket.rawListeners(running.message.event) as Listener[];
    callListeners(socket, listeners, running, values);
    return listeners.length > 0;
  };
  const begun = current.getStore();
  const isBegun = begun !== undefined && begun.message.event === event && !begun.isOver();
  return isBegun ? call(begun, given) : publish(socket, args, call, plain);
};

/** Calls the listeners of `onAny`, then has the event dispatched to the others. */
const received: Around = (plain, socket, args) => {
  const listeners = isServerSocket(socket) ? [...socket.listenersAny()] : [];
  if (!isServerSocket(socket) || listeners.length === 0) return plain();
  const [{ data = [], id = null }] = args as [{ data?: unknown[]; id?: number | null }];
  const event = id === null ? data : [...data, socket.ack(id)];
  const call = (running: Running, values: unknown[]): void => {
    // Those of the event's name are called in the next tick, unless a middleware takes longer.
    setImmediate(running.begin());
    const followed = [event[0], ...values];
    callListeners(socket, listeners, running, followed);
    socket.dispatch(followed);
  };
  return publish(socket, event, (running, values) => current.run(running, call, running, values), plain);
};

const broadcast: Around = (plain, operator, [event]) => {
  const { rooms, exceptRooms, adapter } = operator as Omit<SocketEmit, 'event'>;
  socketEmits.publish({ event, rooms, exceptRooms, adapter } satisfies SocketEmit);
  return plain();
};

/** Its class is not exported: `to()` makes one. */
function operatorOf(namespace: object | undefined): object | undefined {
  const { to } = (namespace ?? {}) as { to?: (this: object, room: string) => object };
  try {
    return to === undefined ? undefined : (Object.getPrototypeOf(to.call({}, '')) as object);
  } catch {
    return undefined;
  }
}

export const socketIoPatch: LibraryPatch = {
  name: 'socket.io',
  patch(exports) {
    const { Socket, Namespace } = exports as Partial<Record<'Socket' | 'Namespace', { prototype?: object }>>;
    const prototype = Socket?.prototype;
    return allOf(
      wrapCalls(operatorOf(Namespace?.prototype), 'emit', broadcast),
      wrapCalls(ownerOf(prototype, 'emitUntyped'), 'emitUntyped', emitted),
      wrapCalls(ownerOf(prototype, 'onevent'), 'onevent', received),
    );
  },
};
