/** Where a host's profiles go that names no storage: a PostgreSQL, by its URL alone, or the memory of the process. */
import { createDeferredStorage } from '../profiler/deferred-storage.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import { createMemoryStorage } from '../storage/memory-profile-storage.ts';
import { createPostgresStorage } from './create-postgres-storage.ts';
import { runProfilerMigrations } from './run-profiler-migrations.ts';

const SCHEMA = 'hindsight';

/** Profiles wait while the tables are made; where that fails, they stay in memory. */
export function createHostStorage(
  url: string | null | undefined,
  warn: (sentence: string) => void,
): ProfileStorage {
  if (url === null || url === undefined) return createMemoryStorage();
  const opened = createPostgresStorage({ connection: url, schema: SCHEMA, say: warn });
  const storage = createDeferredStorage();
  runProfilerMigrations({ connection: url, schema: SCHEMA }).then(
    () => {
      storage.resolve(opened);
    },
    (error: unknown) => {
      warn(`profiles are stored in memory only: ${error instanceof Error ? error.message : String(error)}`);
      storage.resolve(createMemoryStorage());
      void opened.close();
    },
  );
  return storage;
}
