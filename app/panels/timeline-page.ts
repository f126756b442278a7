/** What the page of the timeline shows: spans over a threshold, repeated ones folded to a row, an axis with round steps. */
import type { PanelPage } from '../profiler/panel.ts';
import { addressOf, pageOf } from './shared/rows.ts';
import type { Span, SpanKind, TimelineData } from './timeline.ts';

export interface TimelineRow {
  span: Span;
  /** Position in the order of start, also the row's id. */
  id: string;
  /** Spans in this row: a loop's statements are one row. */
  count: number;
  /** Start and length of each bar. */
  bars: { startMs: number; durationMs: number }[];
  /** Milliseconds its spans took together. */
  sumMs: number;
}

/** Kinds that can be left out, as a form names them. */
const FILTERS: readonly { name: string; label: string; kind: SpanKind }[] = [
  { name: 'layers', label: 'Layers', kind: 'app' },
  { name: 'queries', label: 'Queries', kind: 'db' },
  { name: 'calls', label: 'Calls', kind: 'out' },
  { name: 'views', label: 'Views', kind: 'view' },
  { name: 'waits', label: 'Waits', kind: 'wait' },
];

/** Shorter rows are left out at first: middleware that only looks at a request, mostly. */
const SHORTEST_SHOWN = 0.1;
/** Bars of one row; more could not be told apart. */
const BARS_SHOWN = 60;
const STEPS = 6;

/** Spans of one group that follow each other at one depth are one row. */
function fold(spans: readonly { span: Span; index: number }[]): TimelineRow[] {
  const rows: TimelineRow[] = [];
  const open = new Map<string, TimelineRow>();
  for (const { span, index } of spans) {
    const key = `${span.kind} ${span.panel ?? ''} ${span.anchor ?? ''} ${span.depth} ${span.label}`;
    const row = span.anchor?.startsWith('g') === true ? open.get(key) : undefined;
    if (row === undefined) {
      const made = { span: { ...span }, id: `s${index}`, count: 1, bars: [span], sumMs: span.durationMs };
      open.set(key, made);
      rows.push(made);
      continue;
    }
    row.count++;
    row.sumMs += span.durationMs;
    row.span.durationMs = Math.max(row.span.durationMs, span.startMs + span.durationMs - row.span.startMs);
    if (row.bars.length < BARS_SHOWN) row.bars.push(span);
  }
  return rows;
}

/** 1, 2 or 5 times a power of ten, so that at most `STEPS` fit. */
function stepOf(totalMs: number): number {
  const rough = totalMs / STEPS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
}

/** Axis of the drawing: to the end of the last span, also of work after the answer, but not for ever. */
function axisOf({ totalMs, spans }: TimelineData): { axisMs: number; ticks: number[] } {
  const last = Math.max(totalMs, ...spans.map(({ startMs, durationMs }) => startMs + durationMs));
  const axisMs = Math.max(0.1, Math.min(last, Math.max(totalMs * 2, totalMs + 50)));
  const step = stepOf(axisMs);
  return { axisMs, ticks: Array.from({ length: Math.floor(axisMs / step) + 1 }, (_, index) => index * step) };
}

export function presentTimeline(data: TimelineData, { query }: PanelPage) {
  const given = Number(query.over ?? SHORTEST_SHOWN);
  const over = Number.isFinite(given) && given >= 0 ? given : SHORTEST_SHOWN;
  // A form without its checks is one whose boxes are all empty only when it says that it was sent.
  const sent = query.shown === '1';
  const filters = FILTERS.map((filter) => ({ ...filter, on: !sent || query[filter.name] !== undefined }));
  const off = new Set(filters.filter(({ on }) => !on).map(({ kind }) => kind));
  const listed = data.spans.map((span, index) => ({ span, index }));
  const chosen = listed.filter(({ span, index }) => index === 0 || !off.has(span.kind));
  const folded = fold(chosen);
  const rows = folded.filter(({ sumMs, id }) => id === 's0' || sumMs >= over);
  const page = pageOf(rows, { query, cost: ({ bars, span }) => 330 + span.label.length + bars.length * 72 });
  const kept = Object.fromEntries(filters.filter(({ on }) => sent && on).map(({ name }) => [name, '1']));
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('timeline', {
      over: over === SHORTEST_SHOWN ? null : over,
      shown: sent ? '1' : null,
      ...kept,
      ...changes,
    });
  return {
    over,
    filters,
    page,
    firstHref: link({}),
    nextHref: page.next === null ? null : link({ from: page.next }),
    allHref: link({ all: 1 }),
    spans: data.spans.length,
    short: folded.length - rows.length,
    shortHref: link({ over: 0 }),
    filtered: listed.length - chosen.length,
    ...axisOf(data),
  };
}
