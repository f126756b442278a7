/** The storage of a host that passes none: a PostgreSQL, if a URL is set, else the memory of the process. */
import { ConfigError } from '../config.ts';
import { createDeferredStorage } from '../profiler/deferred-storage.ts';
import type { OtlpOptions } from '../export/otlp-exporter.ts';
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
  readUrl: string | null,
  warn: (sentence: string) => void,
  otlp?: OtlpOptions,
): ProfileStorage {
  if (url === null || url === undefined) {
    if (readUrl !== null) throw new ConfigError('createProfiler: readUrl', 'needs databaseUrl, too.');
    return createMemoryStorage();
  }
  const opened = createPostgresStorage({
    connection: url,
    ...(readUrl === null ? {} : { readConnection: readUrl }),
    schema: SCHEMA,
    say: warn,
    otlp,
  });
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
