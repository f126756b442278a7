/** A connection and its Host, for applications and for the service: without packages that only the service has. */
import type { Socket } from 'node:net';
import { createError, type HindsightError } from '../errors.ts';

/** What the resolver needs to know of a connection and the head of its request. */
export interface ConnectionFacts {
  /** Name, value, name, value … as received. */
  rawHeaders: readonly string[];
  remoteAddress: string;
  localAddress: string;
  localPort: number;
  encrypted: boolean;
  /** `1.0` or `1.1`. */
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

/** A refused Host, before it becomes an error with a stack. */
export interface RefusedHost {
  code: 'INVALID_HOST' | 'UNTRUSTED_HOST';
  host: string;
}

export function hostErrorOf({ code, host }: RefusedHost): HindsightError {
  return createError(code, [host]);
}
