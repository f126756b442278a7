import type { Unkept } from '../shared/unkept.ts';
import type { Facts } from '../../profiler/facts.ts';

/** `group`: index in `groups`; null if it is in none. */
export type CacheEntry = Omit<Facts['cache'], 'system'> & { group: number | null };

/** `n+1`: reads of several keys from one line, one at a time. `repeated`: a key that was read before, and not written since. */
export type CacheGroupKind = 'n+1' | 'repeated';

export interface CacheGroup {
  kind: CacheGroupKind;
  command: string;
  /** The key, or what the keys have in common: `user:…`. */
  key: string;
  caller: string | null;
  /** Indexes in `commands`. */
  members: number[];
  durationMs: number;
}

export interface CacheData {
  commands: CacheEntry[];
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
