/** How a call ended: whether it failed, by which error, how long each part of it took. */
import type { CallEntry } from './index.ts';

export function isFailed({ status, error }: Pick<CallEntry, 'status' | 'error'>): boolean {
  return error !== null || (status !== null && status >= 500);
}

/** `ECONNREFUSED`, else the class of the error: what one looks for. */
export function errorName(error: string): string {
  const code =
    /\b(?:E[A-Z][A-Z_]{3,}|UND_ERR_[A-Z_]+|ERR_[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*SELF_SIGNED[A-Z_]*)\b/.exec(error);
  return code?.[0] ?? /^[A-Za-z]\w{0,60}/.exec(error)?.[0] ?? 'failed';
}

/** Less before the sending is not worth a bar. */
const SHORTEST_QUEUE = 0.5;

export interface CallPart {
  /** Class of its bar. */
  name: 'queue' | 'lookup' | 'connect' | 'tls' | 'wait' | 'read';
  label: string;
  ms: number;
}

/** The parts that are known, in their order; together they are no longer than the call. */
export function partsOf({ connection, headersMs, durationMs, sentMs }: CallEntry): CallPart[] {
  const parts: CallPart[] = [];
  const add = (name: CallPart['name'], label: string, ms: number | null | undefined): void => {
    if (ms !== null && ms !== undefined) parts.push({ name, label, ms: Math.max(0, ms) });
  };
  add('lookup', 'Name lookup', connection?.lookupMs);
  add('connect', 'Connect', connection?.connectMs);
  add('tls', 'TLS', connection?.tlsMs);
  if (parts.length === 0) add('connect', 'Connect, all of it', connection?.allMs);
  const connecting = parts.reduce((total, { ms }) => total + ms, 0);
  if (sentMs !== undefined && sentMs - connecting >= SHORTEST_QUEUE)
    parts.unshift({ name: 'queue', label: 'Before it was sent', ms: sentMs - connecting });
  if (headersMs === null) return parts;
  const before = parts.reduce((total, { ms }) => total + ms, 0);
  add('wait', 'Waiting for the answer', headersMs - before);
  if (durationMs !== null) add('read', 'Reading it', durationMs - headersMs);
  return parts;
}
