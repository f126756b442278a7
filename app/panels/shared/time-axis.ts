/** The axis of the drawing: the part of the request that it shows, and its round steps. */
import { endOf } from '../../profiler/read/span.ts';
import type { TimelineData } from './timeline-data.ts';
import { type Tick, ticksOf } from '../../view-helpers/ticks.ts';

export interface Axis {
  fromMs: number;
  toMs: number;
  lengthMs: number;
  ticks: Tick[];
  zoomed: boolean;
}

/** Shortest part of the axis: nothing shorter is measured. */
const SHORTEST = 0.01;

function readMs(text: string | undefined): number | null {
  const value = text === undefined || text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

/** Most that is drawn of what is outside of the request's time, as a share of it. */
const OUTSIDE_SHARE = 0.2;

/** The last span, including work after the response, within a limit; before and behind it a part of what is outside of the request's time. */
function wholeOf({ totalMs, spans }: TimelineData): { firstMs: number; lastMs: number } {
  const inside = spans.filter(({ outside }) => outside !== true);
  const last = inside.reduce((end, span) => Math.max(end, endOf(span)), totalMs);
  const endMs = Math.max(0.1, Math.min(last, Math.max(totalMs * 2, totalMs + 50)));
  const most = endMs * OUTSIDE_SHARE;
  const outside = spans.filter((span) => span.outside === true);
  return {
    firstMs: outside.reduce((first, { startMs }) => Math.min(first, Math.max(startMs, -most)), 0),
    lastMs: outside.reduce((end, span) => Math.max(end, Math.min(endOf(span), totalMs + most)), endMs),
  };
}

/** `from` and `to` are milliseconds of the request as written in an address. */
export function axisOf(data: TimelineData, query: Readonly<Record<string, string>>): Axis {
  const { firstMs, lastMs } = wholeOf(data);
  const from = Math.min(readMs(query.from) ?? firstMs, lastMs - SHORTEST);
  const to = Math.min(readMs(query.to) ?? lastMs, lastMs);
  const meant = to - from >= SHORTEST;
  const [fromMs, toMs] = meant ? [from, to] : [firstMs, lastMs];
  return {
    fromMs,
    toMs,
    lengthMs: toMs - fromMs,
    ticks: ticksOf(fromMs, toMs),
    zoomed: meant && (fromMs > firstMs || toMs < lastMs),
  };
}
