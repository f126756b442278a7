/** What the timeline is derived to, and what its page and that of the overview read of a span. */
import type { SpanKind, SpanPart } from '../../profiler/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { addressOf } from '../../render/rows-page.ts';

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
  /** Self time: without its children; absent if it has none. */
  selfMs?: number;
  /** The parts of its time: work and waiting. Absent if it is one piece. */
  parts?: SpanPart[];
  /** The row with its details; layers are in the routing panel. Absent if there is none. */
  panel?: string;
  anchor?: string;
  /** The other request that it is about: the one that blocked the event loop, or that was called. */
  token?: string;
  /** Token of the called request whose panels show it; absent: those of this request. */
  inProfile?: string;
  /** It began after the response finished; absent otherwise. */
  after?: true;
}

/** What time is counted as. */
export type ShareName = 'blocked' | 'collection' | 'db' | 'out' | 'view' | 'work' | 'pool' | 'idle' | 'app';

export interface Share {
  name: ShareName;
  kind: SpanKind;
  label: string;
  /** Each millisecond of the request is counted in one share. */
  ms: number;
  /** Spans of this kind; absent for own code. */
  count?: number;
  /** All of its time, if part of it is counted in other shares: most in `label`. */
  overlap?: { allMs: number; label: string; ms: number };
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

/** The share that a span's time is counted in, unless another one takes precedence. */
export function shareOf({ kind, panel, anchor }: Pick<Span, 'kind' | 'panel' | 'anchor'>): ShareName {
  if (kind !== 'wait') return kind;
  if (panel === 'runtime') return anchor?.startsWith('gc') === true ? 'collection' : 'blocked';
  return panel === 'database' ? 'pool' : 'idle';
}

/** The row of another panel that proves a span; middleware is shown by the routing panel. */
export function spanHref({
  kind,
  panel,
  anchor,
  inProfile = '',
}: Pick<Span, 'kind' | 'panel' | 'anchor' | 'inProfile'>): string | null {
  // Relative to the page of a profile.
  if (panel === undefined) return kind === 'app' ? inProfile + addressOf('routing', {}) : null;
  if (anchor === undefined) return inProfile + addressOf(panel, {});
  // Where rows are folded or lie on a later page, `open` brings them up.
  const open = panel === 'runtime' || anchor.startsWith('g') ? null : anchor;
  return `${inProfile}${addressOf(panel, { open })}#${anchor}`;
}

/** `141.2 ms in all, 140.4 ms of it counted as Event loop blocked`; null if all of its time is counted in this share. */
export function overlapText({ overlap }: Share): string | null {
  if (overlap === undefined) return null;
  const { durationText } = numberHelpers;
  return `${durationText(overlap.allMs)} in all, ${durationText(overlap.ms)} of it counted as ${overlap.label}`;
}

export interface LegendEntry extends Share {
  /** Its rows on the timeline. */
  href: string;
  says: string | null;
}

/** Parameter by which the timeline shows one kind alone. */
const ALONE: Readonly<Record<ShareName, string>> = {
  app: 'middleware',
  db: 'queries',
  out: 'calls',
  view: 'views',
  work: 'other-work',
  blocked: 'waits',
  collection: 'waits',
  pool: 'waits',
  idle: 'waits',
};

export function legendOf({ shares }: Pick<TimelineData, 'shares'>): LegendEntry[] {
  return shares.map((share) => ({
    ...share,
    href: addressOf('timeline', { shown: '1', [ALONE[share.name]]: '1' }),
    says: overlapText(share),
  }));
}
