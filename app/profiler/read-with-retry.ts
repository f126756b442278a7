/**
 * Reads a profile, and retries for a second while another process may still have to store it: the page may be requested from a
 * process that did not serve the request. Tokens that no process has leased yet, and those of this process, are not retried.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProfileStorage } from './storage.ts';
import type { TokenSource } from './token-source.ts';

/** Milliseconds before each retry: one second in all. */
const PAUSES = [20, 40, 80, 120, 160, 180, 200, 200];

export function createReadWithRetry(
  storage: ProfileStorage,
  tokens: Pick<TokenSource, 'leasedElsewhere'>,
): ProfileStorage['read'] {
  async function isLeasedElsewhere(token: string): Promise<boolean> {
    const number = tokens.leasedElsewhere(token);
    if (number === null || storage.leasedUntil === undefined) return false;
    return number < (await storage.leasedUntil());
  }

  return async (token, options) => {
    const found = await storage.read(token, options);
    if (found !== null || !(await isLeasedElsewhere(token))) return found;
    for (const pause of PAUSES) {
      await sleep(pause);
      const arrived = await storage.read(token, options);
      if (arrived !== null) return arrived;
    }
    return null;
  };
}
