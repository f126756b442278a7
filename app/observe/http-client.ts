/**
 * Outgoing calls -> facts `call`. `fetch` and undici publish `undici:request:*`, node:http and node:https `http.client.*`, node:http2
 * `http2.client.stream.*`; a call is on one of them. Little is patched: an agent and node:http2 where Node.js publishes less
 * (channels/node-http.ts), `dispatch` of undici (channels/undici.ts), bodies (call-bodies.ts). A call belongs to the context that is current when it is made; its
 * later events may fire in any.
 */
import { isRealError } from '../profiler/record/safe-read.ts';
import diagnostics from 'node:diagnostics_channel';
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import type { Socket } from 'node:net';
import type { Context } from '../profiler/record/context.ts';
import type { Repeating } from '../profiler/record/fact-list.ts';
import type { Called } from './stacks/caller.ts';
import { CALL_ASKED } from './channels/http-clients.ts';
import { type Dispatched, undiciChannel } from './channels/undici.ts';
import { AGENT_ASKED, publishAgent, publishDestroyed, REQUEST_DESTROYED } from './channels/node-http.ts';
import { truncateText } from '../profiler/record/plain.ts';
import { failureText, stackText } from '../profiler/record/thrown-value.ts';
import { rawHeader } from '../profiler/record/raw-headers.ts';
import { type CallBody, createCallBodies } from './call-bodies.ts';
import { countHolders } from './databases/connection-holders.ts';
import { type ConnectionParts, createConnectionTimes } from './databases/connection-times.ts';
import { createCallRecorder, NOWHERE, type RecordedCall } from './observe-calls.ts';
import type { ConnectionHolder } from './databases/query-fact.ts';
import { closing, type ObserverParts, subscribeTo, subscribeToCalls } from './subscribe.ts';
import { createOpenList } from '../profiler/record/open-list.ts';

export interface CallFact extends Called {
  method: string;
  url: string;
  /** `fetch` (undici), `http` (node:http, node:https) or `http2` (node:http2, and so gRPC). */
  client: 'fetch' | 'http' | 'http2';
  status: number | null;
  startMs: number;
  durationMs: number | null;
  headersMs: number | null;
  connection: ConnectionParts | null;
  /** Until the request was sent, after connecting or waiting for a connection; null if it is not reported. */
  sentMs?: number | null;
  heldBy?: readonly ConnectionHolder[];
  reused?: boolean;
  requestHeaders: string[];
  responseHeaders: string[];
  requestBody?: CallBody;
  responseBody?: CallBody;
  error: string | null;
  link: string | null;
}

declare module '../profiler/record/facts.ts' {
  interface Facts {
    call: CallFact;
  }
}

const REPEATED: Repeating<CallFact> = {
  key: ({ caller, method, url }) =>
    `${caller ?? ''}\n${method} ${/^[a-z]+:\/\/[^/?#]*/i.exec(url)?.[0] ?? ''}`,
  failed: ({ status, error }) => (status === null ? error !== null : status >= 500),
};

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

const MOST_HEADERS = 100;
const HEADER_LENGTH = 2000;
const MOST_ASKED = 1000;
/** Requests of undici, of which one may hold the connection that another waits for. */
const MOST_OPEN = 100;

function text(value: unknown): string {
  return typeof value === 'string'
    ? value
    : Buffer.isBuffer(value)
      ? value.toString('latin1')
      : String(value);
}

function truncateHeaders(pairs: readonly unknown[]): string[] {
  return pairs.slice(0, 2 * MOST_HEADERS).map((part) => truncateText(text(part), HEADER_LENGTH));
}

