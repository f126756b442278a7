/** Deletes profiles of a store for the command line. */
import { PROFILE_KINDS } from '../profiler/context.ts';
import type { Store, StoreLimits } from '../profiler/store.ts';
import { sleep } from '../profiler/timeouts.ts';

/** At least one of the two. */
export interface PruneLimits {
  /** Older ones are deleted; milliseconds since 1970. */
  olderThan: number | null;
  /** The newest so many requests stay. */
  keep: number | null;
}

export interface StorePruning {
  /** About how many `prune` would delete, pinned ones included. */
  countPrunable(limits: PruneLimits): Promise<number>;
  /** Deletes all but pinned profiles; returns how many. */
  prune(limits: PruneLimits, onProgress: (deleted: number) => void): Promise<number>;
}

const NO_LIMIT = Number.MAX_SAFE_INTEGER;
/** Another process that purges holds a lock for a moment. */
const TRIES = 3;
const PAUSE_MS = 500;

function limitsOf({ olderThan, keep }: PruneLimits): StoreLimits {
  return {
    olderThan: olderThan ?? 0,
    count: keep ?? NO_LIMIT,
    bytes: NO_LIMIT,
    profilerCount: keep === null ? NO_LIMIT : 0,
    summaryCount: keep ?? NO_LIMIT,
    summaryBytes: NO_LIMIT,
    // Failed and slow requests are no exceptions here: whoever prunes wants them gone, too.
    exceptions: {
      olderThan: keep === null ? (olderThan ?? 0) : NO_LIMIT,
      count: NO_LIMIT,
      bytes: NO_LIMIT,
    },
  };
}

export function pruningOf(store: Store): StorePruning {
  async function total(query: { until?: number; kinds: typeof PROFILE_KINDS | readonly ['request'] }) {
    return (await store.find({ ...query, limit: 1, offset: 0 })).total;
  }

  return {
    async countPrunable({ olderThan, keep }) {
      const old = olderThan === null ? 0 : await total({ until: olderThan, kinds: PROFILE_KINDS });
      const surplus = keep === null ? 0 : (await total({ kinds: ['request'] })) - keep;
      return Math.max(0, old, surplus);
    },
    async prune(limits, onProgress) {
      let deleted = 0;
      for (let tries = 0; tries < TRIES;) {
        const count = await store.purge(limitsOf(limits));
        deleted += count;
        onProgress(deleted);
        if (count > 0) tries = 0;
        else if (++tries < TRIES) await sleep(PAUSE_MS);
      }
      return deleted;
    },
  };
}
