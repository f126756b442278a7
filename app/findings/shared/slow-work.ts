/** Helpers of rules about slow statements and calls: one wait is one finding, and a blocked event loop is nobody else's fault. */
import { coveredMs } from '../../panels/shared/rows.ts';
import { endOf, type Interval, type Kept } from './kept.ts';

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

/** Slow work that ran side by side is one wait: that of the longest. Longest first. */
export function waitsOf<T extends Interval>(slow: readonly T[]): Wait<T>[] {
  const waits: Wait<T>[] = [];
  for (const work of [...slow].sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0))) {
    const wait = waits.find(({ longest }) => overlapMs(longest, work) >= (work.durationMs ?? 0) * MOST);
    if (wait === undefined) waits.push({ longest: work, beside: [] });
    else wait.beside.push(work);
  }
  return waits;
}

/** The event loop was blocked for most of this work: its result may have been there long before it was read. */
export function isMostlyBlocked(work: Interval, runtime: Kept['runtime'] | undefined): boolean {
  const within = (runtime?.blocks ?? []).flatMap((block) => {
    const ms = overlapMs(block, work);
    return ms > 0 ? [{ startMs: Math.max(block.startMs, work.startMs), durationMs: ms }] : [];
  });
  return work.durationMs !== null && coveredMs(within) >= work.durationMs * MOST;
}
