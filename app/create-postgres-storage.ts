/** The storage as a host makes it: writes in a thread, with a connection like those of the host's pool. */
import { startWorker } from './paths.ts';
import type { ProfileStorage } from './profiler/storage.ts';
import { connectionOf } from './storage/knex-connection.ts';
import {
  createPostgresStorage as createStorage,
  type PostgresStorageOptions,
} from './storage/postgres-profile-storage.ts';

export interface HostStorageOptions extends Omit<PostgresStorageOptions, 'thread'> {
  /**
   * Write in a thread with a connection of its own, beside those of the pool; default: true. Where the pool's settings
   * can't be had for a thread (functions in them, an `afterCreate`), profiles are written on the pool.
   */
  thread?: boolean;
}

export function createPostgresStorage({ thread = true, ...options }: HostStorageOptions): ProfileStorage {
  if (!thread) return createStorage(options);
  return createStorage({
    ...options,
    thread: {
      start: (data) => startWorker('storage/writer-thread', data),
      connection: async () => connectionOf(await options.knex()),
    },
  });
}
