/** Creates the store in PostgreSQL for hosts and for the service. It connects with the first call. */
import { createHash } from 'node:crypto';
import { createError, messageOf } from '../errors.ts';
import { requirePackage } from '../paths.ts';
import { createDeferredStore } from '../profiler/store/deferred-store.ts';
import type { HostKnex } from '../profiler/host-knex.ts';
import type { Store } from '../profiler/store/store.ts';
import { settledWithin } from '../profiler/timeouts.ts';
import type { MovedRecord } from '../storage/files/spill.ts';
import { connectionOf, type GivenConnection, settingsIn } from '../storage/pg-settings.ts';
import { createPostgresStore, type PostgresStoreSettings } from '../storage/postgres/postgres-store.ts';
import { type FilesOptions, openFiles, openSpill } from './open-files.ts';
import { runProfilerMigrations } from './run-profiler-migrations.ts';

export type HostStorageOptions = Omit<PostgresStoreSettings, 'onUnavailable' | 'onAvailable'> & {
  say?: (sentence: string) => void;
  /** Folder of what the database can't take; an empty text: none. Default: the folder of the project. */
  dir?: string | null;
} & (
    | {
        /** Provides the connection settings only; the profiler opens its own connections. */
        knex: () => HostKnex | Promise<HostKnex>;
        connection?: undefined;
      }
    | {
        /** A URL, settings of `pg`, or a function that returns either when a connection is opened. */
        connection: GivenConnection;
        knex?: undefined;
      }
  );

const RESTORE_EVERY_MS = 5000;
const RESTORED_WITHIN_MS = 1000;

/** Throws at start if the Knex exists already and has no usable connection settings; one that is created later is checked then. */
function checkAtStart(knex: () => HostKnex | Promise<HostKnex>): void {
  let made: HostKnex | Promise<HostKnex>;
  try {
    made = knex();
  } catch {
    return;
  }
  if (!('client' in made)) made.catch(() => undefined);
  else connectionOf(made);
}

function requireDriver(): void {
  try {
    requirePackage.resolve('pg');
  } catch {
    throw createError('BAD_CONFIG', [
      'createPostgresStorage',
      'needs the package pg, which is not installed; run `npm install pg`.',
    ]);
  }
}

async function move(store: Store, records: readonly MovedRecord[]): Promise<void> {
  await Promise.all(
    records.map(
      ({ row, text }) =>
        new Promise<void>((resolve, reject) => {
          const settled = (dropped: string | null): void => {
            if (dropped === null || dropped === 'token in use') resolve();
            else reject(new Error(dropped));
          };
          store.add([{ row, text, settled }]);
        }),
    ),
  );
  for (const { row, facts } of records)
    for (const [name, json] of facts) await store.amend(row.token, name, json);
}

export function createPostgresStorage(options: HostStorageOptions): Store {
  const { knex, connection, say = () => undefined, dir = null, ...settings } = options;
  requireDriver();
  if (knex !== undefined) checkAtStart(knex);
  const place = createHash('sha256').update(
    JSON.stringify([typeof connection === 'function' ? null : connection, settings.schema]),
  );
  const spill = openSpill({ dir, place: place.digest('hex').slice(0, 16), warn: say });
  let isSaid = false;
  const store = createPostgresStore({
    ...settings,
    connection: async () => settingsIn(knex === undefined ? connection : connectionOf(await knex())),
    ...(spill === undefined
      ? {}
      : {
          onUnavailable(items) {
            if (!isSaid)
              say('The profile database is unavailable; profiles are stored in files until it is back.');
            isSaid = true;
            spill.add(items);
          },
        }),
    onAvailable() {
      isSaid = false;
      restore();
    },
  });
  let restoring: Promise<void> | null = null;
  let isAskedAgain = false;

  function restore(): void {
    if (spill === undefined) return;
    isAskedAgain = restoring !== null;
    restoring ??= spill
      .restore((records) => move(store, records))
      .catch(() => undefined)
      .finally(() => {
        restoring = null;
        if (isAskedAgain) restore();
      });
  }

  if (spill === undefined) return store;
  // Also what a process left that has ended.
  const timer = setInterval(() => {
    if (!store.state.failing) restore();
  }, RESTORE_EVERY_MS).unref();
  return {
    ...store,
    get state() {
      return store.state;
    },
    async close(timeoutMs) {
      clearInterval(timer);
      await settledWithin(restoring ?? Promise.resolve(), RESTORED_WITHIN_MS);
      await store.close(timeoutMs);
      await spill.close(1000);
    },
    closeSync(setting) {
      store.closeSync(setting);
      spill.closeSync(setting);
    },
  };
}

const SCHEMA = 'hindsight';
/** Milliseconds that a page waits after the start while the tables are made or found. */
const READ_WITHIN_MS = 3000;

/** The store of an application: files that all its processes share, or PostgreSQL, if it asks for that. What is recorded waits while the tables are created; if that fails, it goes to the files. */
export function openHostStore(databaseUrl: string | null | undefined, files: FilesOptions): Store {
  if (databaseUrl === null || databaseUrl === undefined) return openFiles(files);
  const { warn } = files;
  const opened = createPostgresStorage({
    connection: databaseUrl,
    schema: SCHEMA,
    say: warn,
    dir: files.dir,
  });
  const store = createDeferredStore({ readWithinMs: READ_WITHIN_MS });
  runProfilerMigrations({ connection: databaseUrl, schema: SCHEMA }).then(
    () => {
      store.resolve(opened);
    },
    (error: unknown) => {
      warn(`Profiles are not stored in the database: ${messageOf(error)}`);
      store.resolve(openFiles(files));
      void opened.close(0);
    },
  );
  return store;
}
