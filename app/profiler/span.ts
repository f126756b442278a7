/** Spans of the timeline: panels make them from their stored data, the timeline joins them. */

/** Kinds, in the order of the timeline's filters, with a name and a colour each. `work`: any other. */
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
  /** Since the request started. */
  startMs: number;
  durationMs: number;
}

/** Kinds of waits that are counted separately. */
export type WaitReason = 'blocked' | 'pool' | 'collection' | 'idle';

export interface SpanDraft extends SpanPart {
  label: string;
  /** The panel that shows the details, and the id of its row there. */
  panel?: string;
  anchor?: string;
  /** How its time divides, such as connecting and waiting for the response. */
  parts?: SpanPart[];
  /** When it ran, if not all the time from its start to its end. */
  pieces?: readonly { startMs: number; durationMs: number }[];
  /** How many it stands for; default 1. */
  count?: number;
  /** Another request that it is about: the one that blocked the event loop. */
  token?: string;
  reason?: WaitReason;
  /** What it ran inside of, if known; default: the middleware that ran when it started. */
  inside?: SpanDraft | null;
  /** Of the process, not of a middleware: its parent is the request. */
  global?: true;
}

/** Shorter waits are not shown apart from what they wait for. */
export const SHORTEST_WAIT_MS = 1;

export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** What a panel's row takes on the time axis; what still runs lasts until `endMs`. */
export function workSpan(
  { startMs, durationMs }: { startMs: number; durationMs: number | null },
  endMs: number,
): SpanPart {
  return { kind: 'work', startMs, durationMs: lasting(startMs, durationMs, endMs) };
}

/** One span for each row of a panel, whose ids are a letter and a number from 1 on. */
export function workSpans<T extends { startMs: number; durationMs: number | null }>(
  rows: readonly T[],
  {
    endMs,
    panel,
    letter,
    labelOf,
  }: { endMs: number; panel: string; letter: string; labelOf: (row: T) => string },
): SpanDraft[] {
  return rows.map((row, index) => ({
    ...workSpan(row, endMs),
    label: shorten(labelOf(row), 100),
    panel,
    anchor: `${letter}${index + 1}`,
  }));
}

/** Duration of work that has not ended: until `endMs`. */
export function lasting(startMs: number, durationMs: number | null, endMs: number): number {
  return durationMs ?? Math.max(0, endMs - startMs);
}
