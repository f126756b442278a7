/** Keeps what profiles refer to in the storage before they are, hourly while it is in use. */
import type { ProfileStorage, SharedPart } from './storage.ts';

/** The storage lets go of what was not kept for longer than this. */
const AGAIN_AFTER_MS = 3_600_000;
/** Ids remembered at most; an application has a handful, unless its routes change with each request. */
const REMEMBERED = 1000;

export interface SharedKeeper {
  /** Rejects where the storage does. */
  keep(profiles: readonly { shared: readonly SharedPart[] }[]): Promise<void>;
  /** The storage may have lost what was kept. */
  forget(): void;
}

export function createSharedKeeper(storage: Pick<ProfileStorage, 'keepShared'>): SharedKeeper {
  /** Moment of the monotonic clock by id. */
  const keptAt = new Map<string, number>();

  return {
    async keep(profiles) {
      const now = performance.now();
      const due = new Map<string, SharedPart>();
      for (const { shared } of profiles)
        for (const part of shared)
          if (now - (keptAt.get(part.id) ?? -Infinity) > AGAIN_AFTER_MS) due.set(part.id, part);
      if (due.size === 0) return;
      await storage.keepShared([...due.values()]);
      if (keptAt.size + due.size > REMEMBERED) keptAt.clear();
      for (const id of due.keys()) keptAt.set(id, now);
    },
    forget() {
      keptAt.clear();
    },
  };
}
