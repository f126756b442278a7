/** `mysql2` and `mysql`, by the channels of channels/mysql.ts. */
import { type MysqlQuery, mysqlChannels } from '../channels/mysql.ts';
import { promisify, types } from 'node:util';
import { convert, sentJson } from '../../profiler/record/plain.ts';
import { isObject } from '../../profiler/record/safe-read.ts';
import { dateParts } from './date-parts.ts';
import { type Driver, serverText } from './drivers.ts';
import type { ExplainClient } from './explain.ts';
import { BINDING } from './statement.ts';

function rowsOf(result: unknown): number | null {
  if (Array.isArray(result)) return result.length;
  const count: unknown = (result as { affectedRows?: unknown } | null | undefined)?.affectedRows;
  return typeof count === 'number' ? count : null;
}

function foundIn(result: unknown): readonly unknown[] | undefined {
  return Array.isArray(result) && !Array.isArray(result[0]) ? result : undefined;
}

function warningsOf(result: unknown): number {
  const { warningStatus, warningCount } = (result ?? {}) as {
    warningStatus?: unknown;
    warningCount?: unknown;
  };
  const count = warningStatus ?? warningCount;
  return typeof count === 'number' ? count : 0;
}

/** What mysql2 and mysql have in common; none of it is documented: without it nobody is named. */
interface Pool {
  _allConnections?: { length: number; toArray?: () => object[] } & Iterable<object>;
  _freeConnections?: { length: number };
  config?: { connectionLimit?: number };
}

function inUse(pool: Pool): readonly object[] {
  const { _allConnections: all, _freeConnections: free, config } = pool;
  if (all === undefined || free?.length !== 0 || all.length < (config?.connectionLimit ?? Infinity))
    return [];
  return all.toArray?.() ?? [...all];
}

interface GivingPool extends Pool {
  getConnection(done: (error: Error | null, connection: Released) => void): void;
  _connectionQueue?: { length: number };
}

interface Released {
  release(): void;
  destroy(): void;
}

function explainClientOf(pool: GivingPool): ExplainClient {
  const free = (): number => pool._freeConnections?.length ?? 0;
  return {
    pool: {
      numFree: free,
      numUsed: () => (pool._allConnections?.length ?? 0) - free(),
      numPendingAcquires: () => pool._connectionQueue?.length ?? 0,
      ...(pool.config?.connectionLimit === undefined ? {} : { max: pool.config.connectionLimit }),
    },
    acquireConnection: () => promisify<Released>(pool.getConnection.bind(pool))(),
    releaseConnection(connection, failure) {
      if (failure === undefined) (connection as Released).release();
      else (connection as Released).destroy();
    },
  };
}

/** `SET ?` takes an object; a single value needs no list; an object by name (`:id`) only where no `?` is. */
function bindingsOf({ sql, values, isPrepared }: MysqlQuery): unknown {
  if (values === undefined || values === null || types.isProxy(values)) return [];
  const isNamed = isObject(values) && isPlain(values) && !sql.includes('?');
  if (isNamed) return values;
  const list: unknown[] = Array.isArray(values) ? values : [values];
  return isPrepared
    ? list.map((value) => (isObject(value) && isContainer(value) ? textOf(value) : value))
    : list;
}

function isPlain(value: object): boolean {
  return !types.isProxy(value) && !types.isDate(value) && !ArrayBuffer.isView(value);
}

function isContainer(value: object): boolean {
  return isPlain(value) && typeof value !== 'function';
}

/** As mysql2 sends a list or an object to a prepared statement. */
function textOf(value: object): unknown {
  const { json, isExact } = convert(value, BINDING);
  return isExact ? sentJson(json) : value;
}

/** The zone that a connection is set up for: `local`, `Z` or an offset. */
function dateWriterOf(connection: object): (date: Date) => string {
  const { config } = connection as { config?: { timezone?: unknown } };
  const zone = typeof config?.timezone === 'string' ? config.timezone : 'local';
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  const ahead = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  return (date) => {
    const { day, time } = dateParts(date, zone === 'local' ? -date.getTimezoneOffset() : ahead);
    return `${day} ${time}`;
  };
}

function serverOf(connection: object): string | undefined {
  const { config = {} } = connection as {
    config?: Partial<Record<'host' | 'port' | 'socketPath' | 'database', unknown>>;
  };
  const { host, port, socketPath, database } = config;
  return typeof socketPath === 'string'
    ? serverText(socketPath, undefined, database)
    : serverText(host, port, database);
}

export const mysqlDriver: Driver<MysqlQuery> = {
  system: 'mysql',
  library: 'mysql2',
  query: mysqlChannels.query,
  event: mysqlChannels.event,
  describe: (message) => ({
    connection: message.connection,
    sql: message.sql,
    bindings: bindingsOf(message),
    server: serverOf(message.connection),
    writeDate: dateWriterOf(message.connection),
  }),
  outcome: ({ result, error }) => ({
    rows: rowsOf(result),
    found: foundIn(result),
    warnings: warningsOf(result),
    insertedId: (result as { insertId?: unknown } | null | undefined)?.insertId,
    error,
  }),
  pool: {
    connect: mysqlChannels.connect,
    inUse,
    explained: (pool) => explainClientOf(pool as GivingPool),
  },
};
