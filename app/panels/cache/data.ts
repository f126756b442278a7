import type { Facts } from '../../profiler/facts.ts';
import type { ListData } from '../shared/list-panel.ts';
import type { Unkept } from '../shared/unkept.ts';

/** `n+1`: reads of several keys from one line, one at a time. `repeated`: a key that was read before, and not written since. */
export type CacheGroupKind = 'n+1' | 'repeated';

export interface CacheGroup {
  kind: CacheGroupKind;
  command: string;
  /** The key, or what the keys have in common: `user:…`. */
  key: string;
  caller: string | null;
  /** Indexes of its commands. */
  members: number[];
  durationMs: number;
}

export interface CacheTotals {
  groups: CacheGroup[];
  /** Past the recording limit; absent if all were kept. */
  unkept?: Unkept;
  /** With what is not kept, except hits. */
  totals: {
    commands: number;
    /** Sum over all commands. */
    durationMs: number;
    /** Time in which at least one ran. */
    busyMs: number;
    asked: number;
    hits: number;
    failed: number;
  };
}

/** `items`: the commands. */
export type CacheData = ListData<Facts['cache'], CacheTotals>;
