/**
 * `better-sqlite3` and `node:sqlite` publish their statements, which they run while a method runs; these and those of `sqlite3`
 * (channels/sqlite3.ts) are described here.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import Module from 'node:module';
import { types } from 'node:util';
import { isRecord } from '../../profiler/json.ts';
import { publishCalls, publishEnd, publishError, type Traced, traceSync } from '../channels/trace.ts';
import { allOf, wrapCalls } from '../channels/wrap-method.ts';
import type { Driver } from './drivers.ts';
import type { LibraryPatch } from '../libraries.ts';
import { MOST_ROWS } from './statement.ts';

export interface SqliteQuery extends Traced {
  library: string;
  database: object | null;
  sql: string;
  args: readonly unknown[];
  method: string;
  statement?: Statement;
  /** Of a REPLACE: the rows that the connection has changed up to now. */
  changedRows?: () => number;
  changedBefore?: number;
  calledOn?: unknown;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

interface Statement {
  /** node:sqlite's, better-sqlite3's. */
  sourceSQL?: unknown;
  source?: unknown;
  database?: object;
  columns?: () => readonly { name: string }[];
}

/** node:sqlite has no frames of a package. */
const LIBRARY = 'better-sqlite3';

const query = tracingChannel('express-hindsight:sqlite:query');

export const sqliteChannels = { query };

/** The database of each statement of node:sqlite, because the statement lacks it. */
const databases = new WeakMap<object, object>();

const REPLACES = /^\s*(?:insert\s+or\s+)?replace\b/i;

/** Of each database, the statement that says how many rows its connection has changed. */
const totals = new WeakMap<object, object>();

function totalOf(database: object): object {
  const known = totals.get(database);
  if (known !== undefined) return known;
  // Not that of the object: an application may list there what it prepares.
  const { prepare } = Object.getPrototypeOf(database) as { prepare: (sql: string) => object };
  const total = Reflect.apply(prepare, database, ['select total_changes() as n']);
  totals.set(database, total);
  return total;
}

/** The rows that a REPLACE deletes are not in its number of changes, nor are those that go with them. `get` is not published. */
function countChanges(message: SqliteQuery, get: Method | undefined): SqliteQuery {
  const { database, method, sql } = message;
  if (method !== 'run' || get === undefined || database === null || !REPLACES.test(sql)) return message;
  try {
    const total = totalOf(database);
    const changedRows = (): number => Number((Reflect.apply(get, total, []) as { n: unknown }).n);
    message.changedBefore = changedRows();
    message.changedRows = changedRows;
  } catch {
    // The statement says it, too, if the database is closed or busy.
  }
  return message;
}

function messageOf(statement: Statement, method: string, args: readonly unknown[]): SqliteQuery {
  const sql = statement.sourceSQL ?? statement.source;
  const database = statement.database ?? databases.get(statement) ?? null;
  return { library: LIBRARY, database, sql: typeof sql === 'string' ? sql : '', args, method, statement };
}

function patchStatement(prototype: object | undefined): (() => void)[] {
  const { get } = (prototype ?? {}) as { get?: Method };
  const undo = ['run', 'get', 'all'].map((name) =>
    publishCalls(prototype, name, query, (statement, args) =>
      countChanges(messageOf(statement, name, args), get),
    ),
  );
  const iterate = wrapCalls(prototype, 'iterate', (call, statement, args) =>
    query.start.hasSubscribers ? iterated(messageOf(statement, 'iterate', args), call) : call(),
  );
  return [...undo, iterate].filter((one) => one !== null);
}

function iterated(message: SqliteQuery, call: () => unknown): unknown {
  const rows = traceSync(query, message, call) as Record<'next' | 'return', Method | undefined>;
  let count = 0;
  const end = (): void => {
    message.result = count;
    publishEnd(query, message);
  };
  for (const name of ['next', 'return'] as const) {
    const method = rows[name];
    if (method === undefined) continue;
    const counted: Method = function (this: unknown, ...args) {
      try {
        const result = Reflect.apply(method, this, args) as { done?: boolean };
        if (result.done === true) end();
        else count++;
        return result;
      } catch (error) {
        publishError(query, message, error);
        end();
        throw error;
      }
    };
    rows[name] = counted;
  }
  return rows;
}

/** A statement that can't be prepared is never run. */
function patchPrepare(
  prototype: object | undefined,
  prepared: (statement: object, database: object) => void = () => undefined,
): (() => void) | null {
  return wrapCalls(prototype, 'prepare', (call, database, [sql]) => {
    try {
      const statement = call() as object;
      prepared(statement, database);
      return statement;
    } catch (error) {
      const message: SqliteQuery = {
        library: LIBRARY,
        database,
        sql: String(sql),
        args: [],
        method: 'prepare',
      };
      return traceSync(query, message, () => {
        throw error;
      });
    }
  });
}

