/** The axis of the drawing: what part of the request it shows, and its round steps. */
import type { TimelineData } from '../timeline.ts';
import { endOf } from './spans.ts';

export interface Axis {
  fromMs: number;
  toMs: number;
  lengthMs: number;
  /** Round steps within it, as they are written. */
  ticks: { atMs: number; text: string }[];
  /** It shows a part only. */
  zoomed: boolean;
}

const STEPS = 6;
/** A part of the axis is at least so long: nothing shorter is measured. */
const SHORTEST = 0.01;

/** 1, 2 or 5 times a power of ten, so that at most `STEPS` fit. */
function stepOf(lengthMs: number): number {
  const rough = lengthMs / STEPS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
}

function tickText(ms: number): string {
  return ms >= 1000 ? `${Number((ms / 1000).toFixed(3))} s` : `${Number(ms.toFixed(3))} ms`;
}

function readMs(text: string | undefined): number | null {
  const value = text === undefined || text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

/** To the end of the last span, also of work after the answer, but not for ever. */
function wholeOf({ totalMs, spans }: TimelineData): number {
  const last = spans.reduce((end, span) => Math.max(end, endOf(span)), totalMs);
  return Math.max(0.1, Math.min(last, Math.max(totalMs * 2, totalMs + 50)));
}

/** `from` and `to` are milliseconds of the request as they stand in an address. */
export function axisOf(data: TimelineData, query: Readonly<Record<string, string>>): Axis {
  const wholeMs = wholeOf(data);
  const from = Math.min(readMs(query.from) ?? 0, wholeMs - SHORTEST);
  const to = Math.min(readMs(query.to) ?? wholeMs, wholeMs);
  const meant = to - from >= SHORTEST;
  const [fromMs, toMs] = meant ? [from, to] : [0, wholeMs];
  const step = stepOf(toMs - fromMs);
  const first = Math.ceil(fromMs / step - 1e-9);
  const count = Math.max(1, Math.floor(toMs / step + 1e-9) - first + 1);
  return {
    fromMs,
    toMs,
    lengthMs: toMs - fromMs,
    ticks: Array.from({ length: count }, (_, index) => {
      const atMs = (first + index) * step;
      return { atMs, text: tickText(atMs) };
    }),
    zoomed: meant && (fromMs > 0 || toMs < wholeMs),
  };
}
