/** `pg` and pg-pool, by the channels of channels/pg.ts. Slow statements of a pool are planned by it. */
import type pg from 'pg';
import { type PgQuery, pgChannels } from './channels/pg.ts';
import { type Driver, serverText } from './drivers.ts';
import type { ExplainClient } from './explain.ts';
import { rowsOf } from './statement.ts';
import { dateParts } from './date-parts.ts';

function explainClientOf(pool: pg.Pool): ExplainClient {
  return {
    dialect: 'postgresql',
    driverName: 'pg',
    pool: {
      numFree: () => pool.idleCount,
      numUsed: () => pool.totalCount - pool.idleCount,
      numPendingAcquires: () => pool.waitingCount,
      max: pool.options.max,
    },
    acquireConnection: () => pool.connect(),
    releaseConnection: (client, failure) => {
      (client as pg.PoolClient).release(failure !== undefined);
    },
  };
}

/** As pg sends it: a column without a time zone keeps the local time, and an object is JSON. */
function writeLocalDate(date: Date, isInObject: boolean): string {
  if (isInObject) return date.toISOString();
  const { day, time } = dateParts(date, -date.getTimezoneOffset());
  const offset = Math.abs(date.getTimezoneOffset());
  const [hours, minutes] = [Math.floor(offset / 60), offset % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${day}T${time}${date.getTimezoneOffset() > 0 ? '-' : '+'}${hours ?? ''}:${minutes ?? ''}`;
}

/** Type of PostgreSQL, whose days `pg` makes local midnights. */
const DATE = 1082;

function weekdaysOf(result: unknown): Record<string, number> | undefined {
  const { rows, fields } = (result ?? {}) as Partial<pg.QueryResult<Record<string, unknown>>>;
  const [row] = rows ?? [];
  if (row === undefined || rows?.length !== 1) return undefined;
  const days = (fields ?? []).flatMap(({ name, dataTypeID }): [string, number][] => {
    const value = dataTypeID === DATE ? row[name] : undefined;
    return value instanceof Date ? [[name, value.getDay()]] : [];
  });
  return days.length === 0 ? undefined : Object.fromEntries(days);
}

export const pgDriver: Driver<PgQuery> = {
  system: 'postgresql',
  library: 'pg',
  query: pgChannels.query,
  event: pgChannels.event,
  describe({ client, text, values }) {
    const { host, port, database } = client as Partial<Record<'host' | 'port' | 'database', unknown>>;
    return {
      sql: text,
      bindings: values,
      connection: client,
      server: serverText(host, port, database),
      writeDate: writeLocalDate,
    };
  },
  outcome: ({ result, error }) => ({ rows: rowsOf(result), weekdays: weekdaysOf(result), error }),
  pool: {
    connect: pgChannels.connect,
    /** `_clients` is not documented: without it nobody is named. */
    inUse(pool) {
      const { idleCount, totalCount, options, _clients } = pool as Partial<pg.Pool> & {
        _clients?: readonly object[];
      };
      const isExhausted = idleCount === 0 && (totalCount ?? 0) >= (options?.max ?? Infinity);
      return isExhausted ? (_clients ?? []) : [];
    },
    explained: (pool) => explainClientOf(pool as pg.Pool),
  },
};
