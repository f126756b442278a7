/** Creates the PostgreSQL storage for hosts and for the service. It connects with the first call. */
import { createError } from '../errors.ts';
import { requirePackage } from '../paths.ts';
import type { HostKnex } from '../profiler/host-knex.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import { connectionOf, type GivenConnection, settingsIn } from '../storage/pg-settings.ts';
import {
  createPostgresStorage as create,
  type StorageSettings,
} from '../storage/postgres-profile-storage.ts';

export type HostStorageOptions = StorageSettings &
  (
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

/** The driver is a peer dependency: a host that stores profiles in memory does not need it. */
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

/** Throws if the settings can't be used. */
export function createPostgresStorage(options: HostStorageOptions): ProfileStorage {
  const { knex, connection, ...settings } = options;
  requireDriver();
  if (knex !== undefined) checkAtStart(knex);
  return create({
    ...settings,
    connection: async () => settingsIn(knex === undefined ? connection : connectionOf(await knex())),
  });
}
