/**
 * The database as the service holds it, before anything of a database is loaded: what it takes (forty modules, then
 * Knex, the driver and the embedded server) is of no use to the first answer, and would double the time until it.
 */
import type { Knex } from 'knex';
import type { Config } from '../config.ts';
import type { ConnectionSettings } from '../database/connection-settings.ts';
import { DatabaseUnavailableError } from '../database/unavailable.ts';
import type { Context } from '../profiler/context.ts';
import type { Redactor } from '../profiler/redact.ts';
import type { ProfileStorage } from '../profiler/storage.ts';

export interface DatabaseAccessOptions {
  config: Config;
  redactor: Redactor;
  log: (sentence: string) => void;
  /** Default: the service's own `migrations/`. */
  migrationsFolder?: string;
  /** Called once with the owner's pool, before anybody uses it. */
  onKnex: (knex: Knex) => void;
  /** Called once, when there is somewhere to keep profiles. */
  onStorage: (storage: ProfileStorage) => void;
}

export interface DatabaseAccess {
  /** The owner's pool; throws a 503 before it exists. */
  knex(): Knex;
  /**
   * Starts or finds the server and begins to connect. Resolves when the database is ready for the first time, or when
   * there is none to wait for; rejects where the embedded server should work and does not.
   */
  open(): Promise<void>;
  /** Where to connect; rejects while there is nowhere. */
  connection(): Promise<ConnectionSettings>;
  /** Starts the read of the migration table for a request, beside it. */
  readMigrations(context: Context): void;
  close(): Promise<void>;
}

export function createDatabaseAccess(options: DatabaseAccessOptions): DatabaseAccess {
  let loading: Promise<DatabaseAccess> | null = null;
  let loaded: DatabaseAccess | null = null;
  let closed = false;

  function load(): Promise<DatabaseAccess> {
    loading ??= import('./open-database.ts').then(
      ({ openDatabaseAccess }) => (loaded = openDatabaseAccess(options)),
    );
    return loading;
  }

  return {
    knex() {
      if (loaded !== null) return loaded.knex();
      throw new DatabaseUnavailableError("The database can't be used now: it is not opened yet.");
    },
    async open() {
      if (!closed) await (await load()).open();
    },
    connection: async () => (await load()).connection(),
    readMigrations(context) {
      loaded?.readMigrations(context);
    },
    async close() {
      closed = true;
      await (await loading)?.close();
    },
  };
}
