/** `better-sqlite3`, `node:sqlite` and `sqlite3`, by the channel of channels/sqlite.ts. */
import { types } from 'node:util';
import { type SqliteQuery, sqliteChannels } from './channels/sqlite.ts';
import type { Driver } from './drivers.ts';
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

export const sqliteDriver: Driver<SqliteQuery> = {
  system: 'sqlite',
  library: 'better-sqlite3',
  query: sqliteChannels.query,
  describe: ({ library, database, sql, args }) => ({
    library,
    sql,
    bindings: bindingsOf(args, library),
    connection: database,
  }),
  outcome: (message) => ({ rows: rowsOf(message), error: message.error }),
};
