/**
 * Reads go to a streaming replica if it has all that the primary had when the read began, else to the primary: pages never show less
 * than without a replica. Writes, settings and leases of tokens always go to the primary.
 */
import type { ProfileStorage, ReadsFrom } from '../profiler/storage.ts';
import type { PostgresStorage } from './postgres-profile-storage.ts';
import { isCanceled } from './unavailable.ts';

/** Milliseconds until the replica is asked again after it was behind. */
const BEHIND_MS = 1000;
/** Milliseconds for the replica to reply: at the start, which includes that of its thread, and when a page waits. */
const CONNECT_WITHIN_MS = 15_000;
const CHECK_WITHIN_MS = 1500;
/** Before everything else in the log: with it, all that was replayed is enough. */
const ANY_POSITION = '0/0';

export interface ReplicaOptions {
  primary: PostgresStorage;
  replica: PostgresStorage;
  /** Receives a sentence when the replica can't be used, and one when it can again. */
  say: (sentence: string) => void;
  /** Milliseconds until a replica that could not be used is asked again. Default: 10 s. */
  askAgainMs?: number;
}

export function readFromReplica(options: ReplicaOptions): ProfileStorage {
  const { primary, replica, say, askAgainMs = 10_000 } = options;
  const counts = { replica: 0, primary: 0 };
  /** Why the primary is read; null: it is not. */
  let reason: string | null = 'not connected yet';
  let isUnusable = false;
  let isClosed = false;
  let askAgainAt = Infinity;

  function useReplica(): void {
    if (isUnusable) say('Profiles are read from the replica again.');
    isUnusable = false;
    reason = null;
    askAgainAt = -Infinity;
  }

  function setAside(why: string): void {
    if (!isUnusable && !isClosed)
      say(`Profiles are read from the primary, because the replica can't be used: ${why}`);
    isUnusable = true;
    reason = why;
    askAgainAt = performance.now() + askAgainMs;
  }

  /** The cause names the reason alone; the error is a sentence about pages. */
  function setAsideFor(error: unknown): void {
    const { cause = error } = error as Error;
    setAside(cause instanceof Error ? cause.message : String(cause));
  }

  async function check(position: string, withinMs: number): Promise<boolean> {
    try {
      const reached = await replica.hasReached(position, withinMs);
      if (reached === true) useReplica();
      else if (reached === null) setAside('it is no replica.');
      else {
        reason = 'behind';
        askAgainAt = performance.now() + BEHIND_MS;
      }
      return reached === true;
    } catch (error) {
      setAsideFor(error);
      return false;
    }
  }

  async function isCurrent(): Promise<boolean> {
    if (performance.now() < askAgainAt) return false;
    // While the primary is away, what the replica has is better than nothing.
    const position = await primary.position().catch(() => ANY_POSITION);
    return check(position, CHECK_WITHIN_MS);
  }

  // Starts its thread, for which no page should wait.
  void check(ANY_POSITION, CONNECT_WITHIN_MS);

  async function read<Result>(work: (from: PostgresStorage) => Promise<Result>): Promise<Result> {
    if (await isCurrent()) {
      try {
        const result = await work(replica);
        counts.replica += 1;
        return result;
      } catch (error) {
        // A search that takes too long would take as long on the primary.
        if (isCanceled(error)) throw error;
        setAsideFor(error);
      }
    }
    counts.primary += 1;
    return work(primary);
  }

  return {
    ...primary,
    async read(token, options) {
      let wasReplica = false;
      const found = await read((from) => {
        wasReplica = from === replica;
        return from.read(token, options);
      });
      // A replica that was read without the primary's position may not have it yet.
      return found ?? (wasReplica ? primary.read(token, options) : null);
    },
    readShared: (ids) => read((from) => from.readShared(ids)),
    find: (query) => read((from) => from.find(query)),
    summarize: (query) => read((from) => from.summarize(query)),
    routePercentiles: (query) => read((from) => from.routePercentiles(query)),
    countsAndHistogram: (query) => read((from) => from.countsAndHistogram(query)),
    readsFrom: (): ReadsFrom => ({ server: reason === null ? 'replica' : 'primary', reason, ...counts }),
    async close() {
      isClosed = true;
      await Promise.all([primary.close(), replica.close()]);
    },
  };
}
