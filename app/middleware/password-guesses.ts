/**
 * Counts wrong passwords by address, so that guessing becomes slow. Only different ones count: a browser that repeats an old password, or
 * the application's own, guesses nothing.
 */
import { isIPv6 } from 'node:net';

export interface PasswordGuesses {
  /** Milliseconds that a password from this address has to wait before it is compared; right ones, too, else the wait would tell them apart. */
  delayMs(address: string): number;
  /** `password`: a digest of it. */
  countWrong(address: string, password: string): void;
}

export interface PasswordGuessesOptions {
  warn: (sentence: string) => void;
  now?: () => number;
}

/** Wrong passwords without a wait: more than a person mistypes. */
const FREE = 10;
const FIRST_DELAY_MS = 250;
/** How long the owner waits at most, while somebody else guesses at the same address. */
const LONGEST_DELAY_MS = 2000;
/** Without a wrong password for this long, an address counts as new. */
const FORGET_AFTER_MS = 60_000;
/** Addresses counted; all others share one count, so that whoever has many addresses gains little by them. */
const MOST_ADDRESSES = 256;
const OTHERS = 'further addresses';

interface Entry {
  /** The latest wrong passwords. */
  passwords: Set<string>;
  count: number;
  lastAt: number;
}

/** Whoever has one IPv6 address has its whole /64. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const first = head.split(':').filter((part) => part !== '');
  const last = tail.split(':').filter((part) => part !== '');
  const zeros = address.includes('::') ? Array<string>(8 - first.length - last.length).fill('0') : [];
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}

export function createPasswordGuesses({ warn, now = Date.now }: PasswordGuessesOptions): PasswordGuesses {
  const entries = new Map<string, Entry>();
  let warnedAt = -Infinity;

  function forgetOld(): void {
    for (const [key, { lastAt }] of entries) if (now() - lastAt > FORGET_AFTER_MS) entries.delete(key);
  }

  /** The key under which an address is counted. */
  function keyOf(address: string): string {
    const network = networkOf(address);
    if (entries.has(network)) return network;
    if (entries.size >= MOST_ADDRESSES) forgetOld();
    return entries.size >= MOST_ADDRESSES ? OTHERS : network;
  }

  function warnOf(key: string, count: number): void {
    if (now() - warnedAt < FORGET_AFTER_MS) return;
    warnedAt = now();
    warn(
      `${count} wrong passwords for the profiler’s pages came from ${key}; further ones wait up to ${LONGEST_DELAY_MS / 1000} s.`,
    );
  }

  return {
    delayMs(address) {
      const entry = entries.get(keyOf(address));
      if (entry === undefined || entry.count < FREE || now() - entry.lastAt > FORGET_AFTER_MS) return 0;
      return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (entry.count - FREE));
    },
    countWrong(address, password) {
      const key = keyOf(address);
      let entry = entries.get(key);
      if (entry === undefined || now() - entry.lastAt > FORGET_AFTER_MS)
        entries.set(key, (entry = { passwords: new Set(), count: 0, lastAt: now() }));
      entry.lastAt = now();
      if (entry.passwords.has(password)) return;
      entry.passwords.add(password);
      for (const oldest of entry.passwords) {
        if (entry.passwords.size <= FREE) break;
        entry.passwords.delete(oldest);
      }
      if (++entry.count >= FREE) warnOf(key, entry.count);
    },
  };
}
