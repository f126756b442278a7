/**
 * `sqlite3` -> channel `express-hindsight:sqlite:query`. A statement ends with its callback. The methods of a database call those of a
 * statement, so only the outer call is published: it alone learns that a statement can't be prepared.
 */
import { isRealError } from '../../profiler/record/safe-read.ts';
import type { LibraryPatch } from '../libraries.ts';
import { type SqliteQuery, sqliteChannels } from '../databases/sqlite.ts';
import { createInside, traceSync, tracedCallback } from './trace.ts';
import { allOf, wrapCalls, wrapMethod } from './wrap-method.ts';

type Callback = (this: unknown, ...args: unknown[]) => unknown;

interface Exports {
  Database?: { prototype: object };
  Statement?: { prototype: object };
}

const { query } = sqliteChannels;

const databases = new WeakMap<object, object>();

const published = createInside();

/** What becomes of an error without a callback: an event of the statement or database, which throws if nobody listens. */
function unheard(this: unknown, error: unknown): void {
  if (!isRealError(error)) return;
  const emitter = this as { emit?: (name: string, error: unknown) => void } | undefined;
  if (typeof emitter?.emit !== 'function') throw error;
  emitter.emit('error', error);
}

function splitArguments(
  method: string,
  args: readonly unknown[],
): { before: readonly unknown[]; last: Callback } {
  const last = args.at(-1);
  if (typeof last !== 'function') return { before: args, last: unheard };
  const isForRows = method === 'each' && typeof args.at(-2) !== 'function';
  if (!isForRows) return { before: args.slice(0, -1), last: last as Callback };
  return {
    before: args,
    last(error) {
      if (error !== null && error !== undefined) Reflect.apply(last, this, [error]);
    },
  };
}

function traced(message: SqliteQuery, args: readonly unknown[], call: (args: unknown[]) => unknown): unknown {
  const { before, last } = splitArguments(message.method, args);
  const over = tracedCallback(query, message, last);
  const ended: Callback = function (...results) {
    message.calledOn = this;
    return Reflect.apply(over, this, results);
  };
  return traceSync(query, message, () => call([...before, ended]));
}

function patchMethods(
  prototype: object | undefined,
  names: readonly string[],
  messageOf: (self: object, args: readonly unknown[]) => Pick<SqliteQuery, 'database' | 'sql' | 'args'>,
): ((() => void) | null)[] {
  return names.map((name) =>
    wrapMethod(
      prototype,
      name,
      (original) =>
        function (this: unknown, ...args) {
          if (published.isInside() || !query.start.hasSubscribers) return Reflect.apply(original, this, args);
          const message = { ...messageOf(this as object, args), library: 'sqlite3', method: name };
          return traced(message, args, (given) => published.run(() => Reflect.apply(original, this, given)));
        },
    ),
  );
}

function valuesIn(args: readonly unknown[]): unknown[] {
  return args.filter((one) => typeof one !== 'function');
}

export const sqlite3Patch: LibraryPatch = {
  name: 'sqlite3',
  patch(exports) {
    const { Database, Statement } = exports as Exports;
    return allOf(
      ...patchMethods(
        Database?.prototype,
        ['run', 'get', 'all', 'each', 'map', 'exec'],
        (database, [sql, ...args]) => ({ database, sql: String(sql), args: valuesIn(args) }),
      ),
      ...patchMethods(Statement?.prototype, ['run', 'get', 'all', 'each'], (statement, args) => ({
        database: databases.get(statement) ?? null,
        sql: String((statement as { sql?: unknown }).sql),
        args: valuesIn(args),
      })),
      wrapCalls(Database?.prototype, 'prepare', (call, database) => {
        const statement = published.run(call) as object;
        databases.set(statement, database);
        return statement;
      }),
    );
  },
};
