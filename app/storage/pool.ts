/** A pool of `pg`: leases a connection for one piece of work, and runs transactions. */
import type pg from 'pg';
import type { PgSettings } from './pg-settings.ts';

export type Pool = pg.Pool;
export type Client = pg.ClientBase;

const MOST_CONNECTIONS = 3;
const IDLE_MS = 10_000;
/** Milliseconds without a reply. Without a limit, a connection lost by the network or a failover would hang for a quarter of an hour. */
const STATEMENT_WITHIN_MS = 15_000;
/** `query_timeout` is not in pg's types. */
const ROLLBACK: pg.QueryConfig & { query_timeout: number } = { text: 'rollback', query_timeout: 1000 };

export function createPool(PgPool: typeof pg.Pool, settings: PgSettings): Pool {
  const pool = new PgPool({
    ...settings,
    max: MOST_CONNECTIONS,
    idleTimeoutMillis: IDLE_MS,
    query_timeout: STATEMENT_WITHIN_MS,
    // An idle connection must not keep the application running.
    allowExitOnIdle: true,
  });
  // The pool removes an idle connection that breaks; an `error` event without a listener would end the process.
  pool.on('error', () => undefined);
  return pool;
}

export async function withClient<T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // The pool does not listen to leased connections.
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
    // Statements after the failure of the connection do not report its cause.
    throw broken ?? error;
  } finally {
    client.off('error', onError);
    client.release(broken ?? failed);
  }
}

async function rollback(client: Client): Promise<void> {
  await client.query(ROLLBACK).catch(() => undefined);
}

/** Runs `work` in a transaction whose statements may take `timeoutMs` each. `settings`: further statements at its begin. */
export async function inTransaction<T>(
  client: Client,
  timeoutMs: number,
  work: () => Promise<T>,
  settings = '',
): Promise<T> {
  await client.query(`begin; set local statement_timeout = ${Math.trunc(timeoutMs)}; ${settings}`);
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await rollback(client);
    throw error;
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export interface Store {
  pool: Pool;
  schema: string;
}

export function tableIn(schema: string, name: string): string {
  return `${quoted(schema)}.${quoted(name)}`;
}
