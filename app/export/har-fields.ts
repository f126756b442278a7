/** Fields that entries of a HAR 1.2 have in common. Bytes are not timed as they are sent, so `wait` in `timings` includes sending. */
import type { CallEntry } from '../panels/http-client/data.ts';
import type { NamedValue } from '../profiler/raw-headers.ts';

export function headerOf(headers: readonly NamedValue[], name: string): string {
  return headers.find((header) => header.name.toLowerCase() === name)?.value ?? '';
}

export function commentOf(text: string | null): { comment?: string } {
  return text === null ? {} : { comment: text };
}

export interface HarTimings {
  blocked: number;
  dns: number;
  connect: number;
  ssl: number;
  send: number;
  wait: number;
  receive: number;
  comment: string;
}

const SENDING = 'Sending is counted as waiting.';

/** Without the noise of adding floating-point numbers. */
function plain(ms: number): number {
  return Math.round(Math.max(0, ms) * 1000) / 1000;
}

export function requestTimings(headersAtMs: number | null, durationMs: number | null): HarTimings {
  const wait = headersAtMs ?? durationMs ?? 0;
  return {
    blocked: -1,
    dns: -1,
    connect: -1,
    ssl: -1,
    send: 0,
    wait: plain(wait),
    receive: plain((durationMs ?? wait) - wait),
    comment: SENDING,
  };
}

type Times = Pick<CallEntry, 'connection' | 'sentMs' | 'headersMs' | 'durationMs'>;

export function callTimings({ connection, sentMs, headersMs, durationMs }: Times): HarTimings {
  const { lookupMs = null, connectMs = null, tlsMs = null, allMs } = connection ?? {};
  const dns = lookupMs ?? 0;
  const isKnown = connectMs !== null || tlsMs !== null;
  const opening = isKnown ? (connectMs ?? 0) + (tlsMs ?? 0) : (allMs ?? 0);
  const blocked = sentMs === undefined ? 0 : Math.max(0, sentMs - dns - opening);
  const end = headersMs ?? durationMs ?? 0;
  return {
    blocked: sentMs === undefined ? -1 : plain(blocked),
    dns: lookupMs === null ? -1 : plain(dns),
    // HAR counts TLS as part of connecting.
    connect: isKnown || allMs !== undefined ? plain(opening) : -1,
    ssl: tlsMs === null ? -1 : plain(tlsMs),
    send: 0,
    wait: plain(end - blocked - dns - opening),
    receive: plain((durationMs ?? end) - end),
    comment: SENDING,
  };
}

/** The sum of the known parts, as HAR demands; `ssl` is within `connect`. */
export function timeOf({ blocked, dns, connect, send, wait, receive }: HarTimings): number {
  return plain([blocked, dns, connect, send, wait, receive].reduce((sum, ms) => sum + Math.max(0, ms), 0));
}
