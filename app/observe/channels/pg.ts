/** `pg` -> channels `express-hindsight:pg:query` and `express-hindsight:pg:connect` (pg-pool's). */
import { channel, tracingChannel } from 'node:diagnostics_channel';
import { publishThrow } from '../../profiler/record/context.ts';
import type { LibraryPatch } from '../libraries.ts';
import {
  publishEnd,
  publishError,
  publishPool,
  traceCall,
  traceSync,
  type Traced,
  tracedCallback,
} from './trace.ts';
import { allOf, wrapCalls } from './wrap-method.ts';

export interface PgQuery extends Traced {
  client: object;
  text: string;
  values: unknown;
}

/** An object that is submitted itself: a Cursor, a QueryStream, a Query. */
interface Submittable extends Partial<Record<(typeof HANDLERS)[number] | 'emit', Callback>> {
  submit(...args: unknown[]): unknown;
  text?: unknown;
  values?: unknown;
  name?: unknown;
  cursor?: Submittable;
  close?: Callback;
}

type Callback = (...args: unknown[]) => unknown;

const query = tracingChannel('express-hindsight:pg:query');
const connect = tracingChannel('express-hindsight:pg:connect');

const event = channel('express-hindsight:pg:event');

export const pgChannels = { query, connect, event };

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** What the connection calls; they send events, and call callbacks. */
const HANDLERS = [
  'handleDataRow',
  'handlePortalSuspended',
  'handleCommandComplete',
  'handleEmptyQuery',
  'handleReadyForQuery',
  'handleError',
] as const;

/** The connection's methods show its end; listeners would change the effect of an unhandled `error` event. */
function submitted(message: PgQuery, object: Submittable, call: () => unknown): unknown {
  query.start.publish(message);
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    publishEnd(query, message);
  };
  // A query of `pg.native` is no handler of a connection; it sends its events itself.
  const names = object.handleReadyForQuery === undefined ? ([...HANDLERS, 'emit'] as const) : HANDLERS;
  for (const name of names) {
    const { [name]: original } = object;
    if (original === undefined) continue;
    const handler: Callback = function (this: unknown, ...args) {
      return event.runStores(message, () => {
        if (name === 'handleError') publishError(query, message, args[0]);
        const isEnd = name === 'handleError' || name === 'handleReadyForQuery' || args[0] === 'end';
        if (isEnd) end();
        return publishThrow(() => Reflect.apply(original, this, args));
      });
    };
    object[name] = handler;
  }
  const cursor = object.cursor ?? object;
  const { close } = cursor;
  if (close !== undefined) {
    const closing: Callback = (...args) => {
      const given = args.map((arg) =>
        typeof arg === 'function'
          ? (): unknown =>
              event.runStores(message, publishThrow<[], unknown>, undefined, arg as () => unknown)
          : arg,
      );
      return Reflect.apply(close, cursor, given);
    };
    cursor.close = closing;
  }
  try {
    return call();
  } finally {
    query.end.publish(message);
  }
}

function textOf(config: unknown): string {
  if (typeof config === 'string') return config;
  const { text } = config as { text?: unknown };
  return typeof text === 'string' ? text : '';
}

/** A prepared statement that is sent by its name alone; pg keeps the texts. */
function preparedText(client: object, name: unknown): string {
  const { connection } = client as { connection?: { parsedStatements?: Record<string, unknown> } };
  const text = typeof name === 'string' ? connection?.parsedStatements?.[name] : undefined;
  return typeof text === 'string' ? text : '';
}

/** `query(text, values?, callback?)`, `query({ text, values, callback? }, values?, callback?)`, `query(submittable, callback?)`. */
function tracedQuery(client: object, args: unknown[], call: () => unknown): unknown {
  const [config, values, callback] = args;
  const object = isObject(config) ? config : {};
  const message: PgQuery = {
    client,
    text: textOf(object.cursor ?? config) || preparedText(client, object.name),
    values: Array.isArray(values) ? values : (object.values ?? object._values),
  };
  if (typeof object.submit === 'function') {
    const cursor = object.cursor as (Submittable & { values?: unknown }) | undefined;
    message.values = cursor?.values ?? message.values;
    return submitted(message, object as unknown as Submittable, call);
  }
  const at = typeof callback === 'function' ? 2 : typeof values === 'function' ? 1 : -1;
  if (at !== -1) {
    args[at] = tracedCallback(query, message, args[at] as Callback);
    return traceSync(query, message, call);
  }
  if (typeof object.callback !== 'function') return traceCall(query, message, call);
  // A copy that inherits: the application may hand over the same object again.
  args[0] = Object.create(object, {
    callback: { value: tracedCallback(query, message, object.callback as Callback), enumerable: true },
  });
  return traceSync(query, message, call);
}

function patchClient(Client: { prototype: object }): (() => void) | null {
  return wrapCalls(Client.prototype, 'query', (call, client, args) => {
    const isTraced = query.start.hasSubscribers && args[0] !== null && args[0] !== undefined;
    return isTraced ? tracedQuery(client, args, call) : call();
  });
}

interface Classes {
  Client?: { prototype: object };
  Pool?: { prototype: object };
}

/** `pg.native`, which pg makes when it is read for the first time: another client, with the same pool. */
function patchNative(exports: object): () => void {
  const own = Object.getOwnPropertyDescriptor(exports, 'native');
  let undo: (() => void) | null = null;
  const watch = (native: Classes | null | undefined): void => {
    if (native?.Client !== undefined) undo ??= patchClient(native.Client);
  };
  const { get } = own ?? {};
  if (own === undefined || get === undefined) {
    watch(own?.value as Classes | undefined);
    return () => undo?.();
  }
  const watched = (): unknown => {
    const native = Reflect.apply(get, exports, []) as Classes | null;
    watch(native);
    return native;
  };
  Reflect.defineProperty(exports, 'native', { ...own, get: watched });
  return () => {
    undo?.();
    if (Object.getOwnPropertyDescriptor(exports, 'native')?.get === watched)
      Reflect.defineProperty(exports, 'native', own);
  };
}

export const pgPatch: LibraryPatch = {
  name: 'pg',
  patch(exports) {
    const { Client, Pool } = (exports ?? {}) as Classes;
    if (typeof Client?.prototype !== 'object' || typeof Pool?.prototype !== 'object') return null;
    return allOf(
      patchClient(Client),
      patchNative(exports as object),
      publishPool(Pool.prototype, 'connect', connect, ['query']),
    );
  },
};
