/**
 * A pool of connections of `pg` itself, with the statements that the storage uses.
 *
 * What lends is one of pg's own pools. Where other settings are given there is another one, and the one before ends when
 * nobody uses it any more: what goes on or waits there meanwhile does not fail.
 */
import type pg from 'pg';
import type { Pool, Statements } from './pool.ts';
import { type PgClient, quoted, sessionOf } from './session.ts';

/** Of `pg`. */
type Settings = Record<string, unknown>;

export interface PgPool extends Pool {
  /** For good. Resolves when all connections are closed; those that are lent are waited for. */
  end(): Promise<void>;
}

export interface PgPoolOptions {
  /** Gives pg's own, when a connection is first needed. */
  load: () => typeof pg.Pool | Promise<typeof pg.Pool>;
  /** Asked at each use; whoever gives them remembers them until they are refused. */
  settings: () => Settings | Promise<Settings>;
  /** There were none, or no connection could be made with them. */
  onRefused?: () => void;
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

function statementsOf(client: pg.PoolClient): Statements {
  return {
    async raw<T>(text: string, given: readonly unknown[] = []): Promise<T> {
      const { sql, values } = numbered(text, given);
      // Without values it may be several statements.
      return (await (values.length === 0 ? client.query(sql) : client.query(sql, values))) as T;
    },
  };
}

function isSame(a: Settings, b: Settings): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** One whose work failed is not used again: it may be within a transaction, or hang. */
async function lend<T>(client: pg.PoolClient, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const broken: Error[] = [];
  let failed = true;
  // The pool does not listen to one that is lent, and a connection may also break between two statements.
  const listen = (error: Error): void => {
    broken.push(error);
  };
  client.on('error', listen);
  try {
    const result = await work(client);
    failed = false;
    return result;
  } catch (error) {
    // Of later statements pg says only that the connection can't be asked.
    throw broken[0] ?? error;
  } finally {
    client.release(broken[0] ?? failed);
    client.off('error', listen);
  }
}

/** Connections with the same settings. */
function openSource(Constructor: typeof pg.Pool, settings: Settings) {
  const pool = new Constructor({
    ...settings,
    max: MOST_CONNECTIONS,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
  });
  // An idle connection that breaks is not lent any more.
  pool.on('error', () => undefined);
  let users = 0;
  let onUnused = (): void => undefined;

  async function connect(onRefused: () => void): Promise<pg.PoolClient> {
    try {
      return await pool.connect();
    } catch (error) {
      // Who has waited in vain for one that others use knows nothing of the settings.
      if (pool.totalCount < MOST_CONNECTIONS) onRefused();
      throw error;
    }
  }

  return {
    settings,
    async use<T>(work: (client: pg.PoolClient) => Promise<T>, onRefused: () => void): Promise<T> {
      users++;
      try {
        return await lend(await connect(onRefused), work);
      } finally {
        if (--users === 0) onUnused();
      }
    },
    /** Nobody comes after that. */
    async end(): Promise<void> {
      if (users > 0)
        await new Promise<void>((resolve) => {
          onUnused = resolve;
        });
      await pool.end();
    },
  };
}

export function createPgPool({ load, settings, onRefused = () => undefined }: PgPoolOptions): PgPool {
  let source: ReturnType<typeof openSource> | null = null;
  const endings = new Set<Promise<void>>();
  let ended = false;

  function leave(): void {
    if (source === null) return;
    const ending = source.end().finally(() => endings.delete(ending));
    ending.catch(() => undefined);
    endings.add(ending);
    source = null;
  }

  function refuseEnded(): void {
    if (ended) throw new Error('the storage is closed.');
  }

  async function ask(): Promise<Settings> {
    try {
      return await settings();
    } catch (error) {
      onRefused();
      throw error;
    }
  }

  async function using<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    refuseEnded();
    const Constructor = await load();
    const wanted = await ask();
    refuseEnded();
    if (source !== null && !isSame(source.settings, wanted)) leave();
    source ??= openSource(Constructor, wanted);
    return source.use(work, onRefused);
  }

  return {
    raw: (sql, values) => using((client) => statementsOf(client).raw(sql, values)),
    session: (work) => using((client) => work(sessionOf(client as unknown as PgClient))),
    transaction: (work) =>
      using(async (client) => {
        await client.query('begin');
        const result = await work(statementsOf(client));
        await client.query('commit');
        return result;
      }),
    async end() {
      ended = true;
      leave();
      await Promise.all(endings);
    },
  };
}
