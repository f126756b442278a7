/** How a call ended: with which error, and how long each part took. */
import type { CallEntry } from './data.ts';

/** `ECONNREFUSED`, else the class of the error. */
export function errorName(error: string): string {
  const code =
    /\b(?:E[A-Z][A-Z_]{3,}|UND_ERR_[A-Z_]+|ERR_[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*SELF_SIGNED[A-Z_]*)\b/.exec(error);
  return code?.[0] ?? /^[A-Za-z]\w{0,60}/.exec(error)?.[0] ?? 'failed';
}

/** Shorter queueing, in milliseconds, gets no bar. */
const SHORTEST_QUEUE = 0.5;

export interface CallPart {
  /** Class of its bar. */
  name: 'queue' | 'lookup' | 'connect' | 'tls' | 'wait' | 'read';
  label: string;
  ms: number;
}

/** The known parts in their order; their sum is at most the duration of the call. */
export function partsOf({ connection, headersMs, durationMs, sentMs }: CallEntry): CallPart[] {
  const parts: CallPart[] = [];
  const add = (name: CallPart['name'], label: string, ms: number | null | undefined): void => {
    if (ms !== null && ms !== undefined) parts.push({ name, label, ms: Math.max(0, ms) });
  };
  add('lookup', 'DNS lookup', connection?.lookupMs);
  add('connect', 'Connect', connection?.connectMs);
  add('tls', 'TLS', connection?.tlsMs);
  if (parts.length === 0) add('connect', 'Connect (total)', connection?.allMs);
  const connecting = parts.reduce((total, { ms }) => total + ms, 0);
  if (sentMs !== undefined && sentMs - connecting >= SHORTEST_QUEUE)
    parts.unshift({ name: 'queue', label: 'Queued', ms: sentMs - connecting });
  if (headersMs === null) return parts;
  const before = parts.reduce((total, { ms }) => total + ms, 0);
  add('wait', 'Waiting for response', headersMs - before);
  if (durationMs !== null) add('read', 'Downloading', durationMs - headersMs);
  return parts;
}
