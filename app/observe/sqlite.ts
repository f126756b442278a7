/** `better-sqlite3`, `node:sqlite` and `sqlite3` -> facts `query`, by the channel of channels/sqlite.ts. */
import { types } from 'node:util';
import { type SqliteQuery, sqliteChannels } from './channels/sqlite.ts';
import type { DriverObserverOptions } from './pooled.ts';
import type { RunningQuery } from './queries.ts';
import { closing, subscribeToCalls } from './subscribe.ts';
import { isRecord } from '../profiler/json.ts';

/** `run(1, 2)`, `run([1, 2])`, `run({ id: 1 })`. */
function bindingsOf(args: readonly unknown[], library: string): unknown {
  const [first] = args;
  const isNamed = isRecord(first) && !ArrayBuffer.isView(first);
  if (isNamed && args.length === 1) return first;
  // `sqlite3` sends a date as a number; the others refuse one.
  return library === 'sqlite3'
    ? args.flat().map((value) => (types.isDate(value) ? value.getTime() : value))
    : args.flat();
}

/** For other statements, `sqlite3` still has the number of the last change. */
const CHANGES = /^\s*(?:with|insert|update|delete|replace)\b/i;

function rowsOf({ method, result, error, sql, calledOn }: SqliteQuery): number | null {
  if (error !== undefined) return null;
  if (method === 'all') return Array.isArray(result) ? result.length : null;
  if (method === 'get') return result === undefined ? 0 : 1;
  if (method === 'iterate' || method === 'each') return typeof result === 'number' ? result : null;
  const changed = calledOn !== undefined && CHANGES.test(sql) ? calledOn : result;
  const changes: unknown = (changed as { changes?: unknown } | null | undefined)?.changes;
  return typeof changes === 'number' || typeof changes === 'bigint' ? Number(changes) : null;
}

export function observeSqlite({ tracker, queries }: DriverObserverOptions): { close(): void } {
  const running = new WeakMap<SqliteQuery, RunningQuery>();
  const calls = subscribeToCalls<SqliteQuery>(sqliteChannels.query, {
    start(message) {
      const { library, database, sql, args } = message;
      const query = queries.start({
        system: 'sqlite',
        sql,
        bindings: bindingsOf(args, library),
        connection: database,
        library,
      });
      if (query !== null) running.set(message, query);
    },
    asyncStart(message) {
      const query = running.get(message);
      if (query === undefined) return;
      running.delete(message);
      queries.end(query, { rows: rowsOf(message), error: message.error });
    },
  });
  // An addon calls back outside of every request.
  const callbacks = tracker.follow(
    sqliteChannels.query.asyncStart,
    (message) => running.get(message as SqliteQuery)?.context,
  );
  return closing([calls, callbacks]);
}
