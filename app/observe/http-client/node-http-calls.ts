/** Calls of node:http and node:https, and so of most clients, from the channels `http.client.*`. */
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Context } from '../../profiler/record/context.ts';
import { isRealError } from '../../profiler/record/safe-read.ts';
import { CALL_ASKED } from '../channels/http-clients.ts';
import { AGENT_ASKED, publishAgent, publishDestroyed, REQUEST_DESTROYED } from '../channels/node-http.ts';
import { countHolders } from '../databases/connection-holders.ts';
import type { ConnectionHolder } from '../databases/query-fact.ts';
import { NOWHERE, type RecordedCall } from '../observe-calls.ts';
import type { Called } from '../stacks/caller.ts';
import { addressOf, type HttpCalls, text, truncateHeaders } from './http-calls.ts';
import { undiciHeaders } from './undici-calls.ts';

const MOST_ASKED = 1000;

function sentHeaders(request: ClientRequest): string[] {
  const names = request.getRawHeaderNames();
  // A list of headers is written at once, and can be read nowhere else.
  if (names.length === 0) return undiciHeaders((request as { _header?: unknown })._header);
  return truncateHeaders(
    names.flatMap((name) => [request.getHeader(name) ?? ''].flat().flatMap((value) => [name, String(value)])),
  );
}

/** Clients that abort a call destroy its request without an error: got, node-fetch, superagent. */
function destroyedHere(): DOMException {
  return new DOMException('the request was destroyed', 'AbortError');
}

/** For a WebSocket or a tunnel. */
function asksForConnection(request: ClientRequest): boolean {
  return request.method === 'CONNECT' || request.hasHeader('upgrade');
}

/** By default agents open as many sockets as they are asked for. */
function isLimited({ maxSockets, maxTotalSockets }: Agent): boolean {
  return maxSockets !== Infinity || maxTotalSockets !== Infinity;
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
  return addressOf(`${protocol}//${host}${isDefault ? '' : `:${port}`}`, path);
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

export function observeNodeHttp(http: HttpCalls): void {
  const {
    tracker,
    findCaller,
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
  const callers = new WeakMap<object, Called>();
  /** Of each context: method and address -> who asked a client that makes its request in a later turn. */
  const asked = new WeakMap<Context, Map<string, Called>>();

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

  function beginHttp(request: ClientRequest): RecordedCall<'call'> | undefined {
    return begin(
      request,
      {
        client: 'http',
        method: request.method,
        url: urlOf(request, hostPort(request)),
        requestHeaders: sentHeaders(request),
      },
      callers.get(request),
    );
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

  // Retries and redirects of got have no caller either, but mostly the address of one that had.
  for (const name of ['got:request:create', CALL_ASKED])
    on(name, ({ method, url }: { method: string; url: string }) => {
      noteAsked(method, url);
    });
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
    endFailed(request, error, (fact) => {
      const { port } = error as { port?: unknown };
      if (typeof port === 'number' && isHostForwarded(request)) fact.url = urlOf(request, port);
    });
  });
}
