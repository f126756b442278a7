/** What failed or took long, as rows on one axis: spans of the timeline, the worst first. The steps below have all of it in its order. */
import type { Finding } from '../../profiler/read/finding.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { SpanKind, SpanPart } from '../../profiler/read/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { loopRows, type TimelineRow } from '../shared/span-rows.ts';
import { axisOf, type Axis } from '../shared/time-axis.ts';
import { isOfLayer, spanHref, type TimelineData, timelineOf } from '../shared/timeline-data.ts';

export interface WorkRow {
  id: string;
  label: string;
  kind: SpanKind;
  startMs: number;
  durationMs: number;
  bars: SpanPart[];
  /** Drawn thin: most of what it holds has rows of its own. */
  outer: boolean;
  href: string | null;
  badges: { label: string; tone: 'bad' | 'warn' | 'plain' }[];
  token: string | null;
  after: boolean;
  outside: boolean;
}

export interface Work {
  axis: Axis;
  rows: WorkRow[];
  bands: { startMs: number; durationMs: number }[];
}

/** A row without a finding is long from this share of the request on, and from as many milliseconds. */
const LONG_SHARE = 0.1;
const LONG_MS = 10;
const MOST_ROWS = 30;

interface Mark {
  rank: number;
  badges: WorkRow['badges'];
}

/** By the row that a finding is about. */
function marksOf(findings: readonly Finding[]): ReadonlyMap<string, Mark> {
  const marks = new Map<string, Mark>();
  findings.forEach(({ panel, anchor, label, severity }, index) => {
    if (anchor === undefined) return;
    const key = `${panel}#${anchor}`;
    const known = marks.get(key) ?? { rank: severity === 'info' ? Infinity : index, badges: [] };
    known.badges.push({ label, tone: severity === 'info' ? 'plain' : severity });
    marks.set(key, known);
  });
  return marks;
}

function workRow(row: TimelineRow, isLeaf: boolean, badges: WorkRow['badges']): WorkRow {
  const { span, count, busyMs, bars, id } = row;
  return {
    id,
    label: count > 1 ? `${numberHelpers.count(count)} × ${span.label}` : span.label,
    kind: span.kind,
    startMs: span.startMs,
    durationMs: busyMs,
    bars,
    outer: isOfLayer(span) && !isLeaf,
    href: spanHref(span),
    badges: badges.filter(({ label }, at) => badges.findIndex((other) => other.label === label) === at),
    token: span.token ?? null,
    after: span.after === true,
    outside: span.outside === true,
  };
}

function bandsOf({ spans }: TimelineData): Work['bands'] {
  return spans
    .filter(({ panel, anchor }) => panel === 'runtime' && anchor?.startsWith('h') === true)
    .map(({ startMs, durationMs }) => ({ startMs, durationMs }));
}

export function workOf(profile: Profile, findings: readonly Finding[]): Work | null {
  const timeline = timelineOf(profile);
  if (timeline === null || timeline.totalMs <= 0) return null;
  const { spans, totalMs } = timeline;
  const axis = axisOf(timeline, {});
  const marks = marksOf(findings);
  const parents = new Set(spans.map(({ parent }) => parent));
  const longMs = Math.max(LONG_MS, totalMs * LONG_SHARE);
  // The first is the request itself.
  const listed = spans.map((span, index) => ({ span, index })).slice(1);
  const rows = loopRows(listed, axis.lengthMs).flatMap((row) => {
    const { members, busyMs, span } = row;
    const found = members.flatMap(
      ({ span: { panel, anchor } }) => marks.get(`${panel ?? ''}#${anchor ?? ''}`) ?? [],
    );
    const failures = [...new Set(members.flatMap((member) => member.span.failed ?? []))];
    const isLeaf = members.every(({ index }) => !parents.has(index));
    // What threw is the first of what failed.
    const rank = failures.includes('threw') ? -1 : Math.min(Infinity, ...found.map((mark) => mark.rank));
    if (rank === Infinity && !(isLeaf && span.outside !== true && busyMs >= longMs)) return [];
    const badges = failures.map((label) => ({ label, tone: 'bad' as const }));
    return { rank, ...workRow(row, isLeaf, [...badges, ...found.flatMap((mark) => mark.badges)]) };
  });
  rows.sort((a, b) => (a.rank === b.rank ? b.durationMs - a.durationMs : a.rank - b.rank));
  return {
    axis,
    rows: rows.slice(0, MOST_ROWS).map(({ rank: _rank, ...row }) => row),
    bands: bandsOf(timeline),
  };
}
