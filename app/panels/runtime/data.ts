import type { OwnWork } from '../../profiler/record/context.ts';
import type { Facts } from '../../profiler/record/facts.ts';

type RuntimeReading = ReturnType<Facts['runtime']['read']>;

export type BlockedTime = RuntimeReading['blocks'][number];

export interface OwnTime {
  what: OwnWork['what'];
  startMs: number;
  durationMs: number;
}

export interface RuntimeData extends RuntimeReading {
  durationMs: number;
  /** `performance.now()` at its start: orders what overlapping requests of one process did. */
  startMark: number;
  own: OwnTime[];
  totals: { blockedMs: number };
}

/** What each profile stores: sums are derived. */
export type KeptRuntime = Omit<RuntimeData, 'totals'>;
