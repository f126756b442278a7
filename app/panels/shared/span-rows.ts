/** Spans -> rows of the waterfall: a loop is one row. */
import { endOf, type SpanPart } from '../../profiler/span.ts';
import { isOfLayer, type Span } from './timeline-data.ts';
import { coveredMs } from './rows.ts';
import { addTo } from '../../profiler/group-by.ts';

export interface ListedSpan {
  span: Span;
  index: number;
}

export interface TimelineRow {
  span: Span;
  /** Position in reading order, also the row's id. */
  id: string;
  count: number;
  bars: SpanPart[];
  /** Milliseconds in which any of them ran: concurrent work counts once. */
  busyMs: number;
  members: ListedSpan[];
}

const BARS_SHOWN = 60;
/** Bars closer than this share of the axis are one. */
const TOUCHING = 0.002;

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

function rowOf(members: ListedSpan[], lengthMs: number): TimelineRow[] {
  const [first] = members;
  if (first === undefined) return [];
  return [
    {
      span: first.span,
      id: `s${first.index}`,
      count: members.length,
      bars: barsOf(members, lengthMs),
      busyMs: coveredMs(members.map(({ span }) => span)),
      members,
    },
  ];
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
  return rows.flatMap((members) => rowOf(members, lengthMs));
}
