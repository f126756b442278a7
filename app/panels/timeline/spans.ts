/** What the timeline is made of: spans with a kind, a place on the axis, and the span that they ran inside of. */

export type SpanKind = 'app' | 'db' | 'out' | 'view' | 'wait';

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
  /** It began after the answer was over. Left out where it did not: most spans of most profiles. */
  after?: true;
}

export interface SpanPart {
  kind: SpanKind;
  startMs: number;
  durationMs: number;
}

/** Why a wait is one, where that is counted by itself. */
export type WaitReason = 'held' | 'pool' | 'collection' | 'between';

/** A span before it has its place in the tree. */
export interface Draft extends Omit<Span, 'depth' | 'parent' | 'ownMs' | 'after'> {
  reason?: WaitReason;
  /** What it ran inside of, where that is known; else the layer that ran when it began. */
  inside?: Draft | null;
  /** Of the process, not of a layer: it lies below the request itself. */
  global?: true;
}

export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export function endOf({ startMs, durationMs }: { startMs: number; durationMs: number }): number {
  return startMs + durationMs;
}
