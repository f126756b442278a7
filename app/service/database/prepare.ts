/**
 * Prepares the database each time it becomes available or lacks the profiler's tables: runs the profiler's migrations and, in dev, the
 * owner's until they have succeeded once.
 *
 * A failed migration is reported once a minute and does not prevent the use of the database: requests are served, and the Migrations
 * panel and the storage say what is missing. Only a lost connection counts as an unavailable database.
 */
import type { Prepare } from './connection.ts';
import { withTimeouts } from '../../database/connection-settings.ts';
import {
  MigrationError,
  runOwnerMigrations,
  runProfilerMigrationsAt,
  type MigrationRun,
} from '../../database/run-migrations.ts';
import { messageOf, codeOf } from '../../errors.ts';

export interface PrepareOptions {
  schema: string;
  /** Whether the profiler records, and so needs its tables. */
  profiler: boolean;
  /** Whether to run the owner's migrations (dev); elsewhere the release process does. */
  owner: boolean;
  ownerFolder?: string;
  redact: { text(value: string): string };
  log: (sentence: string) => void;
}

const LOG_EVERY_MS = 60_000;
const CONNECT_MS = 5000;

/** SQLSTATEs of an unavailable server: connection, too many connections, shutdown. */
const AWAY = /^(08|53300|57P)/;

function isAway(error: unknown): boolean {
  const cause = error instanceof MigrationError ? error.cause : error;
  if (!(cause instanceof Error)) return false;
  const code = codeOf(cause);
  // Five characters are a SQLSTATE: the server was there to say it.
  return code.length === 5 && code !== 'EPIPE'
    ? AWAY.test(code)
    : code !== '' || /connection/i.test(cause.message);
}

export function createPrepare(options: PrepareOptions): Prepare {
  const { schema, redact, log, ownerFolder } = options;
  /** Sentences and when they were last reported. */
  const said = new Map<string, number>();
  let ownerRan = false;

  function complain(sentence: string): void {
    const before = said.get(sentence) ?? -Infinity;
    if (performance.now() - before < LOG_EVERY_MS) return;
    said.set(sentence, performance.now());
    log(sentence);
  }

  /** False if the migrations failed. */
  async function say(run: Promise<MigrationRun>, whose: string): Promise<boolean> {
    try {
      const { executed } = await run;
      if (executed.length > 0) log(`Ran ${whose} migrations: ${executed.join(', ')}.`);
      return true;
    } catch (error) {
      if (isAway(error)) throw error;
      complain(redact.text(messageOf(error)));
      return false;
    }
  }

  return async ({ owner, settings }, reason) => {
    if (options.profiler)
      await say(runProfilerMigrationsAt(withTimeouts(settings, CONNECT_MS), schema), "the profiler's");
    // If the schema is dropped while the service runs, the owner may be about to fill it: the owner's tables are not created.
    if (!options.owner || (ownerRan && reason === 'tables missing')) return;
    const folder = ownerFolder === undefined ? {} : { folder: ownerFolder };
    ownerRan = await say(runOwnerMigrations({ knex: owner, schema, ...folder }), "the application's");
  };
}
