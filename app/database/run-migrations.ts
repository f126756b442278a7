/**
 * Runs migrations: the profiler's own in one transaction, the owner's by Knex. Both hold an advisory lock of a transaction, so that
 * processes that start together migrate once (also through pgbouncer).
 *
 * Failures become a MigrationError whose message says what to do. A Knex lock that a killed `knex migrate` left behind is reported at once.
 */
import type { Knex } from 'knex';
import type pg from 'pg';
import { requirePackage } from '../paths.ts';
import { createMigrationSource, ownerMigrationsFolder, type Migration } from './migration-source.ts';
import {
  ensureSchemaIn,
  LOCK_WAIT_MS,
  locked,
  type MigrationClient,
  type MigrationRun,
  migrateProfiler,
  migrationClientOf,
} from './profiler-migrations.ts';
import { messageOf, codeOf } from '../errors.ts';
import type { ConnectionSettings } from './connection-settings.ts';

export type { MigrationRun } from './profiler-migrations.ts';

export const OWNER_VERSION_TABLE = 'knex_migrations';
/** SQLSTATE: insufficient_privilege, lock_not_available. */
const FORBIDDEN = '42501';
const LOCK_TIMEOUT = '55P03';

export class MigrationError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'MigrationError';
  }
}

export interface RunMigrationsOptions {
  knex: Knex;
  schema: string;
}

export interface OwnerMigrationsOptions extends RunMigrationsOptions {
  /** Default: the folder that comes with the service. */
  folder?: string;
}

/** Removes the statement, which Knex puts before the message. */
function reasonOf(error: unknown): string {
  const message = messageOf(error);
  const cut = codeOf(error) === '' ? -1 : message.lastIndexOf(' - ');
  return cut === -1 ? message : message.slice(cut + 3);
}

async function forbidden(client: MigrationClient, schema: string, error: unknown): Promise<MigrationError> {
  const { rows } = await client.raw('select current_user as role, current_database() as database');
  const [{ role, database } = { role: '', database: '' }] = rows as { role: string; database: string }[];
  return new MigrationError(
    `The role "${role}" may not create the schema "${schema}" in the database "${database}" or tables in it ` +
      `(${reasonOf(error)}). Let an administrator run: create schema "${schema}" authorization "${role}"; ` +
      'or set DB_SCHEMA to a schema that the role owns.',
    error,
  );
}

async function explain(error: unknown, client: MigrationClient, schema: string): Promise<unknown> {
  if (error instanceof MigrationError) return error;
  if (codeOf(error) === FORBIDDEN) return forbidden(client, schema, error);
  if (codeOf(error) === LOCK_TIMEOUT) {
    return new MigrationError(
      `Another process has been migrating the schema "${schema}" for more than ${LOCK_WAIT_MS / 1000} s; ` +
        'wait for it or end it, then start again.',
      error,
    );
  }
  if (
    error instanceof Error &&
    (error.name === 'MigrationLocked' || error.message.includes('table is already locked'))
  ) {
    return new MigrationError(
      `The migrations of the schema "${schema}" are locked (${OWNER_VERSION_TABLE}_lock): a "knex migrate" is under ` +
        'way, or was killed. When none runs: npm run knex -- migrate:unlock.',
      error,
    );
  }
  return new MigrationError(`A migration failed in the schema "${schema}": ${reasonOf(error)}`, error);
}

async function migrate(knex: Knex, config: Knex.MigratorConfig): Promise<MigrationRun> {
  const [, executed] = (await knex.migrate.latest(config)) as [number, (string | Migration)[]];
  return { executed: executed.map((entry) => (typeof entry === 'string' ? entry : entry.name)) };
}

async function runProfiler(client: MigrationClient, schema: string): Promise<MigrationRun> {
  try {
    return await migrateProfiler(client, schema);
  } catch (error) {
    throw await explain(error, client, schema);
  }
}

/** The profiler's own. */
export function runProfilerMigrations({ knex, schema }: RunMigrationsOptions): Promise<MigrationRun> {
  return runProfiler(knex, schema);
}

/** Creates the schema where it is missing, on a separate connection. */
export async function ensureSchemaAt(settings: ConnectionSettings, schema: string): Promise<void> {
  const { Client } = requirePackage('pg') as typeof pg;
  const client = new Client({ ...settings });
  await client.connect();
  try {
    await ensureSchemaIn(migrationClientOf(client), schema);
  } finally {
    await client.end();
  }
}

/** Runs the profiler's migrations on a separate connection. `connection`: settings of `pg`. */
export async function runProfilerMigrationsAt(
  connection: Record<string, unknown>,
  schema: string,
): Promise<MigrationRun> {
  // Not a static import: a bundler would require a driver that a host may not have.
  const { Client } = requirePackage('pg') as typeof pg;
  const client = new Client(connection);
  // The running statement reports a broken connection; without a listener, the `error` event would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await runProfiler(migrationClientOf(client), schema);
  } catch (error) {
    throw await explain(error, migrationClientOf(client), schema);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** On another connection than the one that holds the lock, so that `create index concurrently` works. The pool needs two connections. */
export async function runOwnerMigrations(options: OwnerMigrationsOptions): Promise<MigrationRun> {
  const { knex, schema, folder = ownerMigrationsFolder() } = options;
  try {
    await locked(knex, schema, (trx) => ensureSchemaIn(trx, schema));
    return await locked(knex, schema, () =>
      migrate(knex, {
        migrationSource: createMigrationSource({ folder }),
        schemaName: schema,
        tableName: OWNER_VERSION_TABLE,
      }),
    );
  } catch (error) {
    throw await explain(error, knex, schema);
  }
}
