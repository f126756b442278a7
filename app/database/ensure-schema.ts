/** Creates the schema where it is missing. */
import type pg from 'pg';
import { requirePackage } from '../paths.ts';
import { quoted } from '../storage/pool.ts';
import type { ConnectionSettings } from './connection-settings.ts';

/** Runs a statement with values; implemented by `pg` and by a Knex transaction. */
export type RunStatement = (sql: string, values: string[]) => Promise<{ rows: unknown[] }>;

/** Checks first: `create schema if not exists` requires the right to create even if the schema exists. */
export async function ensureSchema(run: RunStatement, schema: string): Promise<void> {
  const found = await run('select 1 from pg_namespace where nspname = $1', [schema]);
  if (found.rows.length === 0) await run(`create schema if not exists ${quoted(schema)}`, []);
}

/** Opens a separate connection for it. */
export async function ensureSchemaAt(settings: ConnectionSettings, schema: string): Promise<void> {
  const { Client } = requirePackage('pg') as typeof pg;
  const client = new Client({ ...settings });
  await client.connect();
  try {
    await ensureSchema((sql, values) => client.query(sql, values), schema);
  } finally {
    await client.end();
  }
}
