import type { Facts } from '../../profiler/record/facts.ts';
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
  members: number[];
  durationMs: number;
}

export interface CacheTotals {
  groups: CacheGroup[];
  unkept?: Unkept;
  totals: {
    commands: number;
    asked: number;
    hits: number;
    failed: number;
  };
}

export type CacheData = ListData<Facts['cache'], CacheTotals>;
