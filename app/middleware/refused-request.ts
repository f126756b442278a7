/** What is known of a request that the HTTP parser refused, read from its last packet without trusting a byte. */
import type { Socket } from 'node:net';
import type { RequestFact } from '../profiler/facts.ts';
import { connectionOf } from './connection.ts';
import type { OriginResolver, ResolvedOrigin } from './origin.ts';

/** Plain facts for the recorder; method and URL are `-` if they did not arrive. */
export interface RefusedRequest extends ResolvedOrigin, RequestHead {
  error: unknown;
  status: number;
  remoteAddress: string;
  remotePort: number;
  /** The refused packet, truncated. */
  received: Buffer;
}

export type RequestHead = Pick<RequestFact, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>;

const KEPT_BYTES = 16_384;
const MOST_HEADERS = 200;
const UNKNOWN: RequestHead = { method: '-', url: '-', httpVersion: '1.1', rawHeaders: [] };

/** `METHOD target HTTP/1.1` and what looks like header lines; garbage gives an unknown request. */
export function readHead(packet: Buffer): RequestHead {
  const text = packet.subarray(0, KEPT_BYTES).toString('latin1');
  const [first = '', ...lines] = (text.split(/\r?\n\r?\n/, 1)[0] ?? '').split(/\r?\n/);
  const start = /^([A-Za-z-]{1,32}) (\S{1,8192})(?: HTTP\/(\d\.\d))?/.exec(first);
  if (start === null) return UNKNOWN;
  const rawHeaders: string[] = [];
  for (const line of lines.slice(0, MOST_HEADERS)) {
    const header = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}):[ \t]*(.*?)[ \t]*$/.exec(line);
    if (header !== null) rawHeaders.push(header[1] ?? '', header[2] ?? '');
  }
  return { method: start[1] ?? '-', url: start[2] ?? '-', httpVersion: start[3] ?? '1.1', rawHeaders };
}

export interface DescribeOptions {
  error: unknown;
  status: number;
  socket: Socket;
  head: RequestHead;
  received: Buffer;
}

export function describeRefused(
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
