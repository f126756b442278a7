/** Helpers of rules about time: when work is long, and which work is one wait. */
import type { RuleBeside } from '../../profiler/read/finding-rule.ts';
import type { SpanKind } from '../../profiler/read/span.ts';
import { HELD, type TimeLedger, type TimeShare } from '../../profiler/read/time-ledger.ts';
import { endOf, type Interval } from './kept.ts';
import { duration } from './wording.ts';

/** Shorter work is not worth a finding, whatever its share. */
const NOTICED_MS = 50;
/** Longer work is, whatever the request took. */
export const LONG_MS = 100;
/** Share of the request from which on the work explains why it took longer. */
const LARGE_SHARE = 0.5;
const TIMES_USUAL = 3;

/** What the work took for certain: on a busy machine, the thread that asked for it was ready to go on and got no CPU for the rest. */
export function certainMs(ms: number, { queuedMs }: Pick<TimeLedger, 'queuedMs'>): number {
  return Math.max(0, ms - queuedMs);
}

/** `always` from 100 ms on; `unusual` if the route usually takes a third of what this request took, or less, and the work is half of it. */
export function lengthOf(
  takenMs: number,
  wholeMs: number | null,
  from: Pick<RuleBeside, 'usualMs' | 'time'>,
): 'always' | 'unusual' | null {
  if (takenMs < NOTICED_MS) return null;
  const { usualMs, time } = from;
  const ms = certainMs(takenMs, time);
  if (ms >= LONG_MS) return 'always';
  if (ms < NOTICED_MS || wholeMs === null || ms < wholeMs * LARGE_SHARE) return null;
  return usualMs !== null && certainMs(wholeMs, time) >= usualMs * TIMES_USUAL ? 'unusual' : null;
}

/** Mostly the process collected garbage or ran code: the result may have been there long before it was read, so the time has another owner. */
export function isMostlyHeld({ startMs, durationMs }: Interval, time: TimeLedger): boolean {
  return durationMs !== null && time.ownedMs({ startMs, durationMs }, HELD) > durationMs / 2;
}

export function usualText(usualMs: number | null): string {
  return usualMs === null ? '' : `; requests to this route usually take ${duration(usualMs)}`;
}

/** The time of one kind, as every page has it. */
export function shareOfKind({ shares }: TimeLedger, kind: SpanKind): Pick<TimeShare, 'ms' | 'allMs'> {
  return shares.find((share) => share.kind === kind) ?? { ms: 0, allMs: 0 };
}

/** Shorter pauses are the time that the code itself takes. */
const PAUSE_MS = 20;

/** Between runs, such as attempts of one call; negative: they overlapped. */
export function pausesOf(runs: readonly Interval[]): (Interval & { durationMs: number })[] {
  return runs.slice(1).map((run, index) => {
    const startMs = endOf(runs[index] ?? run);
    return { startMs, durationMs: run.startMs - startMs };
  });
}

export function areSequential(runs: readonly Interval[]): boolean {
  return pausesOf(runs).every(({ durationMs }) => durationMs >= 0);
}

/** Before each repetition the request paused: it asked again for what might have changed. */
export function arePolls(runs: readonly Interval[], time: TimeLedger): boolean {
  return pausesOf(runs).every(
    (pause) => pause.durationMs >= PAUSE_MS && time.ownedMs(pause, ['idle']) > pause.durationMs / 2,
  );
}

/** Share of a statement or call that has to lie within another for the two to be one wait. */
const MOST = 0.8;

export function overlapMs(a: Interval, b: Interval): number {
  return Math.min(endOf(a), endOf(b)) - Math.max(a.startMs, b.startMs);
}

export interface Wait<T> {
  longest: T;
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