function patchExec(prototype: object | undefined): (() => void) | null {
  return publishCalls(prototype, 'exec', query, (database, [sql]): SqliteQuery => ({
    library: LIBRARY,
    database,
    sql: String(sql),
    args: [],
    method: 'exec',
  }));
}

interface Addon {
  Statement: { prototype: object };
  StatementIterator: unknown;
}

/**
 * The class of statements is exported by the addon only, which the application loads with its first database; that brings us here again.
 * A database of our own, which has statements, too, would be collected, and with some versions of Node.js that ends the process.
 */
function loadedAddons(): Addon[] {
  const { _cache: loaded = {} } = Module as unknown as { _cache?: Record<string, NodeJS.Module | undefined> };
  return Object.keys(loaded).flatMap((file) => {
    if (!file.endsWith('.node')) return [];
    const addon = loaded[file]?.exports as Partial<Addon> | undefined;
    return addon?.Statement === undefined || addon.StatementIterator === undefined ? [] : [addon as Addon];
  });
}

interface Exports {
  prototype?: object;
  StatementSync?: { prototype: object };
  DatabaseSync?: { prototype: object };
}

export const sqlitePatches: readonly LibraryPatch[] = [
  {
    name: 'node:sqlite',
    patch(exports) {
      const { StatementSync, DatabaseSync } = exports as Exports;
      return allOf(
        ...patchStatement(StatementSync?.prototype),
        patchExec(DatabaseSync?.prototype),
        patchPrepare(DatabaseSync?.prototype, (statement, database) => {
          databases.set(statement, database);
        }),
      );
    },
  },
  {
    name: 'better-sqlite3',
    patch(exports) {
      const addons = loadedAddons();
      if (addons.length === 0) return null;
      const { prototype: database } = exports as Exports;
      const statements = addons.flatMap(({ Statement }) => patchStatement(Statement.prototype));
      return allOf(...statements, patchExec(database), patchPrepare(database));
    },
  },
];

function bindingsOf(args: readonly unknown[], library: string): unknown {
  const [first] = args;
  const isDate = types.isDate(first);
  const isNamed = isRecord(first) && !ArrayBuffer.isView(first) && !isDate;
  if (isNamed && args.length === 1) return first;
  const values = args.flatMap((one) => (types.isProxy(one) ? [one] : one));
  if (library === 'sqlite3')
    return values.map((value) => (types.isDate(value) ? Date.prototype.getTime.call(value) : value));
  // better-sqlite3 refuses a date; for node:sqlite, one at the front is an object without names.
  return isDate ? values.slice(1) : values;
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

/** Other statements still have that of the last INSERT. */
function insertedIdOf({ method, result, sql, calledOn }: SqliteQuery): unknown {
  if (method !== 'run' || !/^\s*(?:insert|replace)\b/i.test(sql)) return undefined;
  const { lastInsertRowid, lastID } = (calledOn ?? result ?? {}) as {
    lastInsertRowid?: unknown;
    lastID?: unknown;
  };
  return lastInsertRowid ?? lastID;
}

function alsoChanged(message: SqliteQuery): number {
  const { changedRows, changedBefore = 0, error } = message;
  const own = rowsOf(message);
  if (changedRows === undefined || error !== undefined || own === null) return 0;
  try {
    return changedRows() - changedBefore - own;
  } catch {
    return 0;
  }
}

function columnsOf(statement: Statement): readonly string[] {
  try {
    return statement.columns?.().map(({ name }) => name) ?? [];
  } catch {
    // The database may be closed by now.
    return [];
  }
}

/** A statement may be told to return lists (`raw`) or the first value (`pluck`) of each row. */
function byColumn(rows: readonly unknown[], statement: Statement | undefined): readonly unknown[] {
  const [first] = rows;
  if (statement === undefined || rows.length === 0) return rows;
  if (isRecord(first) && !ArrayBuffer.isView(first)) return rows;
  const names = columnsOf(statement);
  return rows
    .slice(0, MOST_ROWS)
    .map((row) => Object.fromEntries([row].flat().map((value, at) => [names[at] ?? at, value])));
}

function foundIn({ method, result, statement }: SqliteQuery): readonly unknown[] | undefined {
  if (method === 'get' && result !== undefined) return byColumn([result], statement);
  return method === 'all' && Array.isArray(result) ? byColumn(result, statement) : undefined;
}

export const sqliteDriver: Driver<SqliteQuery> = {
  system: 'sqlite',
  library: 'better-sqlite3',
  query,
  describe: ({ library, database, sql, args }) => ({
    library,
    sql,
    bindings: bindingsOf(args, library),
    connection: database,
  }),
  outcome: (message) => ({
    rows: rowsOf(message),
    found: foundIn(message),
    insertedId: insertedIdOf(message),
    alsoChanged: alsoChanged(message),
    error: message.error,
  }),
};
