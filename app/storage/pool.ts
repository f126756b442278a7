/** Connections of `pg`, lent for one piece of work, and transactions on them. */
import type pg from 'pg';
import type { PgSettings } from './pg-settings.ts';

export type Pool = pg.Pool;
/** A connection. */
export type Client = pg.ClientBase;

/** Connections at most: the one that writes, and what a page asks for. */
const MOST_CONNECTIONS = 3;
const IDLE_MS = 10_000;
/** A connection that a network or a failover has swallowed says nothing for a quarter of an hour. */
const STATEMENT_WITHIN_MS = 15_000;
/** `query_timeout` is not in pg's types. */
const ROLLBACK: pg.QueryConfig & { query_timeout: number } = { text: 'rollback', query_timeout: 1000 };

/** `settings` as `pg` takes them. */
export function createPool(PgPool: typeof pg.Pool, settings: PgSettings): Pool {
  const pool = new PgPool({
    ...settings,
    max: MOST_CONNECTIONS,
    idleTimeoutMillis: IDLE_MS,
    query_timeout: STATEMENT_WITHIN_MS,
  });
  // The pool removes an idle connection that breaks; an `error` event without a listener would end the thread.
  pool.on('error', () => undefined);
  return pool;
}

/** Lends a connection. After a failure it is closed: it may be within a transaction, or hang. */
export async function withClient<T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // While a connection is lent, the pool does not listen to it.
  const onError = (error: Error): void => {
    broken ??= error;
  };
  client.on('error', onError);
  let failed = true;
  try {
    const result = await work(client);
    failed = false;
    return result;
  } catch (error) {
    // Statements after what broke the connection fail without its reason.
    throw broken ?? error;
  } finally {
    client.off('error', onError);
    client.release(broken ?? failed);
  }
}

export async function rollback(client: Client): Promise<void> {
  await client.query(ROLLBACK).catch(() => undefined);
}

/** Runs `work` in a transaction whose statements may take `timeoutMs` each. */
export async function inTransaction<T>(
  client: Client,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  await client.query(`begin; set local statement_timeout = ${Math.trunc(timeoutMs)}`);
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await rollback(client);
    throw error;
  }
}

/** A name as it stands in SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Where a statement runs, and the schema that it names. */
export interface Store {
  pool: Pool;
  schema: string;
}

/** A table as it stands in SQL. */
export function tableIn(schema: string, name: string): string {
  return `${quoted(schema)}.${quoted(name)}`;
}
