/** Round steps of an axis of milliseconds. */
import { durationText } from './numbers.ts';

export interface Tick {
  atMs: number;
  text: string;
}

const STEPS = 6;
const MINUTE = 60_000;
/** Round by the clock: 30 s to a day. */
const LONG_STEPS = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map(
  (minutes) => minutes * MINUTE,
);

function stepOf(lengthMs: number): number {
  const rough = lengthMs / STEPS;
  const long = rough < MINUTE / 4 ? undefined : LONG_STEPS.find((step) => step >= rough);
  if (long !== undefined) return long;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
}

function tickText(ms: number): string {
  if (ms >= MINUTE) return durationText(ms);
  return ms >= 1000 ? `${Number((ms / 1000).toFixed(3))} s` : `${Number(ms.toFixed(3))} ms`;
}

/** Steps from `fromMs` to `toMs`, which is later; at least one. */
export function ticksOf(fromMs: number, toMs: number): Tick[] {
  const step = stepOf(toMs - fromMs);
  const first = Math.ceil(fromMs / step - 1e-9);
  const count = Math.max(1, Math.floor(toMs / step + 1e-9) - first + 1);
  return Array.from({ length: count }, (_, index) => {
    const atMs = (first + index) * step;
    return { atMs, text: tickText(atMs) };
  });
}
