/** Statements of a driver that publishes them -> facts `query`, with waits for its pool. */
import type { Channel, TracingChannel } from 'node:diagnostics_channel';
import { type Context, type ContextTracker, createSlot } from '../../profiler/record/context.ts';
import type { Connect, Traced } from '../channels/trace.ts';
import type { ExplainClient, Explainer } from './explain.ts';
import { createPoolWaits } from './pool-waits.ts';
import type { Origin, QueryOutcome, QueryRecorder, QueryStart, RunningQuery, Waiting } from './queries.ts';
import type { QuerySystem } from './query-fact.ts';
import { closing, subscribeToCalls } from '../subscribe.ts';

export interface Driver<Q extends Traced> {
  system: QuerySystem;
  library: string;
  query: TracingChannel;
  event?: Channel;
  describe(message: Q):
    | (Pick<QueryStart, 'sql' | 'bindings' | 'connection' | 'server' | 'stack' | 'writeDate'> & {
        library?: string;
      })
    | null;
  outcome(message: Q): QueryOutcome;
  pool?: {
    connect: TracingChannel;
    inUse(pool: object): readonly object[];
    explained?(pool: object): ExplainClient;
  };
}

export interface DriverObserverOptions {
  tracker: ContextTracker;
  queries: QueryRecorder;
  explainer?: Explainer | undefined;
}

export function serverText(host: unknown, port: unknown, database: unknown): string | undefined {
  if (typeof host !== 'string') return undefined;
  const address = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const number = typeof port === 'number' || typeof port === 'string' ? `:${port}` : '';
  return `${address}${number}${typeof database === 'string' && database !== '' ? `/${database}` : ''}`;
}

function contextOf(call: { context: Context } | null | undefined): Context | null | undefined {
  return call === null ? null : call?.context;
}

export function observeDriver<Q extends Traced>(
  { system, library, query: channel, event, describe, outcome, pool }: Driver<Q>,
  { tracker, queries, explainer }: DriverObserverOptions,
): { close(): void } {
  /** null: it was asked for outside of a request, and so is its callback, whoever's connection it gets. */
  const running = createSlot<RunningQuery | null, Q>('running query');
  const connecting = createSlot<Waiting | null, Connect>('waiting for a connection');
  const waits = createPoolWaits({ tracker, queries, system, library });
  const clients = new WeakMap<object, ExplainClient>();
  /** While the callback of the pool's own `query` runs, far from its caller. */
  let origin: Origin | null = null;
  let isPooled = false;

  const undo = [
    subscribeToCalls<Q>(channel, {
      start(message) {
        const described = describe(message);
        if (described === null) return;
        running.set(message, queries.start({ system, library, origin, isPooled, ...described }));
      },
      asyncStart(message) {
        const query = running.get(message) ?? null;
        if (query !== null && query.fact.durationMs === null) queries.end(query, outcome(message));
      },
    }),
    // Callbacks run where a connection was released, where its socket was created, or outside of every request.
    ...[channel.asyncStart, ...(event === undefined ? [] : [event])].map((one) =>
      tracker.follow(one, (message) => contextOf(running.get(message as Q))),
    ),
  ];
  if (pool !== undefined)
    undo.push(
      subscribeToCalls<Connect>(pool.connect, {
        start(message) {
          connecting.set(message, waits.ask(pool.inUse(message.pool)));
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
      tracker.follow(pool.connect.asyncStart, (message) => contextOf(connecting.get(message as Connect))),
    );
  return closing(undo);
}
