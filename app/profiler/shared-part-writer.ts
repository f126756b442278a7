/** Stores shared parts before the profiles that refer to them, and again every hour while they are in use. */
import type { ProfileStorage, SharedPart } from './storage.ts';

/** The storage deletes shared parts that were not stored again for some hours. */
const AGAIN_AFTER_MS = 3_600_000;
/** Limit of the ids remembered. An application has few, unless its routes change with each request. */
const REMEMBERED = 1000;

export interface SharedPartWriter {
  /** Those of the profiles that are not stored, or were stored too long ago. */
  due(profiles: readonly { shared: readonly SharedPart[] }[]): SharedPart[];
  /** Rejects if the storage does. */
  store(profiles: readonly { shared: readonly SharedPart[] }[]): Promise<void>;
  /** The storage may have lost what was stored. */
  forget(): void;
}

export function createSharedPartWriter(storage: Pick<ProfileStorage, 'storeShared'>): SharedPartWriter {
  /** Moment of the monotonic clock by id. */
  const storedAt = new Map<string, number>();

  function dueAt(now: number, profiles: readonly { shared: readonly SharedPart[] }[]): SharedPart[] {
    const due = new Map<string, SharedPart>();
    for (const { shared } of profiles)
      for (const part of shared)
        if (now - (storedAt.get(part.id) ?? -Infinity) > AGAIN_AFTER_MS) due.set(part.id, part);
    return [...due.values()];
  }

  return {
    due: (profiles) => dueAt(performance.now(), profiles),
    async store(profiles) {
      const now = performance.now();
      const due = dueAt(now, profiles);
      if (due.length === 0) return;
      await storage.storeShared(due);
      if (storedAt.size + due.length > REMEMBERED) storedAt.clear();
      for (const { id } of due) storedAt.set(id, now);
    },
    forget() {
      storedAt.clear();
    },
  };
}
