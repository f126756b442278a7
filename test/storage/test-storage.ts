/** The store in PostgreSQL for tests. */
import type { Knex } from 'knex';
import type { Store } from '../../app/profiler/store/store.ts';
import {
  createPostgresStore,
  type PostgresStoreSettings,
} from '../../app/storage/postgres/postgres-store.ts';
import type { TestConnection } from '../support/postgres.ts';
import { WITHIN_MS } from '../support/waiting.ts';

/** A slow machine gets the time that it needs, unless `settings` are about that. */
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
