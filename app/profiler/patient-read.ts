/**
 * Reads a profile from the storage, and waits for one that another process is about to store.
 *
 * A page or the toolbar may be asked of another process than the one that answered the request, before that one has
 * stored the profile: it does so within a second. So a token that is not stored is looked for again for that long, where
 * it comes from a lease of another process. An invented one is known for what it is by its number, which nobody has
 * leased yet, and is answered at once; so are the tokens of this process, whose profiles it would know.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProfileStorage } from './storage.ts';
import type { TokenSource } from './token-source.ts';

/** Milliseconds before each further look: a second in all. */
const PAUSES = [20, 40, 80, 120, 160, 180, 200, 200];

export function createPatientRead(
  storage: ProfileStorage,
  tokens: Pick<TokenSource, 'leasedElsewhere'>,
): ProfileStorage['read'] {
  async function mayArrive(token: string): Promise<boolean> {
    const number = tokens.leasedElsewhere(token);
    if (number === null || storage.leasedUntil === undefined) return false;
    return number < (await storage.leasedUntil());
  }

  return async (token, options) => {
    const found = await storage.read(token, options);
    if (found !== null || !(await mayArrive(token))) return found;
    for (const pause of PAUSES) {
      await sleep(pause);
      const arrived = await storage.read(token, options);
      if (arrived !== null) return arrived;
    }
    return null;
  };
}
