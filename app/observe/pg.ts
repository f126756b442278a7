/** `pg` and pg-pool -> facts `query`, by the channels of channels/pg.ts. */
import type { Context, ContextTracker } from '../profiler/context.ts';
import { type PgConnect, type PgQuery, pgChannels } from './channels/pg.ts';
import type { QueryRecorder, RunningQuery } from './queries.ts';
import { rowsOf } from './statement.ts';
import { subscribeToCalls } from './subscribe.ts';

export interface ObservePgOptions {
  tracker: ContextTracker;
  queries: QueryRecorder;
}

interface Connecting {
  context: Context;
  sinceMs: number;
  caller: string | null;
}

export function observePg({ tracker, queries }: ObservePgOptions): { close(): void } {
  const running = new WeakMap<PgQuery, RunningQuery>();
  const connecting = new WeakMap<PgConnect, Connecting>();
  /** While the callback of `pool.query` runs, far from its caller. */
  let caller: string | null = null;

  function endQuery(message: PgQuery): void {
    const query = running.get(message);
    if (query === undefined) return;
    running.delete(message);
    queries.end(query, { rows: rowsOf(message.result), error: message.error });
  }

  const undo = [
    subscribeToCalls<PgQuery>(pgChannels.query, {
      start(message) {
        const { client, text, values } = message;
        const query = queries.start({
          system: 'postgresql',
          sql: text,
          bindings: values,
          connection: client,
          library: 'pg',
          caller,
        });
        if (query !== null) running.set(message, query);
      },
      end(message) {
        // It was refused, and nothing follows.
        if (message.error !== undefined) endQuery(message);
      },
      asyncStart: endQuery,
    }),
    subscribeToCalls<PgConnect>(pgChannels.connect, {
      start(message) {
        const context = tracker.current();
        if (context === undefined) return;
        connecting.set(message, {
          context,
          sinceMs: context.elapsedMs(),
          caller: queries.callerOf('pg-pool'),
        });
      },
      asyncStart(message) {
        const asked = connecting.get(message);
        if (asked === undefined) return;
        const { context, sinceMs } = asked;
        const { result, error } = message;
        if (error !== undefined)
          queries.refused(
            context,
            { system: 'postgresql', library: 'pg', caller: asked.caller },
            { sinceMs, error },
          );
        else if (typeof result === 'object' && result !== null)
          queries.waited(
            context,
            { system: 'postgresql', connection: result },
            context.elapsedMs() - sinceMs,
          );
        if (message.isForQuery) ({ caller } = asked);
      },
      asyncEnd() {
        caller = null;
      },
    }),
    tracker.follow(pgChannels.connect.asyncStart, (message) => connecting.get(message as PgConnect)?.context),
    tracker.follow(pgChannels.query.asyncStart, (message) => running.get(message as PgQuery)?.context),
  ];
  return {
    close() {
      for (const one of undo) one();
    },
  };
}
