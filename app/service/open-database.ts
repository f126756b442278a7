/**
 * Opens the database of the service: the owner's PostgreSQL or the embedded one. If neither is available, profiles are stored in
 * files, and the log says so. Loaded and opened after the service listens (database-access.ts); no request waits for it.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Redactor } from '../profiler/masking/redact.ts';
import type { Context } from '../profiler/record/context.ts';
import type { Config } from '../config.ts';
import { createPostgresStorage } from '../compose/create-postgres-storage.ts';
import { openFiles } from '../compose/open-files.ts';
import { createDatabase, type Database } from './database/connection.ts';
import { type ConnectionSettings, settingsOf, withTimeouts } from '../database/connection-settings.ts';
import { type EmbeddedServer, startEmbeddedPostgres } from './database/embedded-postgres/index.ts';
import { ownerMigrationsFolder } from '../database/migration-source.ts';
import { createMigrationReader, type MigrationReader } from './database/migration-state.ts';
import { createPrepare } from './database/prepare.ts';
import { reasonOf } from './database/reach.ts';
import { OWNER_VERSION_TABLE } from '../database/run-migrations.ts';
import { DatabaseUnavailableError } from './database/unavailable.ts';
import { appendMigrations } from './migrations-panel.ts';
import type { Store } from '../profiler/store/store.ts';

export interface DatabaseAccessOptions {
  config: Config;
  redactor: Redactor;
  log: (sentence: string) => void;
  migrationsFolder?: string;
  retryMs?: number;
  onKnex: (knex: Knex) => void;
  onStorage: (store: Store) => void;
}

export interface DatabaseAccess {
  knex(): Knex;
  /**
   * Starts or finds the server and begins to connect. Resolves when the database is ready for the first time, or when there is no
   * database to wait for.
   */
  open(): Promise<void>;
  connection(): Promise<ConnectionSettings>;
  readMigrations(context: Context): void;
  close(): Promise<void>;
}

const CONNECT_MS = 5000;
const MINUTE = 60_000;
const MOST_IN_FILES = 512 * 1024 * 1024;

export function openDatabaseAccess(options: DatabaseAccessOptions): DatabaseAccess {
  const { config, redactor, log } = options;
  const folder = options.migrationsFolder ?? ownerMigrationsFolder();
  const filesFolder = config.profiler.dir ?? join(config.varDir, 'profiles');
  let embedded: EmbeddedServer | null = null;
  let database: Database | null = null;
  let reader: MigrationReader | null = null;
  let pool: Knex | null = null;
  let missing = 'it is still being opened, try again in a moment';
  let closing = false;

  async function connection(): Promise<ConnectionSettings> {
    if (config.database !== null) return settingsOf(config.database);
    if (embedded === null) throw new DatabaseUnavailableError(`The database can't be used now: ${missing}.`);
    return embedded.ensure();
  }

  async function startEmbedded(say: (sentence: string) => void): Promise<boolean> {
    try {
      embedded = await startEmbeddedPostgres({ varDir: config.varDir, log: say });
    } catch (error) {
      missing = redactor.text(reasonOf(error));
      return false;
    }
    if (closing) await embedded.stop();
    return !closing;
  }

  function create(): Database {
    return createDatabase({
      connection,
      schema: config.schema,
      redact: redactor,
      log,
      onKnex: (knex) => {
        pool = knex;
        options.onKnex(knex);
      },
      prepare: createPrepare({
        schema: config.schema,
        profiler: config.debug,
        owner: config.env !== 'prod',
        ownerFolder: folder,
        redact: redactor,
        log,
      }),
    });
  }

  function createStorage(from: Database): Store {
    return createPostgresStorage({
      connection: async () => withTimeouts(await connection(), CONNECT_MS),
      schema: config.schema,
      say: log,
      dir: filesFolder,
      onUnusable: () => {
        from.mend();
      },
    });
  }

  function keepInFiles(): void {
    log(
      `Profiles are kept in files: ${missing}. ` +
        'Set DATABASE_URL to store them in a database; the embedded PostgreSQL is retried every minute.',
    );
    options.onStorage(
      openFiles({
        dir: filesFolder,
        mostBytes: MOST_IN_FILES,
        guard: config.profiler.password,
        warn: log,
      }),
    );
  }

  /** Connects the owner's pool as soon as there is a server. Profiles stay in the files, because those already stored refer to each other. */
  async function retryEmbedded(): Promise<void> {
    do await sleep(options.retryMs ?? MINUTE, undefined, { ref: false });
    while (!closing && !(await startEmbedded(() => undefined)));
    if (closing) return;
    log('The embedded PostgreSQL is available now; profiles of this process stay in files until it ends.');
    await connect();
  }

  /** Resolves when the database is ready for the first time, or to null if it is closed before. */
  async function connect(): Promise<Database | null> {
    missing = 'it is not ready yet';
    const opened = (database = create());
    reader = createMigrationReader({
      connection,
      schema: config.schema,
      table: OWNER_VERSION_TABLE,
      folder,
      redact: redactor,
    });
    opened.connect();
    return opened.ready.then(
      () => opened,
      () => null,
    );
  }

  return {
    connection,
    knex() {
      if (pool !== null) return pool;
      throw new DatabaseUnavailableError(`The database can't be used now: ${missing}.`);
    },
    async open() {
      // Takes 0.1 s to load, while the embedded server creates its folder.
      if (config.debug || config.database !== null) void import('knex').catch(() => undefined);
      if (!config.debug) {
        if (config.database === null) missing = 'DATABASE_URL is not set';
        else await (database = create()).load();
        return;
      }
      if (config.database === null && !(await startEmbedded(log))) {
        if (closing) return;
        keepInFiles();
        void retryEmbedded();
        return;
      }
      const ready = connect();
      // Before it is ready: what is recorded until then goes to the files.
      if (database !== null) options.onStorage(createStorage(database));
      await ready;
    },
    readMigrations(context) {
      if (reader !== null) appendMigrations(context, reader);
    },
    async close() {
      closing = true;
      await reader?.close();
      await database?.close();
      await embedded?.stop();
    },
  };
}
