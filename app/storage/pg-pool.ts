/** Pools of connections of `pg` itself, with the statements that the storage uses. */
import type pg from 'pg';
import type { Pool, Statements } from './pool.ts';
import { type PgClient, quoted, sessionOf } from './session.ts';

interface PgPool extends Pool {
  /** Resolves when all its connections are closed; those that are lent are waited for. */
  end(): Promise<void>;
}

export interface PgPools {
  /** The same one until other settings are given, which are for `pg`. Nothing is connected before it is needed. */
  at(settings: Record<string, unknown>): Promise<Pool>;
  end(): Promise<void>;
}

/** Connections at most: what a page asks for, and one more. */
const MOST_CONNECTIONS = 2;
const IDLE_MS = 10_000;

interface Numbered {
  sql: string;
  values: unknown[];
}

/** `?` and `??` of Knex as pg has them: values by number, names in the text. */
export function numbered(sql: string, given: readonly unknown[]): Numbered {
  const values: unknown[] = [];
  let at = 0;
  const text = sql.replaceAll(/\\\?|\?\??/g, (mark) => {
    if (mark === '\\?') return '?';
    const value = given[at++];
    return mark === '??' ? quoted(String(value)) : `$${values.push(value)}`;
  });
  return { sql: text, values };
}

function statementsOf(client: Pick<pg.Pool | pg.PoolClient, 'query'>): Statements {
  return {
    async raw<T>(text: string, given: readonly unknown[] = []): Promise<T> {
      const { sql, values } = numbered(text, given);
      // Without values it may be several statements.
      return (await (values.length === 0 ? client.query(sql) : client.query(sql, values))) as T;
    },
  };
}

function createPgPool(Constructor: typeof pg.Pool, settings: Record<string, unknown>): PgPool {
  const pool = new Constructor({ ...settings, max: MOST_CONNECTIONS, idleTimeoutMillis: IDLE_MS });
  // An idle connection that breaks is not lent any more.
  pool.on('error', () => undefined);

  /** One whose work failed is not used again: it may be within a transaction, or hang. */
  async function lend<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    let failed = true;
    try {
      const result = await work(client);
      failed = false;
      return result;
    } finally {
      client.release(failed);
    }
  }

  return {
    ...statementsOf(pool),
    session: (work) => lend((client) => work(sessionOf(client as unknown as PgClient))),
    transaction: (work) =>
      lend(async (client) => {
        await client.query('begin');
        const result = await work(statementsOf(client));
        await client.query('commit');
        return result;
      }),
    end: () => pool.end(),
  };
}

/** `load` gives pg's own, when a pool is first asked for. */
export function createPgPools(load: () => typeof pg.Pool | Promise<typeof pg.Pool>): PgPools {
  let latest: { key: string; pool: Promise<PgPool> } | null = null;

  async function end(): Promise<void> {
    const old = latest;
    latest = null;
    await (await old?.pool)?.end();
  }

  async function open(settings: Record<string, unknown>): Promise<PgPool> {
    return createPgPool(await load(), settings);
  }

  return {
    at(settings) {
      const key = JSON.stringify(settings);
      if (latest?.key !== key) {
        end().catch(() => undefined);
        latest = { key, pool: open(settings) };
      }
      return latest.pool;
    },
    end,
  };
}
