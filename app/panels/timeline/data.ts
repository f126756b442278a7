import type { SpanKind, SpanPart } from '../../profiler/span.ts';

export interface Span {
  kind: SpanKind;
  label: string;
  startMs: number;
  /** To the end of the answer where it still runs. */
  durationMs: number;
  /** 0 for the request itself. */
  depth: number;
  /** Index of the span it ran inside of; null for the request itself. */
  parent: number | null;
  /** Without what ran inside of it; left out where nothing did. */
  ownMs?: number;
  /** How its time parts: what is not work is waiting. Left out where it is one piece. */
  parts?: SpanPart[];
  /** Where the row that proves it stands; layers stand in the routing panel. Left out where there is none. */
  panel?: string;
  anchor?: string;
  /** Another request that it is about: the one that held the loop. */
  token?: string;
  /** It began after the response finished; absent otherwise. */
  after?: true;
}

export interface Share {
  kind: SpanKind;
  label: string;
  ms: number;
  /** Spans of this kind; left out for own code. */
  count?: number;
}

export interface TimelineData {
  totalMs: number;
  /** When the headers were sent; null before. */
  headersMs: number | null;
  /** The request itself, then what ran inside of it; a span stands before what ran inside of it. */
  spans: Span[];
  shares: Share[];
}

export function endOf({ startMs, durationMs }: { startMs: number; durationMs: number }): number {
  return startMs + durationMs;
}
