/** The storage and the store in PostgreSQL for tests. */
import type { Knex } from 'knex';
import type { ProfileStorage } from '../../app/profiler/storage.ts';
import type { Store } from '../../app/profiler/store.ts';
import {
  createPostgresStore,
  type PostgresStoreSettings,
} from '../../app/storage/postgres/postgres-store.ts';
import { createPostgresStorage, type StorageSettings } from '../../app/storage/postgres-profile-storage.ts';
import type { TestConnection } from '../support/postgres.ts';
import { WITHIN_MS } from '../support/waiting.ts';

/** A slow machine gets the time that it needs, unless `settings` are about that. */
export function createTestStorage(
  connection: TestConnection & { options?: string },
  settings: StorageSettings,
): ProfileStorage {
  return createPostgresStorage({
    findTimeoutMs: WITHIN_MS,
    replyTimeoutMs: WITHIN_MS,
    ...settings,
    connection: () => Promise.resolve({ ...connection }),
  });
}

/** Not by `truncate`, which makes new files of each table and each of its indexes: ten times the work for a few rows. */
export async function emptyTables(knex: Knex, schema: string): Promise<void> {
  const tables = ['profiles', 'amendments', 'shared'].map((name) => `hindsight_${name}`);
  for (const table of tables) await knex.withSchema(schema).from(table).delete();
}

/** The same for the store. */
export function createTestStore(
  connection: TestConnection & { options?: string },
  settings: PostgresStoreSettings,
): Store {
  return createPostgresStore({
    replyTimeoutMs: WITHIN_MS,
    ...settings,
    connection: () => Promise.resolve({ ...connection }),
  });
}

export async function emptyStore(knex: Knex, schema: string): Promise<void> {
  for (const table of ['hindsight_profiles', 'hindsight_settings'])
    await knex.withSchema(schema).from(table).delete();
}
