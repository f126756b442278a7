/** What has a place on the time axis of a request: panels say it of what they kept, the timeline puts it together. */

/** The list of kinds: by it the timeline names, filters and colours them. `work`: of a panel without a colour of its own. */
export const SPAN_KINDS = {
  app: { filter: 'Middleware', one: 'middleware', many: 'middleware' },
  db: { filter: 'Queries', one: 'query', many: 'queries' },
  out: { filter: 'Calls', one: 'outgoing call', many: 'outgoing calls' },
  view: { filter: 'Views', one: 'view', many: 'views' },
  work: { filter: 'Other work', one: 'operation', many: 'operations' },
  wait: { filter: 'Waits', one: 'wait', many: 'waits' },
} as const;

export type SpanKind = keyof typeof SPAN_KINDS;

export interface SpanPart {
  kind: SpanKind;
  /** Since the request began. */
  startMs: number;
  durationMs: number;
}

/** Why a wait is one, where that is counted by itself. */
export type WaitReason = 'blocked' | 'pool' | 'collection' | 'idle';

export interface SpanDraft extends SpanPart {
  label: string;
  /** The panel that proves it, and the id of its row there. */
  panel?: string;
  anchor?: string;
  /** How its time divides, such as connecting and waiting for the response. */
  parts?: SpanPart[];
  /** Another request that it is about: the one that blocked the event loop. */
  token?: string;
  reason?: WaitReason;
  /** What it ran inside of, where that is known; default: the middleware that ran when it began. */
  inside?: SpanDraft | null;
  /** Of the process, not of a middleware: it lies below the request itself. */
  global?: true;
}

/** Waits shorter than this are part of what they wait for. */
export const SHORTEST_WAIT_MS = 1;

export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** Of work that has not ended: until the end of what is known of its request. */
export function lasting(startMs: number, durationMs: number | null, endMs: number): number {
  return durationMs ?? Math.max(0, endMs - startMs);
}
