/** The storage in PostgreSQL, as a host and the service make it. Its thread starts with the first thing that it is asked for. */
import { createError } from '../errors.ts';
import { requirePackage, startWorker } from '../paths.ts';
import type { HostKnex } from '../profiler/host-knex.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import { connectionOf, type GivenConnection, threadSettings } from '../storage/pg-settings.ts';
import {
  createPostgresStorage as create,
  type StorageSettings,
} from '../storage/postgres-profile-storage.ts';

export type HostStorageOptions = StorageSettings &
  (
    | {
        /** Asked where it connects; the profiler has connections of its own. */
        knex: () => HostKnex | Promise<HostKnex>;
        connection?: undefined;
      }
    | {
        /** A URL, settings of `pg`, or what makes either when somebody connects. */
        connection: GivenConnection;
        knex?: undefined;
      }
  );

/** Throws at start where the Knex is there already and can't tell where it connects; one that is made later is asked then. */
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

/** The driver is a peer: a host that keeps its profiles in memory installs none. */
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

/** Throws where the settings can't be used. */
export function createPostgresStorage({ knex, connection, ...settings }: HostStorageOptions): ProfileStorage {
  requireDriver();
  if (knex !== undefined) checkAtStart(knex);
  return create({
    ...settings,
    connection: async () => threadSettings(knex === undefined ? connection : connectionOf(await knex())),
    start: (options) => startWorker('storage/postgres-thread', options),
  });
}
