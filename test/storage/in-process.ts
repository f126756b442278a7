/** The storage in PostgreSQL without a thread of its own, which takes half a second to start from source; messages are the same. */
import { MessageChannel, type Worker } from 'node:worker_threads';
import type { Knex } from 'knex';
import type { OperationOptions } from '../../app/storage/operation-options.ts';
import {
  createPostgresStorage,
  type PostgresStorage,
  type StorageSettings,
} from '../../app/storage/postgres-profile-storage.ts';
import { serve } from '../../app/storage/postgres-thread.ts';
import type { TestConnection } from '../support/postgres.ts';
import { WITHIN_MS } from '../support/waiting.ts';

function startHere(options: OperationOptions): Worker {
  const { port1, port2 } = new MessageChannel();
  serve(port2, options);
  port1.once('close', () => port1.emit('exit', 0));
  const terminate = (): void => {
    port1.close();
  };
  return Object.assign(port1, { terminate }) as unknown as Worker;
}

/** A slow machine gets the time that it needs, unless `settings` are about that. */
export function createStorageInProcess(
  connection: TestConnection & { options?: string },
  settings: StorageSettings,
): PostgresStorage {
  return createPostgresStorage({
    findTimeoutMs: WITHIN_MS,
    replyTimeoutMs: WITHIN_MS,
    ...settings,
    connection: () => Promise.resolve({ ...connection }),
    start: startHere,
  });
}

/** Not by `truncate`, which makes new files of each partition and each of its indexes: ten times the work for a few rows. */
export async function emptyTables(knex: Knex, schema: string): Promise<void> {
  const tables = ['profiles', 'amendments', 'shared'].map((name) => `hindsight_${name}`);
  for (const table of tables) await knex.withSchema(schema).from(table).delete();
}
