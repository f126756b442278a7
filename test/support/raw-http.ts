/**
 * HTTP by hand over a real socket: what no client library would send, and the answer as it came, header by header.
 *
 * In: bytes to write. Out: the answers in order, whether the connection was closed or reset, and how long it took.
 * Every exchange is bounded in time.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { WITHIN_MS } from './waiting.ts';

export interface RawResponse {
  status: number;
  statusText: string;
  /** By name in lower case; values of a repeated header joined by a comma. */
  headers: Record<string, string>;
  body: string;
}

export interface Exchange {
  responses: RawResponse[];
  closed: boolean;
  reset: boolean;
  timedOut: boolean;
  ms: number;
}

export interface ExchangeOptions {
  /** Answers waited for; the exchange ends with the last of them. Default: until the connection closes. */
  count?: number;
  /** Methods sent, where an answer to HEAD is among them. */
  methods?: readonly string[];
  limitMs?: number;
  /** Milliseconds between the parts. */
  pauseMs?: number;
  /** Ends the writing side after the last part. */
  halfClose?: boolean;
  /** Default: the system's choice, which has about 28,000 ports for a minute. */
  localAddress?: string;
}

/** Takes one whole answer from the front of `bytes`; null where it is not complete. */
function takeResponse(bytes: Buffer, isHead: boolean): { response: RawResponse; used: number } | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [line = '', ...fields] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const start = /^HTTP\/1\.1 (\d{3}) ?(.*)$/.exec(line);
  if (start === null) throw new Error(`no status line: ${JSON.stringify(line)}`);
  const headers = Object.create(null) as Record<string, string>;
  for (const field of fields) {
    const colon = field.indexOf(':');
    const name = field.slice(0, colon).toLowerCase();
    const value = field.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name] ?? ''}, ${value}` : value;
  }
  const status = Number(start[1]);
  const body = end + 4;
  const bare = isHead || status === 304 || status === 204 || status < 200;
  const length = bare ? 0 : Number(headers['content-length'] ?? 0);
  if (!bare && headers['transfer-encoding'] === 'chunked') {
    const last = bytes.indexOf('0\r\n\r\n', body);
    if (last === -1) return null;
    const text = bytes.subarray(body, last).toString('latin1');
    return { response: { status, statusText: start[2] ?? '', headers, body: text }, used: last + 5 };
  }
  if (bytes.length < body + length) return null;
  const text = bytes.subarray(body, body + length).toString('utf8');
  return { response: { status, statusText: start[2] ?? '', headers, body: text }, used: body + length };
}

async function writeAll(
  socket: Socket,
  parts: readonly (string | Buffer)[],
  options: ExchangeOptions,
): Promise<void> {
  for (const [index, part] of parts.entries()) {
    if (index > 0 && options.pauseMs !== undefined) await sleep(options.pauseMs);
    if (socket.destroyed || !socket.writable) return;
    const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
    if (!socket.write(bytes))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), sleep(2000)]);
  }
  if (options.halfClose === true) socket.end();
}

export function exchange(
  port: number,
  parts: readonly (string | Buffer)[],
  options: ExchangeOptions = {},
): Promise<Exchange> {
  const { count = Infinity, methods = [], limitMs = WITHIN_MS } = options;
  const result: Exchange = { responses: [], closed: false, reset: false, timedOut: false, ms: 0 };
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: options.localAddress ?? '127.0.0.1' });
    let bytes = Buffer.alloc(0);
    let interim = 0;
    const finish = (): void => {
      clearTimeout(timer);
      result.ms = performance.now() - began;
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => {
      result.timedOut = true;
      finish();
    }, limitMs);
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      try {
        for (;;) {
          const taken = takeResponse(bytes, methods[result.responses.length - interim] === 'HEAD');
          if (taken === null) break;
          if (taken.response.status < 200) interim++;
          result.responses.push(taken.response);
          bytes = bytes.subarray(taken.used);
        }
      } catch (error) {
        clearTimeout(timer);
        socket.destroy();
        reject(error instanceof Error ? error : new Error('unreadable answer'));
        return;
      }
      if (result.responses.length - interim >= count) finish();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      result.reset = error.code === 'ECONNRESET' || error.code === 'EPIPE';
    });
    socket.on('close', () => {
      result.closed = true;
      finish();
    });
    socket.on('connect', () => {
      writeAll(socket, parts, options).catch(reject);
    });
  });
}

/** One request with the headers given, as text; `host` is sent unless told otherwise. */
export function head(
  line: string,
  headers: Record<string, string> = {},
  host: string | null = 'app.test',
): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${host === null ? '' : `Host: ${host}\r\n`}${fields.join('')}\r\n`;
}
