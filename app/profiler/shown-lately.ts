/**
 * The stored profiles that were shown last: whoever looks through the panels of one asks for it again with each. Of one that was shown once
 * its text is kept, from the second time on what was made of it: most are looked at once, and thousands of objects that live on for a
 * few pages are dearer to the collector than parsing one text more is.
 *
 * They save reading and parsing, never the question: the storage says by its version whether a document is still the same, so that
 * what was cleared, pruned or stored anew, by whichever process, is not shown as it was, and what lies beside it is always read.
 * Few are kept, and only final ones, since what runs is replaced soon. An array, no Map: see open-list.ts.
 */
import type { Profile } from './profile.ts';

export interface Shown {
  readonly token: string;
  readonly version: string;
  /** Its document. */
  readonly text: string;
  /** Completed; null until it is shown again. */
  profile: Profile | null;
}

export interface ShownLately {
  of(token: string): Shown | undefined;
  keep(shown: Shown): void;
  forget(token: string): void;
}

/** One that is looked at, others beside it in further tabs. */
const MOST = 4;
/** Characters of their documents: as objects they take some times that. */
const MOST_LENGTH = 300_000;

export function createShownLately(): ShownLately {
  let all: Shown[] = [];

  function others(token: string): Shown[] {
    return all.filter((shown) => shown.token !== token);
  }

  return {
    of: (token) => all.find((shown) => shown.token === token),
    keep(shown) {
      const before = others(shown.token);
      const isKept = shown.text.length <= MOST_LENGTH;
      let room = MOST_LENGTH;
      all = (isKept ? [shown, ...before] : before).filter(({ text }, index) => {
        room -= text.length;
        return room >= 0 && index < MOST;
      });
    },
    forget(token) {
      if (all.length > 0) all = others(token);
    },
  };
}
