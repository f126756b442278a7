/** A connection and its Host, for applications and for the service: without packages that only the service has. */
import { randomUUID } from 'node:crypto';
import { isIPv6, type Socket } from 'node:net';
import { createError, type HindsightError } from '../errors.ts';

export interface ConnectionFacts {
  rawHeaders: readonly string[];
  remoteAddress: string;
  localAddress: string;
  localPort: number;
  encrypted: boolean;
  httpVersion: string;
}

export function connectionOf(socket: Socket): Omit<ConnectionFacts, 'rawHeaders' | 'httpVersion'> {
  return {
    remoteAddress: socket.remoteAddress ?? '',
    localAddress: socket.localAddress ?? '',
    localPort: socket.localPort ?? 0,
    encrypted: 'encrypted' in socket && socket.encrypted === true,
  };
}

export interface RefusedHost {
  code: 'INVALID_HOST' | 'UNTRUSTED_HOST';
  host: string;
}

export function hostErrorOf({ code, host }: RefusedHost): HindsightError {
  return createError(code, [host]);
}

export interface Authority {
  host: string;
  port: number | null;
}

/** 253 characters of a name, brackets or a final dot, a colon and the port. */
const LONGEST_AUTHORITY = 300;
const AUTHORITY = /^(\[[0-9a-f:.]+\]|(?:[a-z0-9_-]+\.)*[a-z0-9_-]+\.?)(?::(\d*))?$/i;
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,200}$/;

export function readPort(text: string | null | undefined): number | null {
  if (text === null || text === undefined || !/^\d{1,5}$/.test(text)) return null;
  const port = Number(text);
  return port >= 1 && port <= 65535 ? port : null;
}

/** `host[:port]` -> its parts; null if it is malformed. */
export function parseAuthority(text: string): Authority | null {
  if (text.length > LONGEST_AUTHORITY) return null;
  const match = AUTHORITY.exec(text);
  const host = match?.[1];
  if (host === undefined || (host.startsWith('[') && !isIPv6(host.slice(1, -1)))) return null;
  return { host, port: readPort(match?.[2]) };
}

/** `scheme://host[:port]` in lower case, as a browser writes an origin. */
export function printOrigin(scheme: 'http' | 'https', host: string, port: number): string {
  const standard = port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${host.toLowerCase()}${standard ? '' : `:${port}`}`;
}

export function readRequestId(
  received: string | undefined,
  trusted: boolean,
): { requestId: string; receivedRequestId: string | null } {
  if (received !== undefined && trusted && REQUEST_ID.test(received))
    return { requestId: received, receivedRequestId: null };
  return { requestId: randomUUID(), receivedRequestId: received ?? null };
}
