/** Opens the store of an application: files that all its processes share, or PostgreSQL, if it asks for that. */
import { messageOf } from '../errors.ts';
import { createDeferredStore } from '../profiler/deferred-store.ts';
import type { Store } from '../profiler/store.ts';
import { createPostgresStorage } from './create-postgres-storage.ts';
import { type FilesOptions, openFiles } from './open-files.ts';
import { runProfilerMigrations } from './run-profiler-migrations.ts';

const SCHEMA = 'hindsight';
/** Milliseconds that a page waits after the start while the tables are made or found. */
const READ_WITHIN_MS = 3000;

/** What is recorded waits while the tables are created; if that fails, it goes to the files. */
export function openHostStore(databaseUrl: string | null | undefined, files: FilesOptions): Store {
  if (databaseUrl === null || databaseUrl === undefined) return openFiles(files);
  const { warn } = files;
  const opened = createPostgresStorage({
    connection: databaseUrl,
    schema: SCHEMA,
    say: warn,
    dir: files.dir,
  });
  const store = createDeferredStore({ readWithinMs: READ_WITHIN_MS });
  runProfilerMigrations({ connection: databaseUrl, schema: SCHEMA }).then(
    () => {
      store.resolve(opened);
    },
    (error: unknown) => {
      warn(`Profiles are not stored in the database: ${messageOf(error)}`);
      store.resolve(openFiles(files));
      void opened.close(0);
    },
  );
  return store;
}
