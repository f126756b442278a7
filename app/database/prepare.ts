/**
 * What happens each time the database has come: the profiler's migrations, and in dev the owner's.
 *
 * A migration that fails is said in a sentence and does not keep the database from being used: requests are answered,
 * the Migrations panel says what is missing, and the storage says so too. Only a database that goes away meanwhile
 * counts as not reached.
 */
import type { Pools } from './connection.ts';
import {
  MigrationError,
  runOwnerMigrations,
  runProfilerMigrations,
  type MigrationRun,
} from './run-migrations.ts';

export interface PrepareOptions {
  schema: string;
  /** Whether the profiler records, and so needs its tables. */
  profiler: boolean;
  /** Whether to run the owner's migrations (dev); elsewhere the release process does. */
  owner: boolean;
  /** The owner's folder; default: the one that comes with the service. */
  ownerFolder?: string;
  redact: { text(value: string): string };
  log: (sentence: string) => void;
}

/** SQLSTATE classes of a server that is not there: connection, shutdown. */
const AWAY = /^(08|57P)/;

function isAway(error: unknown): boolean {
  const cause = error instanceof MigrationError ? error.cause : error;
  if (!(cause instanceof Error)) return false;
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  // Five characters are a SQLSTATE: the server was there to say it.
  return code.length === 5 && code !== 'EPIPE'
    ? AWAY.test(code)
    : code !== '' || /connection/i.test(cause.message);
}

export function createPrepare(options: PrepareOptions): (pools: Pools) => Promise<void> {
  const { schema, redact, log, ownerFolder } = options;

  async function say(run: Promise<MigrationRun>, whose: string): Promise<void> {
    try {
      const { executed } = await run;
      if (executed.length > 0) log(`Ran ${whose} migrations: ${executed.join(', ')}.`);
    } catch (error) {
      if (isAway(error)) throw error;
      log(redact.text(error instanceof Error ? error.message : String(error)));
    }
  }

  return async ({ owner, profiler }) => {
    if (options.profiler) await say(runProfilerMigrations({ knex: profiler, schema }), "the profiler's");
    if (!options.owner) return;
    const folder = ownerFolder === undefined ? {} : { folder: ownerFolder };
    await say(runOwnerMigrations({ knex: owner, schema, ...folder }), "the application's");
  };
}
