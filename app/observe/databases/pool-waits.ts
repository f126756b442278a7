/** Waits for a connection of a pool: how long, who held the connections, and whether the request never got one. */
import { field, isRealError } from '../../profiler/record/safe-read.ts';
import { type Context, type ContextTracker, createSlot } from '../../profiler/record/context.ts';
import type { Origin, QueryRecorder, QueryStart, Waiting } from './queries.ts';

/** What waits for a connection of an exhausted pool, and may never get one. */
const exhausted = createSlot<Set<Waiting>>('waiting for a connection');

/** The request is over, and what still waits for a connection would not be recorded: a statement without SQL for each. */
export function noteStillWaiting(context: Context, queries: Pick<QueryRecorder, 'refused'>): void {
  for (const waiting of exhausted.get(context) ?? []) queries.refused(waiting);
}

function stackOf(error: unknown): string {
  const stack = isRealError(error) ? field(error, 'stack') : '';
  return typeof stack === 'string' ? stack : '';
}

export function createPoolWaits({
  tracker,
  queries,
  ...pool
}: Pick<QueryStart, 'system' | 'library' | 'instance'> & {
  tracker: ContextTracker;
  queries: QueryRecorder;
}) {
  return {
    /** A connection is asked for; null outside of a request. `used`: those of a pool that has none free and can open none. */
    ask(used: readonly object[], known?: Origin): Waiting | null {
      const context = tracker.observed();
      if (context === undefined) return null;
      const sinceMs = context.elapsedMs();
      const origin = known ?? queries.originOf(pool.library);
      const isFull = used.length > 0;
      const waiting: Waiting = { ...pool, context, sinceMs, origin, held: queries.heldOf(used), isFull };
      if (isFull) exhausted.set(context, (exhausted.get(context) ?? new Set()).add(waiting));
      return waiting;
    },
    got(waiting: Waiting | null, connection: object): void {
      if (waiting === null) {
        queries.used(pool.system, connection);
        return;
      }
      exhausted.get(waiting.context)?.delete(waiting);
      queries.waited(waiting, connection);
    },
    refused(waiting: Waiting | null, error: unknown): void {
      if (waiting === null) return;
      exhausted.get(waiting.context)?.delete(waiting);
      queries.refused(waiting, { error, stack: () => stackOf(error) });
    },
  };
}
