/** Spans: panels make them from their stored data, the ledger of time (time-ledger.ts) gives each millisecond to one of them. */

interface KindWords {
  label: string;
  filter: 'Middleware' | 'Queries' | 'Calls' | 'Views' | 'Redis' | 'Other work' | 'Waits';
  one: string;
  many: string;
}

function wait(label: string): KindWords {
  return { label, filter: 'Waits', one: 'wait', many: 'waits' };
}

/**
 * Who can own a millisecond: each has a name and a colour. `app`: handlers, and code outside of any layer. `work`: any other work.
 * `blocked`: by other requests; blocked by its own code is `app`. The last two are outside of the request's time, and in no total.
 */
export const SPAN_KINDS = {
  app: { label: 'Your code', filter: 'Middleware', one: 'handler', many: 'handlers' },
  middleware: { label: 'Middleware', filter: 'Middleware', one: 'middleware', many: 'middleware' },
  db: { label: 'Database', filter: 'Queries', one: 'query', many: 'queries' },
  out: { label: 'Outgoing calls', filter: 'Calls', one: 'outgoing call', many: 'outgoing calls' },
  view: { label: 'Views', filter: 'Views', one: 'view', many: 'views' },
  cache: { label: 'Redis', filter: 'Redis', one: 'Redis command', many: 'Redis commands' },
  work: { label: 'Other work', filter: 'Other work', one: 'operation', many: 'operations' },
  connection: wait('Waiting for a connection'),
  socket: wait('Waiting for a socket'),
  lock: wait('Waiting for a lock'),
  collection: wait('Garbage collection'),
  blocked: wait('Blocked by others'),
  body: wait('Receiving the body'),
  sending: wait('Sending the response'),
  idle: wait('Unaccounted'),
  before: wait('Before the request was read'),
  hindsight: wait('Hindsight'),
} as const satisfies Record<string, KindWords>;

export type SpanKind = keyof typeof SPAN_KINDS;

export interface SpanPart {
  kind: SpanKind;
  startMs: number;
  durationMs: number;
}

export interface SpanDraft extends SpanPart {
  label: string;
  /** The panel that shows the details, and the id of its row there. */
  panel?: string;
  anchor?: string;
  /** How its time divides, such as connecting and waiting for the response. */
  parts?: SpanPart[];
  /** When it ran, if not all the time from its start to its end. */
  pieces?: readonly { startMs: number; durationMs: number }[];
  /** Milliseconds from its start in which its code ran without a break, so that nothing else could; default: unknown. */
  ranMs?: number;
  /** How many it stands for; default 1. */
  count?: number;
  /** Another request that it is about: the one that blocked the event loop. */
  token?: string;
  /** What it ran inside of, if known; default: the middleware that ran when it started. */
  inside?: SpanDraft | null;
  /** A call of a layer of the router. */
  isLayer?: true;
  /** Of the process, not of a middleware: its parent is the request. */
  global?: true;
  /** How it failed, in a word: `threw`, `failed`, `404`. */
  failed?: string;
}

/** Shorter waits are not shown apart from what they wait for. */
export const SHORTEST_WAIT_MS = 1;

export function endOf({ startMs, durationMs }: { startMs: number; durationMs: number }): number {
  return startMs + durationMs;
}

export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export function workSpan(
  { startMs, durationMs }: { startMs: number; durationMs: number | null },
  endMs: number,
): SpanPart {
  return { kind: 'work', startMs, durationMs: lasting(startMs, durationMs, endMs) };
}

export function lasting(startMs: number, durationMs: number | null, endMs: number): number {
  return durationMs ?? Math.max(0, endMs - startMs);
}

/** Milliseconds to the microsecond: pages round once, when they show it. */
export function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
