/** Rows and times that several panels need. */
import { durationText } from '../../view-helpers/numbers.ts';

export type Interval = Readonly<{ startMs: number; durationMs: number | null }>;

/** Infinity while it runs. */
export function endOf({ startMs, durationMs }: Interval): number {
  return durationMs === null ? Infinity : startMs + durationMs;
}

export function pick<Item extends object>(list: readonly Item[], indexes: readonly number[]): Item[] {
  return indexes.flatMap((index) => list[index] ?? []);
}

/** Sum of the durations; concurrent work counts twice. */
export function totalMs(all: readonly Pick<Interval, 'durationMs'>[]): number {
  return all.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
}

/** Milliseconds covered by any of the intervals: concurrent work counts once. */
export function coveredMs(intervals: readonly Interval[]): number {
  const isSorted = intervals.every(
    (one, index) => one.startMs >= (intervals[index - 1]?.startMs ?? -Infinity),
  );
  const sorted = isSorted ? intervals : intervals.toSorted((a, b) => a.startMs - b.startMs);
  let covered = 0;
  let until = -Infinity;
  for (const { startMs, durationMs } of sorted) {
    const end = startMs + (durationMs ?? 0);
    covered += Math.max(0, end - Math.max(startMs, until));
    until = Math.max(until, end);
  }
  return covered;
}

/** Their durations add up to so many times the time in which any of them ran: most ran side by side. */
const PARALLEL = 1.5;

/** `204.0 ms each`, `in parallel, 204.0 ms each`: what one of several took. */
export function eachText(intervals: readonly Interval[]): string {
  const sumMs = totalMs(intervals);
  const each = `${durationText(sumMs / Math.max(1, intervals.length))} each`;
  return sumMs >= coveredMs(intervals) * PARALLEL ? `in parallel, ${each}` : each;
}
