/**
 * The storage as a host makes it: writes in a thread, with a connection like those of the host's pool. It is loaded, and the
 * pool made, when it is first asked for something, which no answer waits for: two dozen modules and Knex less at a start.
 */
import { startWorker } from './paths.ts';
import type { ProfileStorage } from './profiler/storage.ts';
import type { PostgresStorageOptions } from './storage/postgres-profile-storage.ts';

export interface HostStorageOptions extends Omit<PostgresStorageOptions, 'thread'> {
  /**
   * Write in a thread with a connection of its own, beside those of the pool; default: true. Where the pool's settings
   * can't be had for a thread (functions in them, an `afterCreate`), profiles are written on the pool.
   */
  thread?: boolean;
}

async function openStorage({ thread = true, ...options }: HostStorageOptions): Promise<ProfileStorage> {
  const [{ createPostgresStorage: create }, { connectionOf }] = await Promise.all([
    import('./storage/postgres-profile-storage.ts'),
    import('./storage/knex-connection.ts'),
  ]);
  if (!thread) return create(options);
  return create({
    ...options,
    thread: {
      start: (data) => startWorker('storage/writer-thread', data),
      connection: async () => connectionOf(await options.knex()),
    },
  });
}

export function createPostgresStorage(options: HostStorageOptions): ProfileStorage {
  let opening: Promise<ProfileStorage> | null = null;
  const open = (): Promise<ProfileStorage> => (opening ??= openStorage(options));
  return {
    name: 'postgresql',
    write: async (profiles) => (await open()).write(profiles),
    keepShared: async (parts) => (await open()).keepShared(parts),
    readShared: async (ids) => (await open()).readShared(ids),
    amend: async (token, name, value) => (await open()).amend(token, name, value),
    read: async (token) => (await open()).read(token),
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
      await (await opening)?.close();
    },
  };
}
