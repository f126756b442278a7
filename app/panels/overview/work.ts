/**
 * Where the time went, as rows on one axis: spans of the timeline, and log lines between them. Rows with a finding and the longest ones
 * first, the others in the order they ran; or all in that order.
 */
import type { Finding } from '../../profiler/finding.ts';
import type { Profile } from '../../profiler/profile.ts';
import { endOf, type SpanKind, type SpanPart } from '../../profiler/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { addressOf } from '../../render/rows-page.ts';
import { loopRows, type TimelineRow } from '../shared/span-rows.ts';
import type { LogEntry } from '../logs/data.ts';
import { dataOf } from '../shared/panel-data.ts';
import { axisOf, type Axis } from '../shared/time-axis.ts';
import { isOfLayer, type Span, spanHref, type TimelineData, timelineOf } from '../shared/timeline-data.ts';

export interface WorkRow {
  id: string;
  label: string;
  kind: SpanKind | 'log';
  depth: number;
  startMs: number;
  durationMs: number | null;
  bars: SpanPart[];
  moments: number[];
  /** Drawn thin: most of what it holds stands below it. */
  outer: boolean;
  href: string | null;
  badges: { label: string; tone: 'bad' | 'warn' | 'plain' }[];
  level: string | null;
  token: string | null;
  after: boolean;
  outside: boolean;
}

export interface Work {
  axis: Axis;
  worst: WorkRow[];
  rest: WorkRow[];
  left: { rows: number; lines: number };
  bands: { startMs: number; durationMs: number }[];
}

/** A row without a finding is long from this share of the request on, and from as many milliseconds. */
const LONG_SHARE = 0.1;
const LONG_MS = 10;
/** Middleware below this share of the request, one after the other, is one row. */
const SHORT_SHARE = 0.01;
const SHORT_MS = 0.5;
const NAMES_SHOWN = 3;
/** Characters of names that leave room for the count of the others. */
const NAMES_LENGTH = 34;
const MOST_ROWS = 30;
const MOST_LINES = 12;
const FEW_LINES = 4;
const DEEPEST = 6;

interface Item extends WorkRow {
  rank: number;
  isLeaf: boolean;
  isApp: boolean;
  parents: number[];
  index: number;
}

type Marks = ReadonlyMap<string, { rank: number; badges: WorkRow['badges'] }>;

function marksOf(findings: readonly Finding[]): Marks {
  const marks = new Map<string, { rank: number; badges: WorkRow['badges'] }>();
  findings.forEach(({ panel, anchor, label, severity }, index) => {
    if (anchor === undefined) return;
    const key = `${panel}#${anchor}`;
    const known = marks.get(key) ?? { rank: severity === 'info' ? Infinity : index, badges: [] };
    known.badges.push({ label, tone: severity === 'info' ? 'plain' : severity });
    marks.set(key, known);
  });
  return marks;
}

function ancestorsOf(spans: readonly Span[], index: number): number[] {
  const above: number[] = [];
  for (let at = spans[index]?.parent ?? null; at !== null && at !== 0; at = spans[at]?.parent ?? null)
    above.push(at);
  return above;
}

function itemOf(
  row: TimelineRow,
  spans: readonly Span[],
  marks: Marks,
  parents: ReadonlySet<number | null>,
): Item {
  const { span, members, count, busyMs, bars } = row;
  const found = members.flatMap(
    ({ span: { panel, anchor } }) => marks.get(`${panel ?? ''}#${anchor ?? ''}`) ?? [],
  );
  const failures = [...new Set(members.flatMap((member) => member.span.failed ?? []))];
  const badges = [
    ...failures.map((label) => ({ label, tone: 'bad' as const })),
    ...new Set(found.flatMap((mark) => mark.badges)),
  ];
  const isLeaf = members.every(({ index }) => !parents.has(index));
  return {
    id: row.id,
    label: count > 1 ? `${numberHelpers.count(count)} × ${span.label}` : span.label,
    kind: span.kind,
    depth: Math.min(DEEPEST, Math.max(0, span.depth - 1)),
    startMs: span.startMs,
    durationMs: busyMs,
    bars,
    moments: [],
    outer: isOfLayer(span) && !isLeaf,
    href: spanHref(span),
    badges: badges.filter(({ label }, at) => badges.findIndex((other) => other.label === label) === at),
    level: null,
    token: span.token ?? null,
    after: span.after === true,
    outside: span.outside === true,
    // What threw is the first of what failed.
    rank: failures.includes('threw') ? -1 : Math.min(Infinity, ...found.map(({ rank }) => rank)),
    isLeaf,
    isApp: isOfLayer(span),
    parents: ancestorsOf(spans, members[0]?.index ?? 0),
    index: members[0]?.index ?? 0,
  };
}

function lineItem(line: LogEntry, at: number, spans: readonly Span[], marks: Marks): Item {
  const anchor = `l${at + 1}`;
  const ran = spans.findLastIndex(
    (span) => isOfLayer(span) && span.startMs <= line.atMs && endOf(span) >= line.atMs,
  );
  const { rank = Infinity, badges = [] } = marks.get(`logs#${anchor}`) ?? {};
  return {
    id: anchor,
    label: line.message.slice(0, 200),
    kind: 'log',
    depth: Math.min(DEEPEST, spans[ran]?.depth ?? 0),
    startMs: line.atMs,
    durationMs: null,
    bars: [],
    moments: [line.atMs],
    outer: false,
    href: `${addressOf('logs', { open: anchor })}#${anchor}`,
    badges,
    level: line.level,
    token: null,
    after: line.after,
    outside: false,
    rank,
    isLeaf: true,
    isApp: false,
    parents: [],
    index: -1,
  };
}

