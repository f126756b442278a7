/**
 * The release process: runs the owner's migrations and the profiler's, then exits: 0 when the database is up to date,
 * 1 with a sentence otherwise. It waits a little for a database that is just starting, never for one that refuses.
 */
import { printError } from './print.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, readConfig, type Config } from './config.ts';
import { describeSettings, settingsOf, type ConnectionSettings } from './database/connection-settings.ts';
import { EmbeddedPostgresError, startEmbeddedPostgres } from './service/database/embedded-postgres/index.ts';
import { reasonOf, tryDatabase } from './service/database/reach.ts';
import { runOwnerMigrations, runProfilerMigrations } from './database/run-migrations.ts';
import { createRedactor } from './profiler/masking/redact.ts';
import { codeOf } from './errors.ts';

/** Milliseconds a database that does not answer yet is waited for. */
const WAIT_MS = 20_000;
const TRY_MS = 5000;

export interface MigrateOptions {
  /** Default: read from the environment. */
  config?: Config;
  /** Default: stderr. */
  log?: (sentence: string) => void;
  /** Default: `migrations/` of the service. */
  folder?: string;
  waitMs?: number;
}

/** The options with all that is needed. */
type Settled = MigrateOptions & Required<Pick<MigrateOptions, 'config' | 'log'>>;

interface Target {
  settings: ConnectionSettings;
  release: () => Promise<void>;
}

async function findTarget({ config, log }: Settled): Promise<Target | null> {
  if (config.database !== null) {
    return { settings: settingsOf(config.database), release: () => Promise.resolve() };
  }
  if (!config.debug) return null;
  const server = await startEmbeddedPostgres({ varDir: config.varDir, log });
  return { settings: server.connection, release: () => server.stop() };
}

/** SQLSTATE of a server that is starting up; other answers of a server are final. */
function mayCome(error: unknown): boolean {
  const code = codeOf(error);
  return code === '57P03' || code.length !== 5;
}

async function waitFor(settings: ConnectionSettings, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      await tryDatabase(settings, TRY_MS);
      return;
    } catch (error) {
      if (!mayCome(error) || performance.now() > deadline) throw error;
    }
    await sleep(500);
  }
}

async function migrateDatabase(settings: ConnectionSettings, options: Settled): Promise<void> {
  const { config, log, folder } = options;
  const { default: openKnex } = await import('knex');
  const knex = openKnex({
    client: 'pg',
    connection: { ...settings },
    searchPath: [config.schema, 'public'],
    pool: { min: 0, max: 3 },
  });
  try {
    const own = { knex, schema: config.schema };
    const profiler = config.debug ? await runProfilerMigrations(own) : { executed: [] };
    const owner = await runOwnerMigrations({ ...own, ...(folder === undefined ? {} : { folder }) });
    const names = [...profiler.executed, ...owner.executed];
    log(
      names.length === 0
        ? `The schema "${config.schema}" of ${describeSettings(settings)} is up to date.`
        : `Migrated the schema "${config.schema}" of ${describeSettings(settings)}: ${names.join(', ')}.`,
    );
  } finally {
    await knex.destroy();
  }
}

function describeFailure(error: unknown, config: Config): string {
  const reason = reasonOf(error);
  if (error instanceof EmbeddedPostgresError) return `${reason}.`;
  const place = config.database === null ? '' : ` (${describeSettings(settingsOf(config.database))})`;
  return `The database${place} could not be migrated: ${reason}.`;
}

async function migrateTarget(options: Settled): Promise<void> {
  const target = await findTarget(options);
  if (target === null) {
    options.log(
      'No database is configured and debug is off: nothing to migrate. Set DATABASE_URL to have one.',
    );
    return;
  }
  try {
    await waitFor(target.settings, options.waitMs ?? WAIT_MS);
    await migrateDatabase(target.settings, options);
  } finally {
    await target.release();
  }
}

/** Returns the exit code. */
export async function migrate(options: MigrateOptions = {}): Promise<0 | 1> {
  const { log = (sentence: string) => printError(`${sentence}\n`) } = options;
  let config: Config;
  try {
    config = options.config ?? readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    log(error.message);
    return 1;
  }
  try {
    await migrateTarget({ ...options, config, log });
    return 0;
  } catch (error) {
    const { domain, schema, database } = config;
    const publicValues = [domain, schema, database?.host, database?.name, database?.user].filter(
      (value) => value !== undefined,
    );
    log(createRedactor({ secrets: config.secrets, publicValues }).text(describeFailure(error, config)));
    return 1;
  }
}
