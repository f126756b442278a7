/**
 * The storage of a process that listens before its database is ready. Until then writes wait (the writer's queue is limited), and
 * everything else is rejected: reads for a page after `readWithinMs`, the rest immediately.
 */
import { createError } from '../errors.ts';
import type { ProfileStorage } from './storage.ts';
import { settledWithin } from './timeouts.ts';

export interface DeferredStorage extends ProfileStorage {
  /** Delegates everything to `storage` from now on. */
  resolve(storage: ProfileStorage): void;
}

export function createDeferredStorage({ readWithinMs = 0 }: { readWithinMs?: number } = {}): DeferredStorage {
  let actual: ProfileStorage | null = null;
  let arrive: (storage: ProfileStorage) => void = () => undefined;
  const arrival = new Promise<ProfileStorage>((resolve) => {
    arrive = resolve;
  });

  function now(): ProfileStorage {
    if (actual === null) throw createError('STORAGE_UNAVAILABLE', ['the database is not ready yet.']);
    return actual;
  }

  async function soon(): Promise<ProfileStorage> {
    if (actual === null && readWithinMs > 0) await settledWithin(arrival, readWithinMs);
    return now();
  }

  return {
    get name() {
      return actual?.name ?? 'not ready yet';
    },
    get isShared() {
      return actual?.isShared ?? true;
    },
    resolve(storage) {
      actual = storage;
      arrive(storage);
    },
    write: async (profiles) => (await arrival).write(profiles),
    storeShared: async (parts) => (await arrival).storeShared(parts),
    readShared: async (ids) => (await soon()).readShared(ids),
    amend: async (token, name, value) => now().amend(token, name, value),
    read: async (token, options) => (await soon()).read(token, options),
    find: async (query) => (await soon()).find(query),
    summarize: async (query) => (await soon()).summarize(query),
    routePercentiles: async (query) => (await soon()).routePercentiles(query),
    countsAndHistogram: async (query) => (await soon()).countsAndHistogram(query),
    clear: async () => (await soon()).clear(),
    readSetting: async (name) => now().readSetting(name),
    writeSetting: async (name, value) => now().writeSetting(name, value),
    purge: async (limits) => now().purge(limits),
    async leaseTokens(key, skip) {
      const storage = now();
      if (storage.leaseTokens === undefined) throw new Error('This storage leases no tokens.');
      return storage.leaseTokens(key, skip);
    },
    async formKey() {
      const storage = await soon();
      if (storage.formKey === undefined) throw new Error('This storage has no key for forms.');
      return storage.formKey();
    },
    leasedUntil: async () => now().leasedUntil?.() ?? 0,
    async close() {
      await actual?.close();
    },
  };
}