function foldLines(lines: readonly Item[]): Item[] {
  const loud = lines.filter(({ rank, level }) => rank < Infinity || level === 'error');
  const quiet = lines.filter((line) => !loud.includes(line));
  const [first] = quiet;
  if (first === undefined || quiet.length <= FEW_LINES) return [...lines];
  const label = numberHelpers.count(quiet.length, 'log line');
  const moments = quiet.map(({ startMs }) => startMs);
  const folded = { ...first, label, level: '', moments, href: addressOf('logs', {}) };
  return lines.flatMap((line) => (line === first ? [folded] : loud.includes(line) ? [line] : []));
}

function chooseRows(items: readonly Item[]): Item[] {
  if (items.length <= MOST_ROWS) return [...items];
  const weight = ({ rank, durationMs }: Item): number => (rank < Infinity ? Infinity : (durationMs ?? 0));
  const longest = [...items].sort((a, b) => weight(b) - weight(a)).slice(0, MOST_ROWS);
  const kept = new Set(longest.flatMap(({ index, parents }) => [index, ...parents]));
  return items.filter(({ index }) => kept.has(index));
}

function joinNames(names: readonly string[]): string {
  const whole = names.join(', ');
  if (names.length <= NAMES_SHOWN + 1 && whole.length <= NAMES_LENGTH) return whole;
  let shown = Math.min(NAMES_SHOWN, names.length);
  while (shown > 1 && names.slice(0, shown).join(', ').length > NAMES_LENGTH) shown--;
  const more = names.length - shown;
  return `${names.slice(0, shown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Short middleware that ran one after the other is one row. */
function mergeShort(items: readonly Item[], totalMs: number): Item[] {
  const shortest = Math.max(SHORT_MS, totalMs * SHORT_SHARE);
  const merged: Item[] = [];
  let names: string[] = [];
  for (const item of items) {
    const last = merged.at(-1);
    const isShort =
      item.isApp && item.isLeaf && (item.durationMs ?? 0) < shortest && item.badges.length === 0;
    if (!isShort) names = [];
    else if (names.length > 0 && last?.depth === item.depth && last.after === item.after) {
      names.push(item.label);
      merged[merged.length - 1] = {
        ...last,
        label: joinNames(names),
        durationMs: (last.durationMs ?? 0) + (item.durationMs ?? 0),
        bars: [...last.bars, ...item.bars],
      };
      continue;
    } else names = [item.label];
    merged.push(item);
  }
  return merged;
}

function interleave(rows: readonly Item[], lines: readonly Item[]): Item[] {
  const all: Item[] = [];
  let next = 0;
  for (const row of rows) {
    for (let line = lines[next]; line !== undefined && line.startMs < row.startMs; line = lines[++next])
      all.push(line);
    all.push(row);
  }
  return [...all, ...lines.slice(next)];
}

function rowOf({
  rank: _rank,
  isLeaf: _isLeaf,
  isApp: _isApp,
  parents: _parents,
  index: _index,
  ...row
}: Item): WorkRow {
  return row;
}

function isLong({ isLeaf, kind, outside, durationMs }: Item, totalMs: number): boolean {
  return isLeaf && !outside && kind !== 'log' && (durationMs ?? 0) >= Math.max(LONG_MS, totalMs * LONG_SHARE);
}

function bandsOf({ spans }: TimelineData): Work['bands'] {
  return spans
    .filter(({ panel, anchor }) => panel === 'runtime' && anchor?.startsWith('h') === true)
    .map(({ startMs, durationMs }) => ({ startMs, durationMs }));
}

export function workOf(profile: Profile, findings: readonly Finding[], isAsRan: boolean): Work | null {
  const timeline = timelineOf(profile);
  if (timeline === null || timeline.totalMs <= 0) return null;
  const { spans, totalMs } = timeline;
  const axis = axisOf(timeline, {});
  const marks = marksOf(findings);
  const parents = new Set(spans.map(({ parent }) => parent));
  // The first is the request itself.
  const listed = spans.map((span, index) => ({ span, index })).slice(1);
  const items = loopRows(listed, axis.lengthMs).map((row) => itemOf(row, spans, marks, parents));
  const lines = (dataOf(profile, 'logs')?.lines ?? []).map((line, at) => lineItem(line, at, spans, marks));
  const isWorst = (item: Item): boolean => !isAsRan && (item.rank < Infinity || isLong(item, totalMs));
  const worst = [...items, ...lines]
    .filter(isWorst)
    .sort((a, b) => (a.rank === b.rank ? (b.durationMs ?? 0) - (a.durationMs ?? 0) : a.rank - b.rank))
    .slice(0, MOST_ROWS);
  const others = mergeShort(
    items.filter((item) => !worst.includes(item)),
    totalMs,
  );
  const otherLines = lines.filter((line) => !worst.includes(line));
  const rows = chooseRows(others);
  const shownLines = foldLines(otherLines);
  return {
    axis,
    worst: worst.map((item) => ({ ...rowOf(item), depth: 0 })),
    rest: interleave(rows, shownLines.slice(0, MOST_LINES)).map(rowOf),
    left: { rows: others.length - rows.length, lines: Math.max(0, shownLines.length - MOST_LINES) },
    bands: bandsOf(timeline),
  };
}
