/** The data of the timeline: rows, and the owner of each millisecond. */
import type { Profile } from '../../profiler/profile.ts';
import type { Figure, Row } from '../../profiler/read/rows.ts';
import { SPAN_KINDS, type SpanKind, type SpanPart } from '../../profiler/read/span.ts';
import type { TimeShare } from '../../profiler/read/time-ledger.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { addressOf } from '../../render/rows-page.ts';

export interface Span {
  kind: SpanKind;
  label: string;
  startMs: number;
  durationMs: number;
  depth: number;
  parent: number | null;
  selfMs?: number;
  parts?: SpanPart[];
  /** The row with its details; layers are in the routing panel. Absent if there is none. */
  panel?: string;
  anchor?: string;
  token?: string;
  /** Token of the called request whose panels show it; absent: those of this request. */
  inProfile?: string;
  after?: true;
  /** It is outside of the request's time, and in no total; absent otherwise. */
  outside?: true;
  /** How it failed, in a word; absent: it did not. */
  failed?: string;
}

export interface Share extends TimeShare {
  label: string;
}

export interface TimelineData {
  totalMs: number;
  headersMs: number | null;
  /** The request itself, then its descendants; parents come before their children. */
  spans: Span[];
  slices: SpanPart[];
  shares: Share[];
}

export function timelineOf({ panels }: Pick<Profile, 'panels'>): TimelineData | null {
  return (panels.timeline?.data ?? null) as TimelineData | null;
}

/** Of a layer of the router, or the request itself. */
export function isOfLayer({ kind, panel }: Pick<Span, 'kind' | 'panel'>): boolean {
  return (kind === 'app' || kind === 'middleware') && panel !== 'runtime';
}

/** `Hindsight’s error page 55.1 ms`, for each stretch that is outside of the request's time and in no total. No recorded text. */
export function outsideTexts({ spans }: Pick<TimelineData, 'spans'>): string[] {
  return spans
    .filter(({ outside }) => outside === true)
    .map(({ kind, label, durationMs }) => {
      const time = numberHelpers.durationText(durationMs);
      return kind === 'before' ? `up to ${time} before it was read` : `${label} ${time}`;
    });
}

/** Of a list of shares. */
export function sharesNote(data: Pick<TimelineData, 'spans'>): string {
  const texts = outsideTexts(data);
  const outside = texts.length === 0 ? '' : `; not part of its time: ${texts.join(', ')}`;
  return `each millisecond counts once${outside}`;
}

/** The row of another panel that proves a span; middleware is shown by the routing panel. */
export function spanHref({
  kind,
  panel,
  anchor,
  inProfile = '',
}: Pick<Span, 'kind' | 'panel' | 'anchor' | 'inProfile'>): string | null {
  // Relative to the page of a profile.
  if (panel === undefined)
    return kind === 'app' || kind === 'middleware' ? inProfile + addressOf('routing', {}) : null;
  if (anchor === undefined) return inProfile + addressOf(panel, {});
  // Where rows are folded or lie on a later page, `open` brings them up.
  const open = panel === 'runtime' || anchor.startsWith('g') ? null : anchor;
  return `${inProfile}${addressOf(panel, { open })}#${anchor}`;
}

export function shareRow(share: Share, totalMs: number): Row {
  const { label, ms, count } = share;
  return {
    text: label,
    number: ms,
    fields: [
      { label: 'Share', value: totalMs > 0 ? ms / totalMs : undefined, unit: 'share' },
      { label: 'Spans', value: count > 0 ? count : null, unit: 'count' },
    ],
  };
}

export function timeFigure(profile: Profile, kind: SpanKind, label: string = SPAN_KINDS[kind].label): Figure {
  const timeline = timelineOf(profile);
  const { ms = 0, allMs = 0 } = timeline?.shares.find((one) => one.kind === kind) ?? {};
  const all = numberHelpers.durationText(allMs);
  return {
    label,
    value: timeline === null ? null : ms,
    unit: 'ms',
    compare: 'cost',
    // Its rows take longer than it owns.
    ...(all === numberHelpers.durationText(ms) ? {} : { note: `of ${all}; other work ran during the rest` }),
  };
}

export function shareFigure(profile: Profile, kind: SpanKind): Figure {
  const { shares = [], totalMs = 0 } = timelineOf(profile) ?? {};
  const { ms = 0 } = shares.find((one) => one.kind === kind) ?? {};
  return { label: 'Share of request', value: totalMs > 0 ? ms / totalMs : null, unit: 'share' };
}

export interface LegendEntry extends Share {
  href: string;
}

export function legendOf({ shares }: Pick<TimelineData, 'shares'>): LegendEntry[] {
  return shares.map((share) => ({
    ...share,
    href: addressOf('timeline', { shown: '1', [filterName(share.kind)]: '1' }),
  }));
}

/** Parameter by which the timeline shows kinds of spans. */
export function filterName(kind: SpanKind): string {
  return SPAN_KINDS[kind].filter.toLowerCase().replace(' ', '-');
}
