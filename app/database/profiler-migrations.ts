/**
 * Runs the profiler's own migrations on a Knex transaction or a connection of `pg`, so a host needs no Knex. The version table has Knex's
 * format. The migrations are listed here, not read from a folder, so that every bundle contains them.
 */
import type { Knex } from 'knex';
import * as profiles from '../../migrations/profiler/20261127000000_profiles.ts';
import { quoted } from '../storage/pool.ts';

/** `??` is replaced by a name, `?` by a value. */
interface MigrationTransaction {
  raw(sql: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>;
}

export interface MigrationClient extends MigrationTransaction {
  transaction<T>(work: (trx: MigrationTransaction) => Promise<T>): Promise<T>;
}

export interface MigrationRun {
  /** Names of the migrations that this run executed. */
  executed: string[];
}

const MIGRATIONS = Object.entries({ '20261127000000_profiles': profiles });
const VERSION_TABLE = 'hindsight_migrations';

/** Milliseconds to wait for another process that migrates. */
export const LOCK_WAIT_MS = 60_000;

/** Runs `work` in a transaction while no other process migrates this schema. */
export function locked<T>(
  client: MigrationClient,
  schema: string,
  work: (trx: MigrationTransaction) => Promise<T>,
): Promise<T> {
  return client.transaction(async (trx) => {
    await trx.raw(`set local lock_timeout = ${LOCK_WAIT_MS}`);
    await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`hindsight migrate ${schema}`]);
    await trx.raw('set local lock_timeout = 0');
    return work(trx);
  });
}

/** Checks first: `create schema if not exists` requires the right to create even if the schema exists. */
export async function ensureSchemaIn(trx: MigrationTransaction, schema: string): Promise<void> {
  const { rows } = await trx.raw('select 1 from pg_namespace where nspname = ?', [schema]);
  if (rows.length === 0) await trx.raw('create schema if not exists ??', [schema]);
}

async function executedIn(
  trx: MigrationTransaction,
  schema: string,
): Promise<{ names: string[]; batch: number }> {
  await trx.raw(
    `create table if not exists ??.?? (
      id serial primary key, name varchar(255), batch integer, migration_time timestamptz
    )`,
    [schema, VERSION_TABLE],
  );
  const { rows } = await trx.raw('select name, batch from ??.??', [schema, VERSION_TABLE]);
  const known = rows as { name: string; batch: number }[];
  return { names: known.map(({ name }) => name), batch: Math.max(0, ...known.map(({ batch }) => batch)) };
}

/** Runs all in one transaction, so that they succeed or fail together. An older release accepts a newer database. */
export function migrateProfiler(client: MigrationClient, schema: string): Promise<MigrationRun> {
  return locked(client, schema, async (trx) => {
    await ensureSchemaIn(trx, schema);
    const { names, batch } = await executedIn(trx, schema);
    const pending = MIGRATIONS.filter(([name]) => !names.includes(name));
    for (const [name, { up }] of pending) {
      await up(trx as unknown as Knex, { schema });
      await trx.raw('insert into ??.?? (name, batch, migration_time) values (?, ?, now())', [
        schema,
        VERSION_TABLE,
        name,
        batch + 1,
      ]);
    }
    return { executed: pending.map(([name]) => name) };
  });
}

/** A connection of `pg`, without its types: the package's own reach this file, and a host need not have them. */
interface PgConnection {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

export function migrationClientOf(connection: PgConnection): MigrationClient {
  const client: MigrationTransaction = {
    raw(sql, values = []) {
      const left = [...values];
      const bound: unknown[] = [];
      const text = sql.replace(/\?\??/g, (mark) => {
        if (mark === '??') return quoted(String(left.shift()));
        return `$${bound.push(left.shift())}`;
      });
      return connection.query(text, bound);
    },
  };
  return {
    ...client,
    async transaction(work) {
      await connection.query('begin');
      try {
        const result = await work(client);
        await connection.query('commit');
        return result;
      } catch (error) {
        await connection.query('rollback').catch(() => undefined);
        throw error;
      }
    },
  };
}
