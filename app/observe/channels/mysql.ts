/**
 * `mysql2` and `mysql` -> channels `express-hindsight:mysql:query` and `express-hindsight:mysql:connect`. mysql2's own channels carry the
 * statement with the values written into it, and no connection: neither masking by column nor transactions could work.
 */
import { channel, tracingChannel } from 'node:diagnostics_channel';
import { publishThrow } from '../../profiler/record/context.ts';
import type { LibraryPatch } from '../libraries.ts';
import {
  markPoolQueries,
  publishEnd,
  publishError,
  publishPool,
  traceSync,
  type Traced,
  tracedCallback,
} from './trace.ts';
import { allOf, ownerOf, wrapCalls } from './wrap-method.ts';

export interface MysqlQuery extends Traced {
  connection: object;
  sql: string;
  values: unknown;
  /** `execute`: the values are sent apart, and none becomes a list or assignments. */
  isPrepared: boolean;
}

type Callback = (...args: unknown[]) => unknown;

interface Command {
  sql?: unknown;
  values?: unknown;
  onResult?: unknown;
  _callback?: unknown;
  emit?: (name: string, ...args: unknown[]) => boolean;
}

const query = tracingChannel('express-hindsight:mysql:query');
const connect = tracingChannel('express-hindsight:mysql:connect');

const event = channel('express-hindsight:mysql:event');

export const mysqlChannels = { query, connect, event };

/** Without a callback the end is an event. Listeners would change what an unheard error does. */
function watchEvents(message: MysqlQuery, command: Command): void {
  const { emit } = command;
  if (typeof emit !== 'function') return;
  let isOver = false;
  const tracedEmit: typeof emit = function (this: unknown, name, ...args) {
    return event.runStores(message, () => {
      // Nothing follows an error that nobody listens to.
      if ((name === 'error' || name === 'end') && !isOver) {
        isOver = true;
        if (name === 'error') publishError(query, message, args[0]);
        publishEnd(query, message);
      }
      return publishThrow(() =>
        Reflect.apply<unknown, [string, ...unknown[]], boolean>(emit, this, [name, ...args]),
      );
    });
  };
  command.emit = tracedEmit;
}

function tracedQuery(connection: object, args: unknown[], call: () => unknown, isPrepared: boolean): unknown {
  const [first, second] = args;
  const command = (typeof first === 'object' && first !== null ? first : {}) as Command;
  const sql = typeof first === 'string' ? first : command.sql;
  // A pool of mysql2 adds an empty list where the object has the values.
  const isSecond =
    typeof second !== 'function' && second !== undefined && !(isPrepared && Array.isArray(command.values));
  const message: MysqlQuery = {
    connection,
    sql: typeof sql === 'string' ? sql : '',
    values: isSecond ? second : command.values,
    isPrepared,
  };
  return tracedCommand(message, { args, command, call });
}

function tracedCommand(
  message: MysqlQuery,
  { args, command, call }: { args: unknown[]; command: Command; call: () => unknown },
): unknown {
  const at = args.findIndex((one) => typeof one === 'function');
  if (at !== -1) {
    args[at] = tracedCallback(query, message, args[at] as Callback);
    return traceSync(query, message, call);
  }
  for (const name of ['onResult', '_callback'] as const) {
    const callback = command[name];
    if (typeof callback !== 'function') continue;
    command[name] = tracedCallback(query, message, callback as Callback);
    return traceSync(query, message, call);
  }
  return traceSync(query, message, () => {
    const sent = call();
    watchEvents(message, sent as Command);
    return sent;
  });
}

function patchConnection(Connection: unknown, names: readonly string[]): (() => void) | null {
  const { prototype } = (Connection ?? {}) as { prototype?: object };
  return allOf(
    ...names.map((name) =>
      wrapCalls(ownerOf(prototype, name), name, (call, connection, args) =>
        query.start.hasSubscribers ? tracedQuery(connection, args, call, name === 'execute') : call(),
      ),
    ),
  );
}

interface Statement {
  query?: unknown;
  _connection?: object;
}

/** mysql2 does not export the class of prepared statements. The first one that a connection prepares has it. */
function patchStatements(Connection: unknown): (() => void) | null {
  const { prototype } = (Connection ?? {}) as { prototype?: object };
  let undo: (() => void) | null = null;
  const learn = (statement: unknown): void => {
    undo ??= wrapCalls(ownerOf(statement, 'execute'), 'execute', (call, self, args) => {
      const { query: sql, _connection: connection } = self as Statement;
      if (!query.start.hasSubscribers || typeof sql !== 'string' || connection === undefined) return call();
      const values = typeof args[0] === 'function' ? undefined : args[0];
      return tracedCommand({ connection, sql, values, isPrepared: true }, { args, command: {}, call });
    });
  };
  const restore = wrapCalls(ownerOf(prototype, 'prepare'), 'prepare', (call, _connection, args) => {
    const callback = args[1];
    if (typeof callback !== 'function') return call();
    const prepared = function (this: unknown, ...given: unknown[]): unknown {
      learn(given[1]);
      return Reflect.apply(callback, this, given) as unknown;
    };
    args[1] = prepared;
    return call();
  });
  return allOf(restore, () => undo?.());
}

function patchPool(Pool: unknown, names: readonly string[]): (() => void) | null {
  const { prototype } = (Pool ?? {}) as { prototype?: object };
  return publishPool(prototype, 'getConnection', connect, names);
}

interface Cluster {
  of(pattern: string): object;
}

/** A cluster chooses one of its pools, and hands it a query with a callback. Its class of choices is not exported. */
function patchCluster(PoolCluster: unknown): (() => void) | null {
  const chosen = new (PoolCluster as new () => Cluster)().of('*');
  return markPoolQueries(chosen, ['query', 'execute']);
}

export const mysqlPatches: readonly LibraryPatch[] = [
  {
    name: 'mysql2',
    file: 'lib/connection.js',
    patch: (Connection) =>
      allOf(patchConnection(Connection, ['query', 'execute']), patchStatements(Connection)),
  },
  { name: 'mysql2', file: 'lib/pool.js', patch: (Pool) => patchPool(Pool, ['query', 'execute']) },
  { name: 'mysql2', file: 'lib/pool_cluster.js', patch: patchCluster },
  // `mysql` loads these with its first connection.
  {
    name: 'mysql',
    file: 'lib/Connection.js',
    isLazy: true,
    patch: (Connection) => patchConnection(Connection, ['query']),
  },
  { name: 'mysql', file: 'lib/Pool.js', isLazy: true, patch: (Pool) => patchPool(Pool, ['query']) },
  {
    name: 'mysql',
    file: 'lib/PoolNamespace.js',
    isLazy: true,
    patch: (Namespace) => markPoolQueries((Namespace as { prototype: object }).prototype, ['query']),
  },
];
