/**
 * Requests that never reach the application: what the HTTP parser refuses (400, 408, 413, 431), Expect (417) and CONNECT (405).
 * They get a full page, written directly to the socket, and are recorded by an injected function. An error in the body of a running request
 * belongs to that request. Idle connections, resets and broken pipes get no response and no profile.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createError, HindsightError } from '../errors.ts';
import { announcedBytes } from './body-tap.ts';
import { allowedBytes, DEFAULT_BODY_LIMIT } from './body-limit.ts';
import { cutOff, defaultLingerLimits, linger, type LingerLimits, type RespondWithError } from './cut-off.ts';
import type { OriginResolver, ResolvedOrigin } from './origin.ts';
import { ROBOTS_HEADER, securityHeaders } from './security-headers.ts';
import { shortPage } from './error-response.ts';
import { STATUS_CODES } from '../node-http.ts';
import type { RequestFact } from '../profiler/record/facts.ts';
import { connectionOf } from './connection.ts';

export interface RefusedRequest extends ResolvedOrigin, RequestHead {
  error: unknown;
  status: number;
  remoteAddress: string;
  remotePort: number;
  received: Buffer;
}

export type RequestHead = Pick<RequestFact, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>;

const KEPT_BYTES = 16_384;
const MOST_HEADERS = 200;
const UNKNOWN: RequestHead = { method: '-', url: '-', httpVersion: '1.1', rawHeaders: [] };

/** `METHOD target HTTP/1.1` and what looks like header lines; garbage gives an unknown request. */
function readHead(packet: Buffer): RequestHead {
  const text = packet.subarray(0, KEPT_BYTES).toString('latin1');
  const [first = '', ...lines] = (text.split(/\r?\n\r?\n/, 1)[0] ?? '').split(/\r?\n/);
  const start = /^([A-Za-z-]{1,32}) (\S{1,8192})(?: HTTP\/(\d\.\d))?/.exec(first);
  if (start === null) return UNKNOWN;
  const rawHeaders: string[] = [];
  for (const line of lines.slice(0, MOST_HEADERS)) {
    const header = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}):([^\r]*)$/.exec(line);
    if (header !== null) rawHeaders.push(header[1] ?? '', header[2]?.trim() ?? '');
  }
  return { method: start[1] ?? '-', url: start[2] ?? '-', httpVersion: start[3] ?? '1.1', rawHeaders };
}

interface DescribeOptions {
  error: unknown;
  status: number;
  socket: Socket;
  head: RequestHead;
  received: Buffer;
}

function describeRefused(
  { error, status, socket, head, received }: DescribeOptions,
  resolver: OriginResolver,
): RefusedRequest {
  const connection = connectionOf(socket);
  return {
    ...resolver.resolve({ ...connection, ...head }),
    ...head,
    error,
    status,
    remoteAddress: connection.remoteAddress,
    remotePort: socket.remotePort ?? 0,
    received: Buffer.from(received.subarray(0, KEPT_BYTES)),
  };
}

export interface RecordedRefusal {
  token: string;
  link: string;
  childToken: string | null;
  html: () => string | null;
}

export interface RefusalOptions {
  resolver: OriginResolver;
  respond: RespondWithError;
  record?: ((request: RefusedRequest) => RecordedRefusal) | undefined;
  methods?: (() => readonly string[]) | undefined;
  redactText?: ((text: string) => string) | undefined;
  limitBytes?: number;
  linger?: LingerLimits;
}

const LONGEST_WAIT_MS = 10_000;
const TIMED_OUT = 408;

interface ParserError extends Error {
  code?: string;
  rawPacket?: Buffer;
}

function statusOf({ code = '' }: ParserError): number | null {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return TIMED_OUT;
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  return code.startsWith('HPE_') ? 400 : null;
}

function openResponse(socket: Socket): ServerResponse | null {
  const response: unknown = '_httpMessage' in socket ? socket._httpMessage : null;
  return typeof response === 'object' && response !== null && 'req' in response
    ? (response as ServerResponse)
    : null;
}

interface RawResponse {
  status: number;
  html: string;
  requestId: string;
  tokens: { token: string; link: string; childToken: string | null } | null;
  headers?: readonly (readonly [string, string])[];
  bare: boolean;
}

/** A line break in a value would end the header. */
function safe(value: string): string {
  return value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '');
}

