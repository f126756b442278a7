/** Slow work that ran side by side is one wait: a finding about each would count its time twice. */
import { endOf, type Interval } from './kept.ts';

/** Share of a statement or call that has to lie within another for the two to be one wait. */
const MOST = 0.8;

function overlapMs(a: Interval, b: Interval): number {
  return Math.min(endOf(a), endOf(b)) - Math.max(a.startMs, b.startMs);
}

export interface Wait<T> {
  longest: T;
  /** What ran at the same time, for most of its own duration. */
  beside: T[];
}

/** That of the longest. Longest first. */
export function waitsOf<T extends Interval>(slow: readonly T[]): Wait<T>[] {
  const waits: Wait<T>[] = [];
  for (const work of [...slow].sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0))) {
    const wait = waits.find(({ longest }) => overlapMs(longest, work) >= (work.durationMs ?? 0) * MOST);
    if (wait === undefined) waits.push({ longest: work, beside: [] });
    else wait.beside.push(work);
  }
  return waits;
}
