/** The storage in PostgreSQL, as a host and the service make it. Its thread starts with the first thing that it is asked for. */
import type { Knex } from 'knex';
import { startWorker } from '../paths.ts';
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
        knex: () => Knex | Promise<Knex>;
        connection?: undefined;
      }
    | {
        /** A URL, settings of `pg`, or what makes either when somebody connects. */
        connection: GivenConnection;
        knex?: undefined;
      }
  );

/** Throws at start where the Knex is there already and can't tell where it connects; one that is made later is asked then. */
function checkAtStart(knex: () => Knex | Promise<Knex>): void {
  let made: Knex | Promise<Knex>;
  try {
    made = knex();
  } catch {
    return;
  }
  if (typeof made === 'function') connectionOf(made);
  else made.catch(() => undefined);
}

/** Throws where the settings can't be used. */
export function createPostgresStorage({ knex, connection, ...settings }: HostStorageOptions): ProfileStorage {
  if (knex !== undefined) checkAtStart(knex);
  return create({
    ...settings,
    connection: async () => threadSettings(knex === undefined ? connection : connectionOf(await knex())),
    start: (options) => startWorker('storage/postgres-thread', options),
  });
}