/** A whole response written directly to the socket, for requests that Node never completed: same headers as any other error. */
export function printRawResponse({
  status,
  html,
  requestId,
  tokens,
  headers = [],
  bare,
}: RawResponse): Buffer {
  const body = Buffer.from(html);
  const lines: (readonly [string, string])[] = [
    ...headers,
    ['cache-control', 'no-cache, private'],
    ['content-type', 'text/html; charset=UTF-8'],
    ['date', new Date().toUTCString()],
    ROBOTS_HEADER,
    ['x-request-id', requestId],
    ...securityHeaders({ bare }),
  ];
  if (tokens !== null) {
    lines.push(['x-debug-token', tokens.token], ['x-debug-token-link', tokens.link]);
    if (tokens.childToken !== null) lines.push(['x-previous-debug-token', tokens.childToken]);
  }
  lines.push(['content-length', String(body.length)], ['connection', 'close']);
  const head = lines.map(([name, value]) => `${name}: ${safe(value)}\r\n`).join('');
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n${head}\r\n`, 'latin1'),
    body,
  ]);
}

function safely<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}

export function refuseRequests(server: Server, options: RefusalOptions): () => void {
  const {
    resolver,
    respond,
    record,
    redactText = (text: string) => text,
    limitBytes = DEFAULT_BODY_LIMIT,
    linger: limits = defaultLingerLimits,
  } = options;
  const refused = new WeakSet<Socket>();

  interface Refused {
    error: HindsightError;
    head: RequestHead;
    received: Buffer;
  }

  function write(socket: Socket, { error, head, received }: Refused): void {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const { status, message } = error;
    const request = describeRefused({ error, status, socket, head, received }, resolver);
    const recorded = safely(() => record?.(request) ?? null);
    const rendered = recorded === null ? null : safely(recorded.html);
    const html =
      rendered ?? shortPage({ status, message: redactText(message) }, { showMessage: error.expose });
    const bytes = printRawResponse({
      status,
      html,
      requestId: request.requestId,
      tokens: recorded,
      headers: Object.entries(error.headers),
      bare: rendered === null,
    });
    socket.write(head.method === 'HEAD' ? bytes.subarray(0, bytes.length - Buffer.byteLength(html)) : bytes);
    linger(socket, limits);
  }

  /** Runs `then` once no response is open on the socket; a connection that does not get there is closed. */
  function whenIdle(socket: Socket, then: () => void): void {
    const timer = setTimeout(() => socket.destroy(), LONGEST_WAIT_MS);
    const step = (): void => {
      const response = openResponse(socket);
      if (response !== null && !socket.destroyed) {
        response.once('close', step);
        return;
      }
      clearTimeout(timer);
      then();
    };
    step();
  }

  function onClientError(error: ParserError, duplex: Duplex): void {
    if (!(duplex instanceof Socket)) {
      duplex.destroy();
      return;
    }
    const status = statusOf(error);
    if (refused.has(duplex)) return;
    refused.add(duplex);
    if (status === null || !duplex.writable || duplex.bytesRead === 0) {
      duplex.destroy();
      return;
    }
    const failure = new HindsightError('BAD_REQUEST', error.message, { status, cause: error });
    const packet = error.rawPacket ?? Buffer.alloc(0);
    const response = openResponse(duplex);
    if (response !== null && !response.req.complete) {
      cutOff({ error: failure, req: response.req, res: response, respond, linger: limits });
      return;
    }
    // Responses to earlier requests may still be in progress, and must not be mixed with this one.
    whenIdle(duplex, () => {
      write(duplex, { error: failure, head: readHead(packet), received: packet });
    });
  }

  function onConnect(req: IncomingMessage, duplex: Duplex): void {
    if (!(duplex instanceof Socket)) {
      duplex.destroy();
      return;
    }
    duplex.on('error', () => duplex.destroy());
    const url = req.url ?? '-';
    const known = new Set(options.methods?.().filter((method) => method !== '*'));
    const allow = [...known].join(', ') || 'GET';
    const error = createError('METHOD_NOT_ALLOWED', ['CONNECT', url, allow], { headers: { allow } });
    const head = { method: 'CONNECT', url, httpVersion: req.httpVersion, rawHeaders: req.rawHeaders };
    write(duplex, { error, head, received: Buffer.alloc(0) });
  }

  // A body that is refused by its length is never requested.
  function onContinue(req: IncomingMessage, res: ServerResponse): void {
    if ((announcedBytes(req) ?? 0) <= allowedBytes(req, limitBytes)) res.writeContinue();
    server.emit('request', req, res);
  }

  /** Continues to the application, where framing-check.ts checks it. */
  function onExpectation(req: IncomingMessage, res: ServerResponse): void {
    server.emit('request', req, res);
  }

  server.on('clientError', onClientError);
  server.on('connect', onConnect);
  server.on('checkContinue', onContinue);
  server.on('checkExpectation', onExpectation);
  return () => {
    server.off('clientError', onClientError);
    server.off('connect', onConnect);
    server.off('checkContinue', onContinue);
    server.off('checkExpectation', onExpectation);
  };
}
