/**
 * What the requests of this process did with each key of Redis, so that a miss can say how many came before it, and what became of the value
 * that was stored. Bounded; keys stay in memory, and records get numbers and places only.
 */
import { dropOldest } from '../../profiler/drop-oldest.ts';
import { editDistance } from '../../profiler/edit-distance.ts';
import { round } from '../../profiler/read/span.ts';
import { epochMs } from '../../profiler/record/clock.ts';

export interface MissPast {
  misses: number;
  sinceReadMs: number | null;
  storedMs: number | null;
  lifetimeMs: number | null;
  storedBy: string | null;
  deletedBy: string | null;
  lineMisses: number;
  /** What is another one in each of those keys; absent: it is not one single part, or a number or name. */
  changes?: { part: number; what: 'a time' | 'a UUID' | 'random characters' };
}

export interface SimilarKey {
  shape: string;
  storedBy: string | null;
}

/** Who wrote a key: the request and the line. */
export interface KeyWrite {
  by: string;
  place: string | null;
}

/** The key had an expiry, which a SET without one took from it. */
export interface RemovedExpiry {
  lifetimeMs: number;
  /** Until it would have run out; negative: since. */
  leftMs: number;
  set: KeyWrite;
  removed: KeyWrite;
}

export interface MissFact {
  /** It was found, but a deletion that deleted nothing had a key that looks like this one. */
  missedBy?: { place: string | null; ms: number };
  past?: MissPast;
  /** Requests that read the key before any of them had stored it; absent: this one alone. */
  together?: number;
  /** This command removed it, or found the key after it would have run out. */
  removedExpiry?: RemovedExpiry;
}

interface KeyPast {
  misses: number;
  readAt: number | null;
  stored: { at: number; lifetimeMs: number | null; by: string | null } | null;
  expiry: { lifetimeMs: number; endsAt: number; set: KeyWrite; removed: KeyWrite | null } | null;
  deletedBy: string | null;
  missedBy: { place: string | null; at: number } | null;
  /** Reads that found nothing since it was stored last, by token: a request would stay in memory with its bodies. */
  waiting: Map<string, { fact: MissFact; at: number }>;
}

interface LinePast {
  misses: number;
  key: string;
}

const MOST_KEYS = 2000;
const MOST_LINES = 200;
/** Milliseconds: what was read earlier is no part of a stampede. */
const TOGETHER_MS = 30_000;
const MOST_WAITING = 50;
const DAY_MS = 86_400_000;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const RANDOM = /^(?=.*\d)(?=.*[a-z])[0-9a-z_-]{16,}$/i;

function isTime(text: string, nowMs: number): boolean {
  if (/^\d{4}-\d\d-\d\dT\d\d/.test(text)) return true;
  const number = /^\d{10}$/.test(text) ? Number(text) * 1000 : /^\d{13}$/.test(text) ? Number(text) : 0;
  return Math.abs(number - nowMs) < DAY_MS;
}

function changeBetween(before: string, after: string): MissPast['changes'] {
  // Times have colons of their own.
  const [a, b] = [before, after].map((key) => key.replace(/(T\d\d):(\d\d):/, '$1-$2-').split(/[:/|]/));
  if (a === undefined || b?.length !== a.length) return undefined;
  const differing = b.flatMap((part, index) => (part === a[index] ? [] : [index]));
  const [at] = differing;
  const part = b[at ?? -1];
  if (at === undefined || part === undefined || differing.length > 1) return undefined;
  const now = epochMs();
  if (isTime(part, now) && isTime(a[at] ?? '', now)) return { part: at + 1, what: 'a time' };
  if (UUID.test(part)) return { part: at + 1, what: 'a UUID' };
  return RANDOM.test(part) ? { part: at + 1, what: 'random characters' } : undefined;
}

function partsOf(key: string): string[] {
  return key.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '');
}

function isValue(part: string): boolean {
  return /\d/.test(part);
}

/** Letters at which a misspelt word, or its plural, still looks the same. */
const MOST_EDITS = 2;

/** The same word in the plural. */
function isPlural(one: string, other: string): boolean {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return shorter.length > MOST_EDITS && (longer === `${shorter}s` || longer === shorter.replace(/y$/, 'ies'));
}

/** The same values, with words that are spelled in another way, come in another order, or have one more before or behind them. */
function looksLike(key: string, other: string): boolean {
  const [server, own = ''] = key.toLowerCase().split('\n');
  const [otherServer, theirs = ''] = other.toLowerCase().split('\n');
  if (server !== otherServer) return false;
  const [a, b] = [partsOf(own), partsOf(theirs)];
  const values = a.filter(isValue);
  if (values.length === 0) {
    // The last word is perhaps a value, and another one is another value.
    const other = a.flatMap((part, at) => (part === b[at] ? [] : [at]));
    const [at = a.length] = other;
    return (
      a.length === b.length && other.length === 1 && at < a.length - 1 && isPlural(a[at] ?? '', b[at] ?? '')
    );
  }
  if (Math.abs(a.length - b.length) > 1) return false;
  if (a.length === b.length) {
    const isNear = (part: string, at: number): boolean => {
      const near = b[at] ?? '';
      if (part === near || isValue(part) || isValue(near)) return part === near;
      return (
        Math.min(part.length, near.length) > MOST_EDITS && editDistance(part, near, MOST_EDITS) <= MOST_EDITS
      );
    };
    return a.every(isNear) || [...a].sort().join(' ') === [...b].sort().join(' ');
  }
  const [shorter, longer] = a.length < b.length ? [a, b] : [b, a];
  const isVersion = /^(?:v\d+|[a-z]{2})$/.test(longer.at(-1) ?? '');
  const isBehind = shorter.every((part, at) => part === longer[at]) && isVersion;
  return isBehind || shorter.every((part, at) => part === longer[at + 1]);
}