/** undici gives its request's headers as a list (6 and later) or as the block it will send (5). */
export function undiciHeaders(headers: unknown): string[] {
  if (Array.isArray(headers)) return truncateHeaders(headers as unknown[]);
  if (typeof headers !== 'string') return [];
  const lines = headers.split('\r\n').filter((line) => /^[^\s:]+:/.test(line));
  return truncateHeaders(
    lines.flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

function sentHeaders(request: ClientRequest): string[] {
  const names = request.getRawHeaderNames();
  // A list of headers is written at once, and can be read nowhere else.
  if (names.length === 0) return undiciHeaders((request as { _header?: unknown })._header);
  return truncateHeaders(
    names.flatMap((name) => [request.getHeader(name) ?? ''].flat().flatMap((value) => [name, String(value)])),
  );
}

/** As only the exporters of Sentry, New Relic, OpenTelemetry and Datadog write them. */
const OF_EXPORTER =
  /^(?:user-agent\n(?:sentry\.javascript\.|NewRelic-NodeAgent\/|(?:.* )?OTel-OTLP-Exporter-JavaScript\/)|datadog-meta-lang\n)/i;

/** What a tool in this process sends of it is no call of the application. */
function isOfExporter(headers: readonly string[]): boolean {
  return headers.some((name, at) => at % 2 === 0 && OF_EXPORTER.test(`${name}\n${headers[at + 1] ?? ''}`));
}

const OF_TIMER = /\blistOnTimeout\b/;

/** Of an abort: the timeout that was its reason, or that it came from a timer, `setTimeout(() => controller.abort(), 1000)`. */
function abortText(error: unknown): string | null {
  const text = failureText(error);
  if (!/^(?:AbortError|CanceledError)\b/.test(text)) return null;
  const { cause } = error as { cause?: unknown };
  const reason = cause === undefined ? '' : failureText(cause);
  if (reason.startsWith('TimeoutError')) return reason;
  return OF_TIMER.test(stackText(error) + stackText(cause)) ? `${text}, by a timer` : null;
}

/** Clients that abort a call destroy its request without an error: got, node-fetch, superagent. */
function destroyedHere(): DOMException {
  return new DOMException('the request was destroyed', 'AbortError');
}

function calledByRedirect(context: Context, url: string): Called | null {
  const before = context.last('call');
  if (before === undefined || before.status === null || before.status < 300 || before.status > 399)
    return null;
  const location = rawHeader(before.responseHeaders, 'location') ?? '';
  return URL.canParse(location, before.url) && new URL(location, before.url).href === url
    ? { caller: before.caller, path: before.path }
    : null;
}

export function observeHttpClient({
  tracker,
  findCaller,
  bodyBytes = 0,
}: ObserverParts & { bodyBytes?: number }): { close(): void } {
  const bodies = createCallBodies(bodyBytes);
  const calls = createCallRecorder({
    tracker,
    findCaller,
    fact: 'call',
    library: 'undici',
    repeating: REPEATED,
  });
  const undo: (() => void)[] = [];
  const callers = new WeakMap<object, Called>();
  /** Of each context: method and address -> who asked a client that makes its request in a later turn. */
  const asked = new WeakMap<Context, Map<string, Called>>();
  const times = createConnectionTimes();

  function noteAsked(method: string, url: string): void {
    const context = tracker.observed();
    if (context === undefined) return;
    const called = findCaller?.called({ isOwn: true }) ?? null;
    const key = askedKey(method, url);
    if (called === null || key === null) return;
    const calls = asked.get(context) ?? new Map<string, Called>();
    asked.set(context, calls);
    if (calls.size < MOST_ASKED) calls.set(key, called);
  }

  function calledBy(request: ClientRequest): Called | null {
    const own = findCaller?.called({ isOwn: true }) ?? null;
    if (own !== null) return own;
    const context = tracker.observed();
    const calls = context === undefined ? undefined : asked.get(context);
    const { method, protocol, host, path } = request;
    const url = `${protocol}//${text(request.getHeader('host') ?? host)}${path}`;
    // The query may have been added later.
    const earlier = [url, url.replace(/\?.*/s, '')].map((one) => calls?.get(askedKey(method, one) ?? ''));
    return earlier[0] ?? earlier[1] ?? findCaller?.called({ skip: 'undici' }) ?? null;
  }

  function tellConnection(request: ClientRequest, socket: Socket, { fact }: RecordedCall<'call'>): void {
    if (isHostForwarded(request)) {
      const connected = (): void => {
        fact.url = urlOf(request, socket.remotePort);
      };
      if (socket.connecting) socket.once('connect', connected);
      else connected();
    }
    fact.reused = !socket.connecting;
    if (socket.connecting) fact.connection = times.watch(socket);
  }

  function begin(
    key: object,
    call: Pick<CallFact, 'client' | 'method' | 'url' | 'requestHeaders'>,
  ): RecordedCall<'call'> | undefined {
    if (isOfExporter(call.requestHeaders)) return undefined;
    calls.begin(key, (find, context) => {
      const by = callers.get(key) ?? find();
      return {
        ...call,
        status: null,
        headersMs: null,
        connection: null,
        responseHeaders: [],
        error: null,
        link: null,
        ...(by.caller === null ? (calledByRedirect(context, call.url) ?? by) : by),
      };
    });
    return calls.running(key);
  }

  function answered(
    { context, fact }: RecordedCall<'call'>,
    status: number | null,
    headers: readonly unknown[],
  ): void {
    fact.status = status;
    fact.headersMs = context.elapsedMs() - fact.startMs;
    fact.responseHeaders = truncateHeaders(headers);
    fact.link = rawHeader(fact.responseHeaders, 'x-debug-token-link');
  }

  /** The connection has another owner after the headers of the response. */
  function handedOver(request: object, status: number | null, headers: readonly unknown[]): void {
    const entry = calls.running(request);
    if (entry === undefined) return;
    answered(entry, status, headers);
    calls.end(request);
  }

  function endFailed(request: object, error: unknown): void {
    calls.end(request, error, (fact) => {
      fact.error = abortText(error) ?? fact.error;
    });
  }

  function beginHttp(request: ClientRequest): RecordedCall<'call'> | undefined {
    return begin(request, {
      client: 'http',
      method: request.method,
      url: urlOf(request, hostPort(request)),
      requestHeaders: sentHeaders(request),
    });
  }

  function holdersOf({ sockets }: Agent): ConnectionHolder[] {
    const held = Object.values(sockets).flatMap((list = []) =>
      list.flatMap((socket) => {
        const { _httpMessage: sent } = socket as { _httpMessage?: ClientRequest | null };
        const call = sent === undefined || sent === null ? undefined : calls.running(sent);
        return call === undefined ? [] : [{ context: call.context, place: call.fact.caller }];
      }),
    );
    return countHolders(held);
  }

  function noteQueued(request: ClientRequest): void {
    const { agent } = request as { agent?: Agent };
    if (agent === undefined || !isLimited(agent) || tracker.observed() === undefined) return;
    // The agent queues it after this.
    process.nextTick(() => {
      if (!Object.values(agent.requests).some((queue) => queue?.includes(request))) return;
      const heldBy = holdersOf(agent);
      const entry = beginHttp(request);
      if (entry !== undefined && heldBy.length > 0) entry.fact.heldBy = heldBy;
    });
  }

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
    const url = `${origin}${text(options.path ?? '')}`;
    const held = [...openUndici].flatMap((request) => {
      const call = calls.running(request);
      return call?.fact.url.startsWith(`${origin}/`) === true
        ? [{ context: call.context, place: call.fact.caller }]
        : [];
    });
    const call = begin(options, {
      client: 'fetch',
      method: text(options.method ?? 'GET'),
      url: truncateText(url, 8192),
      requestHeaders: [],
    });
    if (call !== undefined && held.length > 0) call.fact.heldBy = countHolders(held);
  }

  function on(name: string, work: (message: never) => void): void {
    undo.push(subscribeTo(diagnostics.channel(name), work));
  }

  function later(name: string, work: (call: RecordedCall<'call'>, message: never) => void): void {
    on(name, (message: { request: object }) => {
      const call = calls.running(message.request);
      if (call !== undefined) work(call, message as never);
    });
  }

  // Retries and redirects of got have no caller either, but mostly the address of one that had.
  for (const name of ['got:request:create', CALL_ASKED])
    on(name, ({ method, url }: { method: string; url: string }) => {
      noteAsked(method, url);
    });
  // Plain sockets; TLS sockets are not published here.
  on('net.client.socket', ({ socket }: { socket: Socket }) => {
    if (tracker.current() !== undefined) times.watch(socket);
  });
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
        url: truncateText(`${text(origin)}${text(path)}`, 8192),
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

  // Still in the caller's stack. `start` fires when there is a socket, where the caller is gone.
  for (const name of ['http.client.request.created', AGENT_ASKED])
    on(name, ({ request }: { request: ClientRequest }) => {
      if (tracker.current() !== undefined) callers.set(request, calledBy(request) ?? NOWHERE);
      noteQueued(request);
      const context = bodyBytes > 0 ? tracker.observed() : undefined;
      if (context !== undefined) bodies.tapRequest(context, request);
    });
  for (const restore of [publishAgent(), publishDestroyed()]) if (restore !== null) undo.push(restore);
  on('http.client.request.start', ({ request }: { request: ClientRequest }) => {
    const queued = calls.running(request);
    const entry = queued ?? beginHttp(request);
    if (entry === undefined) return;
    if (queued !== undefined) queued.fact.sentMs = queued.context.elapsedMs() - queued.fact.startMs;
    const body = bodies.written(request);
    if (body !== undefined) entry.fact.requestBody = body;
    const socket: Socket | null = request.socket;
    if (socket !== null) tellConnection(request, socket, entry);
    else request.once('socket', (given) => tellConnection(request, given, entry));
    // A listener for `upgrade` or `connect` would take the connection; `close` follows at once.
    if (asksForConnection(request))
      request.once('close', () => {
        const { res } = request as { res?: (IncomingMessage & { upgrade?: boolean }) | null };
        if (res?.upgrade === true) handedOver(request, res.statusCode ?? null, res.rawHeaders);
      });
  });
  on(
    'http.client.response.finish',
    ({ request, response }: { request: ClientRequest; response: IncomingMessage }) => {
      const entry = calls.running(request);
      if (entry === undefined) return;
      answered(entry, response.statusCode ?? null, response.rawHeaders);
      if (bodyBytes > 0) bodies.tapResponse(entry.context, entry.fact, response);
      response.once('end', () => calls.end(request));
      response.once('close', () => {
        const isCut = isCutOff(request, response);
        calls.end(request, isCut ? new Error('the connection closed within the response') : undefined);
      });
    },
  );
  later(
    REQUEST_DESTROYED,
    ({ fact }, { request, error = destroyedHere() }: { request: ClientRequest; error?: unknown }) => {
      if (fact.status === null) endFailed(request, error);
    },
  );
  on('http.client.request.error', ({ request, error }: { request: ClientRequest; error: unknown }) => {
    calls.end(request, error, (fact) => {
      fact.error = abortText(error) ?? fact.error;
      const { port } = error as { port?: unknown };
      if (typeof port === 'number' && isHostForwarded(request)) fact.url = urlOf(request, port);
    });
  });

  on(
    'http2.client.stream.created',
    ({ stream, headers }: { stream: ClientHttp2Stream; headers: Http2Headers }) => {
      begin(stream, {
        client: 'http2',
        method: text(headers[':method'] ?? 'GET'),
        url: truncateText(
          `${text(headers[':scheme'] ?? 'http')}://${text(headers[':authority'] ?? '')}${text(headers[':path'] ?? '/')}`,
          8192,
        ),
        requestHeaders: http2Headers(headers),
      });
      const entry = calls.running(stream);
      // gRPC answers 200, and says in the last block of headers whether the call has failed.
      if (entry === undefined) return;
      stream.once('trailers', (trailers: Http2Headers) => {
        entry.fact.responseHeaders.push(...http2Headers(trailers));
      });
      // It closes in a later turn.
      stream.once('end', () => {
        endStream(stream);
      });
    },
  );
  on(
    'http2.client.stream.finish',
    ({ stream, headers }: { stream: ClientHttp2Stream; headers: Http2Headers }) => {
      const entry = calls.running(stream);
      if (entry !== undefined) answered(entry, Number(headers[':status'] ?? 0), http2Headers(headers));
    },
  );
  on('http2.client.stream.error', ({ stream, error }: { stream: ClientHttp2Stream; error: unknown }) => {
    calls.end(stream, error);
  });
  function endStream(stream: ClientHttp2Stream): void {
    const { responseHeaders = [] } = calls.running(stream)?.fact ?? {};
    const status = rawHeader(responseHeaders, 'grpc-status') ?? '0';
    const message = rawHeader(responseHeaders, 'grpc-message') ?? '';
    // Before the channel of errors, if the server has reset it.
    const { errored, rstCode } = stream;
    if (rstCode !== 0)
      calls.end(stream, errored ?? new Error(`the stream was closed with HTTP/2 error ${rstCode}`));
    calls.end(stream, status === '0' ? undefined : new Error(`grpc-status ${status}: ${message}`));
  }
  on('http2.client.stream.close', ({ stream }: { stream: ClientHttp2Stream }) => {
    endStream(stream);
  });

  return closing(undo);
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

/** For a WebSocket or a tunnel. */
function asksForConnection(request: ClientRequest): boolean {
  return request.method === 'CONNECT' || request.hasHeader('upgrade');
}

/** A pool knows its origin, of which it tells nobody. */
function originOf(dispatcher: object, { origin }: Dispatched['options']): string {
  const key = Object.getOwnPropertySymbols(dispatcher).find(({ description }) => description === 'url');
  const own: unknown = key === undefined ? undefined : Reflect.get(dispatcher, key);
  return text(origin ?? (own instanceof URL ? own.origin : 'http://unknown'));
}

/** By default agents open as many sockets as they are asked for. */
function isLimited({ maxSockets, maxTotalSockets }: Agent): boolean {
  return maxSockets !== Infinity || maxTotalSockets !== Infinity;
}

type Http2Headers = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** Without those of the protocol, which begin with a colon. */
function http2Headers(headers: Http2Headers): string[] {
  return truncateHeaders(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith(':') ? [] : [value ?? ''].flat().flatMap((one) => [name, one]),
    ),
  );
}

/**
 * Node.js writes `Host`, but not beside a list of headers; a proxy passes on the `host` that it got, which names the proxy, and a tunnel
 * has that of its other end.
 */
function isHostForwarded(request: ClientRequest): boolean {
  if (request.method === 'CONNECT' || !request.hasHeader('host')) return true;
  return request.getRawHeaderNames().includes('host') && request.getHeader('host') !== request.host;
}

/** 8080 from the Host header: the request does not expose its port. */
function hostPort(request: ClientRequest): number | undefined {
  const host = isHostForwarded(request) ? undefined : request.getHeader('host');
  const port = typeof host === 'string' ? /:(\d+)$/.exec(host)?.[1] : undefined;
  return port === undefined ? undefined : Number(port);
}

function urlOf({ protocol, host, path }: ClientRequest, port: number | undefined): string {
  const isDefault = port === undefined || port === (protocol === 'https:' ? 443 : 80);
  const target = path.startsWith('/') ? path : `/${path}`;
  return truncateText(`${protocol}//${host}${isDefault ? '' : `:${port}`}${target}`, 8192);
}

/** null: it is no address. */
function askedKey(method: string, address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { protocol, host, pathname, search } = new URL(address);
  return `${method} ${protocol}//${host}${pathname}${search}`;
}

/** By the called service: a socket that the application itself destroys neither ends nor fails. */
function isCutOff({ socket }: ClientRequest, response: IncomingMessage): boolean {
  return !response.complete && (socket?.readableEnded === true || isRealError(socket?.errored));
}
