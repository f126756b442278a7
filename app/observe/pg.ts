/** `pg` and pg-pool -> facts `query`, by the channels of channels/pg.ts. Slow statements of a pool are planned by it. */
import type pg from 'pg';
import { type PgConnect, type PgQuery, pgChannels } from './channels/pg.ts';
import type { ExplainClient, Explainer } from './explain.ts';
import { type DriverObserverOptions, observePooled } from './pooled.ts';
import type { RunningQuery } from './queries.ts';
import { rowsOf } from './statement.ts';
import { dateParts } from './date-parts.ts';
import { subscribeTo } from './subscribe.ts';

export interface PgObserverOptions extends DriverObserverOptions {
  /** Plans slow statements after the response; omit to plan none. */
  explainer?: Explainer | undefined;
}

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

/** `_clients` is not documented: without it nobody is named. */
function inUse(pool: object | undefined): readonly object[] {
  const { idleCount, totalCount, options, _clients } = (pool ?? {}) as Partial<pg.Pool> & {
    _clients?: readonly object[];
  };
  const isExhausted = idleCount === 0 && (totalCount ?? 0) >= (options?.max ?? Infinity);
  return isExhausted ? (_clients ?? []) : [];
}

/** As pg sends it: a column without a time zone keeps the local time. */
function writeLocalDate(date: Date): string {
  const { day, time } = dateParts(date, -date.getTimezoneOffset());
  const offset = Math.abs(date.getTimezoneOffset());
  const [hours, minutes] = [Math.floor(offset / 60), offset % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${day}T${time}${date.getTimezoneOffset() > 0 ? '-' : '+'}${hours ?? ''}:${minutes ?? ''}`;
}

export function observePg({ explainer, ...options }: PgObserverOptions): { close(): void } {
  const pools = new WeakMap<object, ExplainClient>();
  /** By connection. A client that no pool of `pg` gave out can't be replaced by an idle one: its statements are not planned. */
  const poolOf = new WeakMap<object, ExplainClient>();

  function connected({ pool, result }: PgConnect): void {
    if (typeof result !== 'object' || result === null) return;
    const known = pools.get(pool) ?? explainClientOf(pool as pg.Pool);
    pools.set(pool, known);
    poolOf.set(result, known);
  }

  /** Text and values as executed, unmasked and whole: they stay in memory until the statement is planned. */
  function explain({ context, fact }: RunningQuery, { client: connection, text, values }: PgQuery): void {
    const client = poolOf.get(connection);
    if (fact === null || explainer === undefined || client === undefined) return;
    if ((fact.durationMs ?? 0) < explainer.overMs) return;
    const bindings: readonly unknown[] = Array.isArray(values) ? [...(values as unknown[])] : [];
    explainer.note({ context, fact, client, sql: text, bindings });
  }

  const observation = observePooled<PgQuery>({
    ...options,
    ...pgChannels,
    system: 'postgresql',
    library: 'pg',
    describe: ({ client, text, values }) => ({
      sql: text,
      bindings: values,
      connection: client,
      writeDate: writeLocalDate,
    }),
    outcomeOf: ({ result, error }) => ({ rows: rowsOf(result), error }),
    inUse: ({ pool }) => inUse(pool),
    onEnd: explain,
  });
  const unsubscribe =
    explainer === undefined ? undefined : subscribeTo(pgChannels.connect.asyncStart, connected);
  return {
    close() {
      unsubscribe?.();
      observation.close();
    },
  };
}
