/** Spans -> rows of the waterfall: a loop is one row; if a page has too many, the children of one parent fold by kind. */
import { endOf, type SpanPart } from '../../profiler/read/span.ts';
import { isOfLayer, type Span } from './timeline-data.ts';
import { coveredMs } from './rows.ts';
import { addTo, groupBy } from '../../profiler/group-by.ts';

export interface ListedSpan {
  span: Span;
  index: number;
}

export interface TimelineRow {
  span: Span;
  /** Position in reading order, also the row's id; that of a fold begins with `f`. */
  id: string;
  count: number;
  bars: SpanPart[];
  /** Milliseconds in which any of them ran: concurrent work counts once. */
  busyMs: number;
  grouped: 'no' | 'loop' | 'kind';
  members: ListedSpan[];
}

const BARS_SHOWN = 60;
/** Bars closer than this share of the axis are one. */
const TOUCHING = 0.002;
/** Fewer spans in one parent are separate rows. */
const FOLDED_FROM = 5;

function barsOf(members: readonly ListedSpan[], lengthMs: number): SpanPart[] {
  const bars: SpanPart[] = [];
  const pieces = members.flatMap(({ span }): SpanPart[] => span.parts ?? [span]);
  for (const { kind, startMs, durationMs } of pieces.sort((a, b) => a.startMs - b.startMs)) {
    const last = bars.at(-1);
    if (pieces.length > BARS_SHOWN && last?.kind === kind && startMs - endOf(last) < lengthMs * TOUCHING)
      last.durationMs = Math.max(last.durationMs, startMs + durationMs - last.startMs);
    else bars.push({ kind, startMs, durationMs });
  }
  return bars.slice(0, BARS_SHOWN);
}

function rowOf(
  members: ListedSpan[],
  { grouped, id, lengthMs }: Pick<TimelineRow, 'grouped' | 'id'> & { lengthMs: number },
): TimelineRow {
  const span = members[0]?.span ?? {
    kind: 'app',
    label: '',
    startMs: 0,
    durationMs: 0,
    depth: 0,
    parent: null,
  };
  const spans = members.map((member) => member.span);
  return {
    span,
    id,
    count: members.length,
    bars: barsOf(members, lengthMs),
    busyMs: coveredMs(spans),
    grouped,
    members,
  };
}

/** So many of the same in one parent, such as calls of one address, are one row. */
const REPEATED = 3;

/** Spans of a loop in one parent are one row; so is what the process did again and again, and what has the same name. */
export function loopRows(listed: readonly ListedSpan[], lengthMs: number): TimelineRow[] {
  const groups = new Map<string, ListedSpan[]>();
  const parents = new Set(listed.map(({ span }) => span.parent));
  for (const item of listed) {
    const { span, index } = item;
    const { kind, panel, anchor, parent, label } = span;
    const loop = panel === 'database' && anchor?.startsWith('g') === true ? anchor : null;
    // Statements have loops of their own.
    const isRepeatable = kind !== 'db' && !parents.has(index) && !isOfLayer(span);
    const group = loop ?? (panel === 'runtime' ? 'process' : isRepeatable ? 'same' : null);
    const key = group === null ? String(index) : `${kind} ${group} ${String(parent)} ${label}`;
    addTo(groups, key, item);
  }
  const rows = [...groups].flatMap(([key, members]) =>
    key.includes(' same ') && members.length < REPEATED ? members.map((member) => [member]) : [members],
  );
  rows.sort(([a], [b]) => (a?.index ?? 0) - (b?.index ?? 0));
  return rows.map((members) =>
    rowOf(members, {
      grouped: members.length > 1 ? 'loop' : 'no',
      id: `s${members[0]?.index ?? 0}`,
      lengthMs,
    }),
  );
}

function leaves(rows: readonly TimelineRow[]): Set<TimelineRow> {
  const parents = new Set(rows.flatMap(({ members }) => members.map(({ span }) => span.parent)));
  return new Set(rows.filter(({ members }) => members.every(({ index }) => !parents.has(index))));
}

export function foldByParent(rows: readonly TimelineRow[], lengthMs: number): TimelineRow[] {
  const foldable = leaves(rows);
  const keyOf = ({ span }: TimelineRow): string => `${String(span.parent)}-${span.kind}`;
  const groups = groupBy(
    rows.filter((row) => foldable.has(row) && row.span.parent !== null),
    keyOf,
  );
  return rows.flatMap((row) => {
    const group = foldable.has(row) ? groups.get(keyOf(row)) : undefined;
    if (group === undefined || group.length < FOLDED_FROM) return [row];
    if (group[0] !== row) return [];
    const members = group.flatMap((one) => one.members);
    return [rowOf(members, { grouped: 'kind', id: `f${keyOf(row)}`, lengthMs })];
  });
}
