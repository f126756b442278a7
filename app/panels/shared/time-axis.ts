/** The axis of the drawing: the part of the request that it shows, and its round steps. */
import { endOf } from '../../profiler/span.ts';
import type { TimelineData } from './timeline-data.ts';
import { type Tick, ticksOf } from './ticks.ts';

export interface Axis {
  fromMs: number;
  toMs: number;
  lengthMs: number;
  /** Round steps within it, as shown. */
  ticks: Tick[];
  /** It shows only a part of the request. */
  zoomed: boolean;
}

/** Shortest part of the axis: nothing shorter is measured. */
const SHORTEST = 0.01;

function readMs(text: string | undefined): number | null {
  const value = text === undefined || text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

/** To the end of the last span, including work after the response, within a limit. */
function wholeOf({ totalMs, spans }: TimelineData): number {
  const last = spans.reduce((end, span) => Math.max(end, endOf(span)), totalMs);
  return Math.max(0.1, Math.min(last, Math.max(totalMs * 2, totalMs + 50)));
}

/** `from` and `to` are milliseconds of the request as written in an address. */
export function axisOf(data: TimelineData, query: Readonly<Record<string, string>>): Axis {
  const wholeMs = wholeOf(data);
  const from = Math.min(readMs(query.from) ?? 0, wholeMs - SHORTEST);
  const to = Math.min(readMs(query.to) ?? wholeMs, wholeMs);
  const meant = to - from >= SHORTEST;
  const [fromMs, toMs] = meant ? [from, to] : [0, wholeMs];
  return {
    fromMs,
    toMs,
    lengthMs: toMs - fromMs,
    ticks: ticksOf(fromMs, toMs),
    zoomed: meant && (fromMs > 0 || toMs < wholeMs),
  };
}
