/** Statements of a driver that publishes them -> facts `query`, with waits for its pool. */
import type { TracingChannel } from 'node:diagnostics_channel';
import type { ContextTracker } from '../profiler/context.ts';
import type { Connect, Traced } from './channels/trace.ts';
import type { ExplainClient, Explainer } from './explain.ts';
import { createPoolWaits } from './pool-waits.ts';
import type { Origin, QueryOutcome, QueryRecorder, QueryStart, RunningQuery, Waiting } from './queries.ts';
import type { QuerySystem } from './query-fact.ts';
import { closing, subscribeToCalls } from './subscribe.ts';

/** What is particular about a driver. */
export interface Driver<Q extends Traced> {
  system: QuerySystem;
  /** Package whose frames are no callers. */
  library: string;
  query: TracingChannel;
  /** null: not a statement of the application. */
  describe(
    message: Q,
  ):
    | (Pick<QueryStart, 'sql' | 'bindings' | 'connection' | 'stack' | 'writeDate'> & { library?: string })
    | null;
  outcome(message: Q): QueryOutcome;
  pool?: {
    connect: TracingChannel;
    /** The connections of a pool that has none free and can open none; else none. */
    inUse(pool: object): readonly object[];
    /** How statements of its connections are planned; absent: they are not. */
    explained?(pool: object): ExplainClient;
  };
}

export interface DriverObserverOptions {
  tracker: ContextTracker;
  queries: QueryRecorder;
  explainer?: Explainer | undefined;
}

export function observeDriver<Q extends Traced>(
  { system, library, query: channel, describe, outcome, pool }: Driver<Q>,
  { tracker, queries, explainer }: DriverObserverOptions,
): { close(): void } {
  const running = new WeakMap<Q, RunningQuery>();
  const connecting = new WeakMap<Connect, Waiting>();
  const waits = createPoolWaits({ tracker, queries, system, library });
  /** By pool. */
  const clients = new WeakMap<object, ExplainClient>();
  /** While the callback of the pool's own `query` runs, far from its caller. */
  let origin: Origin | null = null;
  let isPooled = false;

  const undo = [
    subscribeToCalls<Q>(channel, {
      start(message) {
        const described = describe(message);
        const query =
          described === null ? null : queries.start({ system, library, origin, isPooled, ...described });
        if (query !== null) running.set(message, query);
      },
      asyncStart(message) {
        const query = running.get(message);
        running.delete(message);
        if (query !== undefined) queries.end(query, outcome(message));
      },
    }),
    // Callbacks run where a connection was released, where its socket was created, or outside of every request.
    tracker.follow(channel.asyncStart, (message) => running.get(message as Q)?.context),
  ];
  if (pool !== undefined)
    undo.push(
      subscribeToCalls<Connect>(pool.connect, {
        start(message) {
          const waiting = waits.ask(pool.inUse(message.pool));
          if (waiting !== null) connecting.set(message, waiting);
        },
        asyncStart(message) {
          const waiting = connecting.get(message) ?? null;
          const { result, error, isForQuery } = message;
          if (error !== undefined) waits.refused(waiting, error);
          else if (typeof result === 'object' && result !== null) {
            if (pool.explained !== undefined) {
              const client = clients.get(message.pool) ?? pool.explained(message.pool);
              clients.set(message.pool, client);
              explainer?.lend(result, client);
            }
            waits.got(waiting, result);
          }
          isPooled = isForQuery;
          if (isForQuery) origin = waiting?.origin ?? null;
        },
        asyncEnd() {
          origin = null;
          isPooled = false;
        },
      }),
      tracker.follow(pool.connect.asyncStart, (message) => connecting.get(message as Connect)?.context),
    );
  return closing(undo);
}
