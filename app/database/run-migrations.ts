/**
 * Runs migrations: the profiler's own in one transaction, the owner's as Knex does, both behind an advisory lock that
 * ends with its transaction, so that several processes starting at once migrate once (also through pgbouncer).
 *
 * Failures become a MigrationError whose message is a sentence that says what to do. A Knex lock left behind by a
 * killed `knex migrate` is reported, not waited on.
 */
import type { Knex } from 'knex';
import { ensureSchema, type RunStatement } from './ensure-schema.ts';
import {
  createMigrationSource,
  ownerMigrationsFolder,
  profilerMigrationsFolder,
  type Migration,
} from './migration-source.ts';

export const OWNER_VERSION_TABLE = 'knex_migrations';
const PROFILER_VERSION_TABLE = 'hindsight_migrations';

/** Milliseconds to wait for another process that migrates. */
const LOCK_WAIT_MS = 60_000;
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
  /** Default: the folder that comes with the service. */
  folder?: string;
}

export interface MigrationRun {
  /** Names of the migrations that this run executed. */
  executed: string[];
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Knex puts the statement before the message. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const cut = codeOf(error) === undefined ? -1 : message.lastIndexOf(' - ');
  return cut === -1 ? message : message.slice(cut + 3);
}

async function forbidden(knex: Knex, schema: string, error: unknown): Promise<MigrationError> {
  const result = await knex.raw<{ rows: { role: string; database: string }[] }>(
    'select current_user as role, current_database() as database',
  );
  const { role = '', database = '' } = result.rows[0] ?? {};
  return new MigrationError(
    `The role "${role}" may not create the schema "${schema}" in the database "${database}" or tables in it ` +
      `(${reasonOf(error)}). Let an administrator run: create schema "${schema}" authorization "${role}"; ` +
      'or set DB_SCHEMA to a schema that the role owns.',
    error,
  );
}

async function explain(error: unknown, { knex, schema }: RunMigrationsOptions): Promise<unknown> {
  if (error instanceof MigrationError) return error;
  if (codeOf(error) === FORBIDDEN) return forbidden(knex, schema, error);
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

/** For statements whose values are written `$1`, in a transaction of Knex. */
function inTransaction(trx: Knex.Transaction): RunStatement {
  return (sql, values) => trx.raw<{ rows: unknown[] }>(sql.replaceAll(/\$\d/g, '?'), values);
}

/** Runs `work` while no other process migrates this schema. */
async function locked<T>(
  { knex, schema }: RunMigrationsOptions,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  return knex.transaction(async (trx) => {
    await trx.raw(`set local lock_timeout = ${LOCK_WAIT_MS}`);
    await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`hindsight migrate ${schema}`]);
    await trx.raw('set local lock_timeout = 0');
    return work(trx);
  });
}

async function migrate(knex: Knex, config: Knex.MigratorConfig): Promise<MigrationRun> {
  const [, executed] = (await knex.migrate.latest(config)) as [number, (string | Migration)[]];
  return { executed: executed.map((entry) => (typeof entry === 'string' ? entry : entry.name)) };
}

/** The profiler's own: all in one transaction, so that nothing half-done or locked is ever left behind. */
export async function runProfilerMigrations(options: RunMigrationsOptions): Promise<MigrationRun> {
  const { schema, folder = profilerMigrationsFolder() } = options;
  try {
    return await locked(options, async (trx) => {
      await ensureSchema(inTransaction(trx), schema);
      return migrate(trx, {
        migrationSource: createMigrationSource({ folder, options: { schema } }),
        schemaName: schema,
        tableName: PROFILER_VERSION_TABLE,
        // An older release on a newer database goes on: columns are only ever added.
        disableMigrationsListValidation: true,
      });
    });
  } catch (error) {
    throw await explain(error, options);
  }
}

/** The same on a connection that is opened for that alone; `connection`: settings of `pg`. */
export async function runProfilerMigrationsAt(
  connection: Record<string, unknown>,
  schema: string,
): Promise<MigrationRun> {
  const { default: createKnex } = await import('knex');
  const knex = createKnex({ client: 'pg', connection, pool: { min: 0, max: 1 } });
  try {
    return await runProfilerMigrations({ knex, schema });
  } finally {
    await knex.destroy();
  }
}

/**
 * The owner's, on other connections than the one that holds the lock, so that migrations which must not run in a
 * transaction (`create index concurrently`) work. The pool needs two connections.
 */
export async function runOwnerMigrations(options: RunMigrationsOptions): Promise<MigrationRun> {
  const { knex, schema, folder = ownerMigrationsFolder() } = options;
  try {
    await locked(options, (trx) => ensureSchema(inTransaction(trx), schema));
    return await locked(options, () =>
      migrate(knex, {
        migrationSource: createMigrationSource({ folder }),
        schemaName: schema,
        tableName: OWNER_VERSION_TABLE,
      }),
    );
  } catch (error) {
    throw await explain(error, options);
  }
}
