/** `better-sqlite3` and `node:sqlite` -> facts `query`, by the channel of channels/sqlite.ts. */
import { type SqliteQuery, sqliteChannels } from './channels/sqlite.ts';
import type { QueryRecorder, RunningQuery } from './queries.ts';
import { subscribeToCalls } from './subscribe.ts';
import { isRecord } from '../profiler/json.ts';

/** `run(1, 2)`, `run([1, 2])`, `run({ id: 1 })`. */
function bindingsOf(args: readonly unknown[]): unknown {
  const [first] = args;
  const isNamed = isRecord(first) && !ArrayBuffer.isView(first);
  return isNamed && args.length === 1 ? first : args.flat();
}

function rowsOf({ method, result }: SqliteQuery): number | null {
  if (method === 'all') return Array.isArray(result) ? result.length : null;
  if (method === 'get') return result === undefined ? 0 : 1;
  if (method === 'iterate') return typeof result === 'number' ? result : null;
  const changes: unknown = (result as { changes?: unknown } | null | undefined)?.changes;
  return typeof changes === 'number' || typeof changes === 'bigint' ? Number(changes) : null;
}

export function observeSqlite({ queries }: { queries: QueryRecorder }): { close(): void } {
  const running = new WeakMap<SqliteQuery, RunningQuery>();
  const undo = subscribeToCalls<SqliteQuery>(sqliteChannels.query, {
    start(message) {
      const { database, sql, args } = message;
      const query = queries.start({
        system: 'sqlite',
        sql,
        bindings: bindingsOf(args),
        connection: database,
        library: 'better-sqlite3',
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
  return { close: undo };
}
