/** Calls of `fetch` and undici, from its channels `undici:request:*` and from its `dispatch`, which tells of what a pool has queued. */
import type { Socket } from 'node:net';
import type { Context } from '../../profiler/record/context.ts';
import { createOpenList } from '../../profiler/record/open-list.ts';
import { type Dispatched, undiciChannel } from '../channels/undici.ts';
import { countHolders } from '../databases/connection-holders.ts';
import { subscribeToCalls } from '../subscribe.ts';
import { addressOf, type HttpCalls, text, truncateHeaders } from './http-calls.ts';

interface UndiciRequest {
  origin?: unknown;
  path?: unknown;
  method?: unknown;
  headers?: unknown;
  upgrade?: unknown;
  onUpgrade?: unknown;
  onRequestUpgrade?: unknown;
}

interface UndiciChunk {
  request: object;
  chunk: unknown;
}

/** Requests of undici, of which one may hold the connection that another waits for. */
const MOST_OPEN = 100;

/** undici gives its request's headers as a list (6 and later) or as the block it will send (5). */
export function undiciHeaders(headers: unknown): string[] {
  if (Array.isArray(headers)) return truncateHeaders(headers as unknown[]);
  if (typeof headers !== 'string') return [];
  const lines = headers.split('\r\n').filter((line) => /^[^\s:]+:/.test(line));
  return truncateHeaders(
    lines.flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

/** undici 6 and 7 publish the response to an upgrade in their last releases only, undici 8 does not. */
function onUpgrade(request: UndiciRequest, note: (status: number, headers: unknown[]) => void): void {
  if (request.method !== 'CONNECT' && typeof request.upgrade !== 'string') return;
  const name = typeof request.onUpgrade === 'function' ? 'onUpgrade' : 'onRequestUpgrade';
  const original = request[name];
  if (typeof original !== 'function') return;
  const noting = function (this: unknown, ...args: unknown[]): unknown {
    const [status, headers] = args;
    if (typeof status === 'number') note(status, Array.isArray(headers) ? headers : []);
    return Reflect.apply(original, this, args);
  };
  request[name] = noting;
}

/** A pool knows its origin, of which it tells nobody. */
function originOf(dispatcher: object, { origin }: Dispatched['options']): string {
  const key = Object.getOwnPropertySymbols(dispatcher).find(({ description }) => description === 'url');
  const own: unknown = key === undefined ? undefined : Reflect.get(dispatcher, key);
  return text(origin ?? (own instanceof URL ? own.origin : 'http://unknown'));
}

export function observeUndici(http: HttpCalls): void {
  const {
    tracker,
    calls,
    bodies,
    bodyBytes,
    times,
    undo,
    begin,
    answered,
    handedOver,
    endFailed,
    on,
    later,
  } = http;
  /** Requests that undici dispatches at the moment, the outermost first: a pool hands each to one of its clients. */
  const dispatching: { options: object; isMade: boolean }[] = [];
  const openUndici = createOpenList<object>();
  /** Who asked for what a pool has queued. */
  const askers = new WeakMap<object, Context | null>();

  /** A pool has no free connection for it. Its client makes it later, when another request gives one back. */
  function queuedByPool({ options, dispatcher }: Dispatched): void {
    const { queued } = dispatcher.stats ?? {};
    if (typeof queued !== 'number' || queued === 0) return;
    askers.set(options, tracker.current() ?? null);
    const origin = originOf(dispatcher, options);
    const held = [...openUndici].flatMap((request) => {
      const call = calls.running(request);
      return call?.fact.url.startsWith(`${origin}/`) === true
        ? [{ context: call.context, place: call.fact.caller }]
        : [];
    });
    const call = begin(options, {
      client: 'fetch',
      method: text(options.method ?? 'GET'),
      url: addressOf(origin, text(options.path ?? '')),
      requestHeaders: [],
    });
    if (call !== undefined && held.length > 0) call.fact.heldBy = countHolders(held);
  }

  on('undici:request:create', ({ request }: { request: UndiciRequest }) => {
    const { origin, path, method, headers } = request;
    for (const one of dispatching) one.isMade = true;
    const { options = request } = dispatching.at(-1) ?? {};
    calls.move(options, request);
    const call =
      calls.running(request) ??
      begin(request, {
        client: 'fetch',
        method: text(method),
        url: addressOf(text(origin), text(path)),
        requestHeaders: undiciHeaders(headers),
      });
    if (call === undefined) return;
    if (openUndici.size < MOST_OPEN) openUndici.add(request);
    if (bodyBytes > 0) bodies.tapUndici(request, call);
    onUpgrade(request, (status, received) => {
      handedOver(request, status, received);
    });
  });
  undo.push(
    subscribeToCalls<Dispatched>(undiciChannel, {
      start({ options }) {
        dispatching.push({ options, isMade: false });
      },
      end(message) {
        const { isMade = true } = dispatching.pop() ?? {};
        if (!isMade && message.error === undefined && !askers.has(message.options)) queuedByPool(message);
      },
    }),
    tracker.follow(undiciChannel.start, (message) => askers.get((message as Dispatched).options)),
  );
  later('undici:request:bodySent', ({ fact }, { request }: { request: UndiciRequest }) => {
    // undici adds its own headers after the request was created.
    if (fact.sentMs === undefined) fact.requestHeaders = undiciHeaders(request.headers);
  });
  on('undici:client:beforeConnect', ({ connector }: { connector: object }) => {
    times.begin(connector);
  });
  on('undici:client:connected', ({ connector, socket }: { connector: object; socket: Socket }) => {
    times.end(connector, socket);
  });
  on('undici:client:connectError', ({ connector }: { connector: object }) => {
    times.end(connector, null);
  });
  later(
    'undici:client:sendHeaders',
    ({ context, fact }, { headers, socket }: { headers: unknown; socket: Socket }) => {
      fact.sentMs = context.elapsedMs() - fact.startMs;
      fact.connection = times.since(socket, context.startMark + fact.startMs);
      fact.reused = fact.connection === null;
      // As sent, in order, including those that undici adds.
      if (typeof headers === 'string') fact.requestHeaders = undiciHeaders(headers);
    },
  );
  later(
    'undici:request:headers',
    (call, { response }: { response: { statusCode: number; headers: unknown[] } }) =>
      answered(call, response.statusCode, response.headers),
  );
  on('undici:request:trailers', ({ request }: { request: object }) => {
    openUndici.delete(request);
    calls.end(request);
  });
  on('undici:request:error', ({ request, error }: { request: object; error: unknown }) => {
    openUndici.delete(request);
    endFailed(request, error);
  });

  if (bodyBytes > 0) {
    later('undici:request:bodyChunkSent', (call, { request, chunk }: UndiciChunk) => {
      bodies.take('request', request, call, chunk);
    });
    later('undici:request:bodyChunkReceived', (call, { request, chunk }: UndiciChunk) => {
      bodies.take('response', request, call, chunk);
    });
  }
}
