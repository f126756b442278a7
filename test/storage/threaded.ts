/** A storage in PostgreSQL whose writer's thread is up: the first batch only starts it and does not wait for it. */
import { once } from 'node:events';
import type { Knex } from 'knex';
import { startWorker } from '../../app/paths.ts';
import type { ProfileStorage } from '../../app/profiler/storage.ts';
import { createPostgresStorage, type StorageSettings } from '../../app/storage/postgres-profile-storage.ts';
import type { TestConnection } from '../support/postgres.ts';
import { profileOf } from './contract.ts';

export async function createThreadedStorage(
  options: StorageSettings & { knex: () => Knex },
  connection: TestConnection,
): Promise<ProfileStorage> {
  let up: Promise<unknown> | undefined;
  const storage = createPostgresStorage({
    ...options,
    thread: {
      start(data) {
        const worker = startWorker('storage/writer-thread', data);
        up = once(worker, 'message');
        return worker;
      },
      connection: () => Promise.resolve({ ...connection }),
    },
  });
  await storage.write([profileOf(0xffffff)]);
  await up;
  await options.knex().raw('delete from ??.hindsight_profiles where token = ?', [options.schema, 'ffffff']);
  return storage;
}
