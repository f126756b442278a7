/** `pg` and pg-pool, by the channels of channels/pg.ts. Slow statements of a pool are planned by it. */
import { types } from 'node:util';
import type pg from 'pg';
import { type PgQuery, pgChannels } from '../channels/pg.ts';
import { type Driver, serverText } from './drivers.ts';
import type { ExplainClient } from './explain.ts';
import { MOST_ROWS, rowsOf } from './statement.ts';
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

/** The first rows by column, as text where a column is a day: `pg` makes it a local midnight. */
function foundIn(result: unknown): readonly unknown[] | undefined {
  const { rows, fields = [] } = (result ?? {}) as Partial<pg.QueryResult<Record<string, unknown>>>;
  if (!Array.isArray(rows)) return undefined;
  return rows.slice(0, MOST_ROWS).map((row: unknown) => {
    if (typeof row !== 'object' || row === null) return row;
    const shown: Record<string, unknown> = Array.isArray(row)
      ? Object.fromEntries(fields.map(({ name }, at) => [name, row[at] as unknown]))
      : { ...row };
    for (const { name, dataTypeID } of fields) {
      const value = dataTypeID === DATE ? shown[name] : null;
      if (types.isDate(value)) shown[name] = dateParts(value, -value.getTimezoneOffset()).day;
    }
    return shown;
  });
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
  outcome: ({ result, error }) => ({ rows: rowsOf(result), found: foundIn(result), error }),
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
