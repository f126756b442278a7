/**
 * The storage as a host makes it: writes in a thread, with a connection like those of the host's pool. It is loaded, and the
 * pool made, when it is first asked for something, which no answer waits for: two dozen modules and Knex less at a start.
 *
 * Where the host has no Knex and says where to connect, all that goes on by itself is done in the thread, and pages are
 * read on connections of `pg`, which is loaded with the first page: 3 MB less that live while nobody looks.
 */
import type { Knex } from 'knex';
import type pg from 'pg';
import { createError } from '../errors.ts';
import { requirePackage, startWorker } from '../paths.ts';
import { settledWithin } from '../profiler/patience.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import type { GivenConnection } from '../storage/knex-connection.ts';
import type { StorageSettings } from '../storage/postgres-profile-storage.ts';

export type HostStorageOptions = StorageSettings & {
  /**
   * Write in a thread with a connection of its own, beside those of the pool; default: true. Where the pool's settings
   * can't be had for a thread (functions in them, an `afterCreate`), profiles are written on the pool.
   */
  thread?: boolean;
} & (
    | {
        /** The pool to use; asked for at each call, so that it may be made late. Whoever gave it closes it. */
        knex: () => Knex | Promise<Knex>;
        connection?: undefined;
      }
    | {
        /** Where there is no Knex: a URL, settings of `pg`, or what makes either when somebody connects. */
        connection: GivenConnection;
        knex?: undefined;
      }
  );

/** Milliseconds for connections to close; one that hangs is left. */
const CLOSE_WITHIN_MS = 1000;
/** Milliseconds for a host to say where to connect, before it is asked again. */
const SETTINGS_WITHIN_MS = 5000;

const startThread = (data: unknown): ReturnType<typeof startWorker> =>
  startWorker('storage/writer-thread', data);

async function openOnKnex(
  knex: () => Knex | Promise<Knex>,
  { thread = true, ...settings }: HostStorageOptions,
): Promise<ProfileStorage> {
  const [{ createPostgresStorage: create }, { connectionOf }] = await Promise.all([
    import('../storage/postgres-profile-storage.ts'),
    import('../storage/knex-connection.ts'),
  ]);
  const writes = { start: startThread, connection: async () => connectionOf(await knex()) };
  return create({ ...settings, pool: undefined, knex, ...(thread ? { thread: writes } : {}) });
}

async function openByItself(
  connection: GivenConnection,
  { thread = true, ...settings }: HostStorageOptions,
): Promise<ProfileStorage> {
  const [{ createPostgresStorage: create }, { settingsIn, threadSettings }, { createPgPool }, navigator] =
    await Promise.all([
      import('../storage/postgres-profile-storage.ts'),
      import('../storage/knex-connection.ts'),
      import('../storage/pg-pool.ts'),
      import('../storage/navigator.ts'),
    ]);
  const { answerWithin } = await import('../storage/unavailable.ts');
  /** Until they are refused: what makes them may take its time, or give another password each time. */
  let known: ReturnType<typeof settingsIn> | null = null;
  let Pool: typeof pg.Pool | null = null;
  /** Once: finding the package costs more than a statement. */
  function loadPool(): typeof pg.Pool {
    const takeAway = navigator.provideNavigator();
    try {
      return (requirePackage('pg') as typeof pg).Pool;
    } finally {
      takeAway();
    }
  }
  const pool = createPgPool({
    load: () => (Pool ??= loadPool()),
    settings: () => (known ??= answerWithin(settingsIn(connection), SETTINGS_WITHIN_MS)),
    onRefused() {
      known = null;
    },
  });
  const writes = {
    start: startThread,
    connection: async () => threadSettings(await settingsIn(connection)),
  };
  const storage = create({
    ...settings,
    knex: undefined,
    pool: () => pool,
    ...(thread ? { thread: writes } : {}),
  });
  return {
    ...storage,
    async close() {
      await storage.close();
      await settledWithin(pool.end(), CLOSE_WITHIN_MS);
    },
  };
}

function openStorage(options: HostStorageOptions): Promise<ProfileStorage> {
  return options.knex === undefined
    ? openByItself(options.connection, options)
    : openOnKnex(options.knex, options);
}

export function createPostgresStorage(options: HostStorageOptions): ProfileStorage {
  let opening: Promise<ProfileStorage> | null = null;
  let closed = false;
  /** Nothing is opened that nobody would close. */
  async function open(): Promise<ProfileStorage> {
    if (closed && opening === null) throw createError('STORAGE_UNAVAILABLE', ['the storage is closed.']);
    return (opening ??= openStorage(options));
  }
  return {
    name: 'postgresql',
    write: async (profiles) => (await open()).write(profiles),
    keepShared: async (parts) => (await open()).keepShared(parts),
    readShared: async (ids) => (await open()).readShared(ids),
    amend: async (token, name, value) => (await open()).amend(token, name, value),
    read: async (token, options) => (await open()).read(token, options),
    find: async (query) => (await open()).find(query),
    summarize: async (query) => (await open()).summarize(query),
    standing: async (query) => (await open()).standing(query),
    survey: async (query) => (await open()).survey(query),
    clear: async () => (await open()).clear(),
    readSetting: async (name) => (await open()).readSetting(name),
    writeSetting: async (name, value) => (await open()).writeSetting(name, value),
    purge: async (limits) => (await open()).purge(limits),
    async leaseTokens(key) {
      const storage = await open();
      if (storage.leaseTokens === undefined) throw new Error('This storage leases no tokens.');
      return storage.leaseTokens(key);
    },
    async formKey() {
      const storage = await open();
      if (storage.formKey === undefined) throw new Error('This storage has no key for forms.');
      return storage.formKey();
    },
    leasedUntil: async () => (await open()).leasedUntil?.() ?? 0,
    async close() {
      closed = true;
      await (await opening)?.close();
    },
  };
}
