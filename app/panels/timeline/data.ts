import type { SpanKind, SpanPart } from '../../profiler/span.ts';

export interface Span {
  kind: SpanKind;
  label: string;
  startMs: number;
  /** If it still runs, to the end of the response. */
  durationMs: number;
  /** 0 for the request itself. */
  depth: number;
  /** Index of its parent; null for the request itself. */
  parent: number | null;
  /** Without its children; absent if it has none. */
  ownMs?: number;
  /** The parts of its time: work and waiting. Absent if it is one piece. */
  parts?: SpanPart[];
  /** The row with its details; layers are in the routing panel. Absent if there is none. */
  panel?: string;
  anchor?: string;
  /** The other request that blocked the event loop. */
  token?: string;
  /** It began after the response finished; absent otherwise. */
  after?: true;
}

export interface Share {
  kind: SpanKind;
  label: string;
  ms: number;
  /** Spans of this kind; absent for own code. */
  count?: number;
}

export interface TimelineData {
  totalMs: number;
  /** When the headers were sent; null before. */
  headersMs: number | null;
  /** The request itself, then its descendants; parents come before their children. */
  spans: Span[];
  shares: Share[];
}

export function endOf({ startMs, durationMs }: { startMs: number; durationMs: number }): number {
  return startMs + durationMs;
}
