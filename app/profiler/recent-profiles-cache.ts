/**
 * The few profiles that were shown last: each panel of a page reads its profile again. This saves reading and parsing, never the
 * check that the stored version is still the same. Text first, objects from the second view: most profiles are viewed once.
 */
import type { Profile } from './profile.ts';

export interface CachedProfile {
  readonly token: string;
  readonly version: string;
  /** Its document. */
  readonly text: string;
  /** Completed; null until it is shown again. */
  profile: Profile | null;
}

export interface RecentProfilesCache {
  get(token: string): CachedProfile | undefined;
  set(cached: CachedProfile): void;
  delete(token: string): void;
}

/** The profile in view, and others in further tabs. */
const MOST = 4;
/** Characters of all documents; parsed, they take several times as much. */
const MOST_LENGTH = 300_000;

export function createRecentProfilesCache(): RecentProfilesCache {
  // An array instead of a Map: see open-list.ts.
  let all: CachedProfile[] = [];

  function others(token: string): CachedProfile[] {
    return all.filter((cached) => cached.token !== token);
  }

  return {
    get: (token) => all.find((cached) => cached.token === token),
    set(cached) {
      const before = others(cached.token);
      let room = MOST_LENGTH;
      all = (cached.text.length <= MOST_LENGTH ? [cached, ...before] : before).filter(({ text }, index) => {
        room -= text.length;
        return room >= 0 && index < MOST;
      });
    },
    delete(token) {
      if (all.length > 0) all = others(token);
    },
  };
}
