/** What drivers with a pool have in common: a statement's start and end, the wait for a connection, and callers across it. */
import type { TracingChannel } from 'node:diagnostics_channel';
import { type Context, type ContextTracker, createSlot } from '../profiler/context.ts';
import type { Traced } from './channels/trace.ts';
import type { HeldConnection } from './connection-holders.ts';
import type { Origin, QueryOutcome, QueryRecorder, QueryStart, RunningQuery } from './queries.ts';
import type { QuerySystem } from './query-fact.ts';
import { closing, subscribeToCalls } from './subscribe.ts';

export interface DriverObserverOptions {
  tracker: ContextTracker;
  queries: QueryRecorder;
}

export interface PooledDriver<Q extends Traced> extends DriverObserverOptions {
  system: QuerySystem;
  /** Packages whose frames are no callers. */
  library: string;
  query: TracingChannel;
  connect: TracingChannel;
  describe: (message: Q) => Pick<QueryStart, 'sql' | 'bindings' | 'connection' | 'writeDate'>;
  outcomeOf: (message: Q) => QueryOutcome;
  /** The connections of the pool, if all are in use and none can be opened; else none. */
  inUse?: (message: Connect) => readonly object[];
  /** Called when a recorded statement has ended. */
  onEnd?: (running: RunningQuery, message: Q) => void;
}

interface Connecting extends Pick<QueryStart, 'system' | 'library'> {
  context: Context;
  sinceMs: number;
  origin: Origin | null;
  /** Which requests held the connections then. */
  held: readonly HeldConnection[];
}

/** What waits for a connection of an exhausted pool, and may never get one. */
const waiting = createSlot<Set<Connecting>>('waiting for a connection');

/** The request is over, and what still waits for a connection would not be recorded: a statement without SQL for each. */
export function noteStillWaiting(context: Context, queries: Pick<QueryRecorder, 'refused'>): void {
  for (const { system, library, origin, sinceMs, held } of waiting.get(context) ?? [])
    queries.refused(context, { system, library, origin }, { sinceMs, held });
}

/** A request for a connection. */
type Connect = Traced & { isForQuery: boolean; pool?: object };

export function observePooled<Q extends Traced>(driver: PooledDriver<Q>): { close(): void } {
  const { tracker, queries, system, library } = driver;
  const running = new WeakMap<Q, RunningQuery>();
  const connecting = new WeakMap<Connect, Connecting>();
  /** While the callback of the pool's own `query` runs, far from its caller. */
  let origin: Origin | null = null;

  function endQuery(message: Q): void {
    const query = running.get(message);
    if (query === undefined) return;
    running.delete(message);
    queries.end(query, driver.outcomeOf(message));
    driver.onEnd?.(query, message);
  }

  function connected(message: Connect): void {
    const asked = connecting.get(message);
    const { result, error } = message;
    if (asked === undefined) {
      if (typeof result === 'object' && result !== null) queries.used({ system, connection: result });
      return;
    }
    const { context, sinceMs, held } = asked;
    waiting.get(context)?.delete(asked);
    if (error !== undefined)
      queries.refused(context, { system, library, origin: asked.origin }, { sinceMs, error, held });
    else if (typeof result === 'object' && result !== null)
      queries.waited(context, { system, connection: result }, { ms: context.elapsedMs() - sinceMs, held });
    if (message.isForQuery) ({ origin } = asked);
  }

  return closing([
    subscribeToCalls<Q>(driver.query, {
      start(message) {
        const query = queries.start({ system, library, origin, ...driver.describe(message) });
        if (query !== null) running.set(message, query);
      },
      asyncStart: endQuery,
    }),
    subscribeToCalls<Connect>(driver.connect, {
      start(message) {
        const context = tracker.observed();
        if (context === undefined) return;
        const used = driver.inUse?.(message) ?? [];
        const asked: Connecting = {
          context,
          system,
          library,
          sinceMs: context.elapsedMs(),
          origin: queries.originOf(library),
          held: queries.heldOf(used),
        };
        connecting.set(message, asked);
        if (used.length > 0) waiting.set(context, (waiting.get(context) ?? new Set()).add(asked));
      },
      asyncStart: connected,
      asyncEnd() {
        origin = null;
      },
    }),
    // Callbacks run where a connection was released, or its socket was created: in another request.
    tracker.follow(driver.connect.asyncStart, (message) => connecting.get(message as Connect)?.context),
    tracker.follow(driver.query.asyncStart, (message) => running.get(message as Q)?.context),
  ]);
}
