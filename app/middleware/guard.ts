/**
 * Who may see recorded requests, on the profiler's pages and on error pages: by HTTP Basic password (RFC 7617), or by the host's own rule.
 * Without either, everyone who asks for a known host.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createError, type HindsightError } from '../errors.ts';
import { within } from '../profiler/timeouts.ts';
import { isProfilerTarget, isToolbarRequest } from '../urls.ts';
import { createPageHosts, type PageHostsOptions } from './page-hosts.ts';
import { isIPv6 } from 'node:net';

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

/** Makes guessing slow, by address. Only different passwords count: a browser that repeats an old one guesses nothing. */
export function createPasswordGuesses(warn: (sentence: string) => void, now = Date.now) {
  const entries = new Map<string, Entry>();
  let warnedAt = -Infinity;

  function forgetOld(): void {
    for (const [key, { lastAt }] of entries) if (now() - lastAt > FORGET_AFTER_MS) entries.delete(key);
  }

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
    /** Milliseconds that a password from this address has to wait before it is compared; right ones, too, else the wait would tell them apart. */
    delayMs(address: string): number {
      const entry = entries.get(keyOf(address));
      if (entry === undefined || entry.count < FREE || now() - entry.lastAt > FORGET_AFTER_MS) return 0;
      return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (entry.count - FREE));
    },
    countWrong(address: string, password: string): void {
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

interface GuardOptions extends PageHostsOptions {
  password: string | null;
  authorize?: ((req: IncomingMessage) => boolean | Promise<boolean>) | undefined;
  addressOf: (req: IncomingMessage) => string;
  /** Receives what `authorize` threw (its message is not for whoever was refused), and that somebody guesses the password. */
  warn: (sentence: string) => void;
  wait?: (ms: number) => Promise<unknown>;
}

export interface Guard {
  isSet: boolean;
  check(req: IncomingMessage): Promise<void>;
  maySee(req: IncomingMessage): boolean | Promise<boolean>;
}

type Verdict = HindsightError | null;

const AUTHORIZE_WITHIN_MS = 2000;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function passwordOf(header: string | undefined): string | null {
  const [, credentials] = /^Basic\s+([A-Za-z0-9+/=]+)$/i.exec(header ?? '') ?? [];
  if (credentials === undefined) return null;
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon === -1 ? null : pair.slice(colon + 1);
}

/** No challenge for the toolbar: the browser would ask for the password over a page of the application. */
function challengeOf(req: IncomingMessage): Record<string, string> {
  return isToolbarRequest(req) ? {} : { 'www-authenticate': 'Basic realm="Hindsight", charset="UTF-8"' };
}

export function createGuard(options: GuardOptions): Guard {
  const { password, authorize, addressOf, warn, wait = sleep } = options;
  const refusedHost = createPageHosts(options);
  const wanted = password === null ? null : digest(password);
  const guesses = createPasswordGuesses(warn);
  /** Each request is judged once, though its page and its error page both need to know. */
  const verdicts = new WeakMap<IncomingMessage, Promise<Verdict>>();

  function byPassword(req: IncomingMessage, expected: Buffer): Verdict | Promise<Verdict> {
    const refusal = (): Verdict => createError('UNAUTHORIZED', [], { headers: challengeOf(req) });
    const given = passwordOf(req.headers.authorization);
    if (given === null) return refusal();
    const known = verdicts.get(req);
    if (known !== undefined) return known;
    const address = addressOf(req);
    const judge = (): Verdict => {
      const sent = digest(given);
      if (timingSafeEqual(sent, expected)) return null;
      guesses.countWrong(address, sent.toString('base64'));
      return refusal();
    };
    const delayMs = guesses.delayMs(address);
    // The application's own error pages never wait: they are short while somebody guesses.
    if (delayMs > 0 && !isProfilerTarget(req.url ?? '')) return refusal();
    const verdict = delayMs > 0 ? wait(delayMs).then(judge) : judge();
    if (verdict !== null) verdicts.set(req, Promise.resolve(verdict));
    return verdict;
  }

  function byHost(req: IncomingMessage): Verdict {
    const host = refusedHost(req);
    return host === null ? null : createError('UNKNOWN_HOST', [host]);
  }

  async function ask(req: IncomingMessage, rule: NonNullable<typeof authorize>): Promise<Verdict> {
    const late = (): Error => new Error(`no decision within ${AUTHORIZE_WITHIN_MS / 1000} s`);
    try {
      const answer: unknown = await within(Promise.resolve(rule(req)), AUTHORIZE_WITHIN_MS, late);
      if (answer === true) return null;
    } catch (error) {
      warn(`authorize failed, and the profiler’s pages were refused: ${String(error)}`);
    }
    return createError('FORBIDDEN', []);
  }

  function verdictOf(req: IncomingMessage): Verdict | Promise<Verdict> {
    if (wanted !== null) return byPassword(req, wanted);
    if (authorize === undefined) return byHost(req);
    let verdict = verdicts.get(req);
    if (verdict === undefined) verdicts.set(req, (verdict = ask(req, authorize)));
    return verdict;
  }

  const isSet = wanted !== null || authorize !== undefined;
  return {
    isSet,
    async check(req) {
      const refusal = await verdictOf(req);
      if (refusal !== null) throw refusal;
    },
    maySee(req) {
      // The application's own routes answer for any host.
      if (!isSet && !isProfilerTarget(req.url ?? '')) return true;
      const verdict = verdictOf(req);
      return verdict instanceof Promise ? verdict.then((refusal) => refusal === null) : verdict === null;
    },
  };
}
