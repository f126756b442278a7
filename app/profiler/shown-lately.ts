/**
 * The stored profiles that were shown last, completed: whoever looks through the panels of one asks for it again with each.
 *
 * They save reading and parsing, never the question: the storage says by its version whether a document is still the same, so that
 * what was cleared, pruned or stored anew, by whichever process, is not shown as it was, and what lies beside it is always read.
 * Few are kept, and only final ones, since what runs is replaced soon. An array, no Map: see open-list.ts.
 */
import type { Profile } from './profile.ts';

interface Shown {
  version: string;
  /** Characters of its document. */
  length: number;
  profile: Profile;
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
    return all.filter(({ profile }) => profile.token !== token);
  }

  return {
    of: (token) => all.find(({ profile }) => profile.token === token),
    keep(shown) {
      const before = others(shown.profile.token);
      const isKept = shown.length <= MOST_LENGTH && shown.profile.state === 'final';
      let room = MOST_LENGTH;
      all = (isKept ? [shown, ...before] : before).filter(({ length }, index) => {
        room -= length;
        return room >= 0 && index < MOST;
      });
    },
    forget(token) {
      if (all.length > 0) all = others(token);
    },
  };
}
