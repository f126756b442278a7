/** The storage of a host that passes none: a PostgreSQL, if a URL is set, else the memory of the process. */
import { createDeferredStorage } from '../profiler/deferred-storage.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import { createMemoryStorage } from '../storage/memory-profile-storage.ts';
import { createPostgresStorage } from './create-postgres-storage.ts';
import { runProfilerMigrations } from './run-profiler-migrations.ts';
import { messageOf } from '../errors.ts';

const SCHEMA = 'hindsight';
/** Milliseconds that a page waits after the start while the tables are made or found. */
const READ_WITHIN_MS = 3000;

/** Profiles are buffered while the tables are created; if that fails, they are stored in memory. */
export function createHostStorage(
  url: string | null | undefined,
  warn: (sentence: string) => void,
): ProfileStorage {
  if (url === null || url === undefined) return createMemoryStorage();
  const opened = createPostgresStorage({ connection: url, schema: SCHEMA });
  const storage = createDeferredStorage({ readWithinMs: READ_WITHIN_MS });
  runProfilerMigrations({ connection: url, schema: SCHEMA }).then(
    () => {
      storage.resolve(opened);
    },
    (error: unknown) => {
      warn(`profiles are stored in memory only: ${messageOf(error)}`);
      storage.resolve(createMemoryStorage());
      void opened.close();
    },
  );
  return storage;
}