/** Its words; values may be another request's secrets. */
function shapeOf(key: string): string {
  return key
    .replace(/^.*\n/, '')
    .replace(/[\p{L}\p{N}]+/gu, (part) => (/^[a-z]{1,30}$/i.test(part) ? part : '…'));
}

/** `key`: server, a line break, and the key. */
export function createKeyHistory() {
  const keys = new Map<string, KeyPast>();
  const lines = new Map<string, LinePast>();

  function pastOf(key: string): KeyPast {
    const past = keys.get(key) ?? {
      misses: 0,
      readAt: null,
      stored: null,
      expiry: null,
      deletedBy: null,
      missedBy: null,
      waiting: new Map(),
    };
    keys.delete(key);
    keys.set(key, past);
    dropOldest(keys, MOST_KEYS);
    return past;
  }

  function missOfLine(line: string, key: string): Pick<MissPast, 'lineMisses' | 'changes'> {
    const before = lines.get(line);
    lines.delete(line);
    const isOther = before !== undefined && before.key !== key;
    const lineMisses = before === undefined ? 1 : isOther ? before.misses + 1 : before.misses;
    lines.set(line, { misses: lineMisses, key });
    dropOldest(lines, MOST_LINES);
    const changes = isOther ? changeBetween(before.key, key) : undefined;
    return { lineMisses, ...(changes === undefined ? {} : { changes }) };
  }

  function dropStale({ waiting }: KeyPast, now: number): void {
    for (const [token, { at }] of waiting) if (now - at > TOGETHER_MS) waiting.delete(token);
  }

  function isKept({ stored }: KeyPast, now: number): boolean {
    return stored !== null && (stored.lifetimeMs === null || now - stored.at < stored.lifetimeMs);
  }

  function removedExpiry({ expiry }: KeyPast, now: number): RemovedExpiry | null {
    if (expiry === null || expiry.removed === null) return null;
    const { lifetimeMs, endsAt, set, removed } = expiry;
    return { lifetimeMs, leftMs: round(endsAt - now), set, removed };
  }

  /** `lifetimeMs`: null takes the expiry away, undefined leaves it as it is. */
  function setExpiry(past: KeyPast, lifetimeMs: number | null | undefined, write: KeyWrite): void {
    const now = performance.now();
    const { expiry } = past;
    if (typeof lifetimeMs === 'number')
      past.expiry = { lifetimeMs, endsAt: now + lifetimeMs, set: write, removed: null };
    else if (lifetimeMs === null && expiry?.removed === null)
      past.expiry = now < expiry.endsAt ? { ...expiry, removed: write } : null;
  }

  return {
    read(
      key: string,
      { line, token, fact, isHit }: { line: string; token: string; fact: MissFact; isHit: boolean },
    ): void {
      const past = pastOf(key);
      const now = performance.now();
      const { readAt, stored, deletedBy } = past;
      past.readAt = now;
      if (isHit) {
        const { missedBy } = past;
        if (missedBy !== null) fact.missedBy = { place: missedBy.place, ms: round(now - missedBy.at) };
        const removed = removedExpiry(past, now);
        if (removed !== null && removed.leftMs < 0) fact.removedExpiry = removed;
        past.misses = 0;
        past.deletedBy = null;
        past.waiting.clear();
        lines.delete(line);
        return;
      }
      past.misses++;
      past.expiry = null;
      dropStale(past, now);
      if (past.waiting.size < MOST_WAITING) past.waiting.set(token, { fact, at: now });
      fact.past = {
        misses: past.misses,
        sinceReadMs: readAt === null ? null : round(now - readAt),
        storedMs: stored === null ? null : round(now - stored.at),
        lifetimeMs: stored?.lifetimeMs ?? null,
        storedBy: stored?.by ?? null,
        deletedBy,
        ...missOfLine(line, key),
      };
    },
    stored(
      key: string,
      lifetimeMs: number | null | undefined,
      { write, fact }: { write: KeyWrite; fact: MissFact },
    ): void {
      const past = pastOf(key);
      const now = performance.now();
      dropStale(past, now);
      const together = past.waiting.size;
      if (together > 1) for (const { fact } of past.waiting.values()) fact.together = together;
      past.waiting.clear();
      setExpiry(past, lifetimeMs, write);
      const removed = removedExpiry(past, now);
      if (removed?.removed === write) fact.removedExpiry = removed;
      past.stored = { at: now, lifetimeMs: lifetimeMs ?? null, by: write.place };
      past.deletedBy = null;
      past.missedBy = null;
    },
    kept(key: string, lifetimeMs: number | null, write: KeyWrite): void {
      const past = keys.get(key);
      if (past === undefined) return;
      // PERSIST is meant to take it away.
      if (lifetimeMs === null) past.expiry = null;
      else setExpiry(past, lifetimeMs, write);
      if (past.stored !== null) Object.assign(past.stored, { at: performance.now(), lifetimeMs });
    },
    deleted(key: string, count: number, by: string | null): SimilarKey | null {
      const past = keys.get(key);
      if (count > 0) {
        if (past !== undefined) Object.assign(past, { deletedBy: by, missedBy: null, expiry: null });
        return null;
      }
      const now = performance.now();
      for (const [other, one] of keys)
        if (other !== key && one.deletedBy === null && isKept(one, now) && looksLike(key, other)) {
          one.missedBy = { place: by, at: now };
          return { shape: shapeOf(other), storedBy: one.stored?.by ?? null };
        }
      return null;
    },
  };
}

export type KeyHistory = ReturnType<typeof createKeyHistory>;
