/** A cache that saves no work, holds stale values, or is read too often. */
import { type Leaf, leavesIn, leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { type Overlap, overlapsOf } from '../panels/shared/overlap.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { type Command, fillOf, MISSES, storersAmong } from './shared/cache.ts';
import { endOf, type Kept, type Needs, type Rule } from './shared/kept.ts';
import { readsOf, textOf } from './shared/queries.ts';
import { areSequential, certainMs } from './shared/time.ts';
import { receivedBy } from '../panels/shared/received.ts';
import { brokeBy, count, duration, excerpt, placeText, requestText, shareOf } from './shared/wording.ts';

type Miss = Command & { past: NonNullable<Command['past']> };
type CachedChange = NonNullable<Command['changed']>;
type Given = Needs<'cache', 'database' | 'http_client' | 'request' | 'runtime'>;

/** Fewer reads of one line are a handful, not a loop. */
const MANY_READS = 5;
const VERY_MANY_READS = 20;
/** Share of the request above which a loop is bad. */
const HEAVY_SHARE = 0.2;

const cacheNPlusOne: Rule<Needs<'cache'>> = {
  name: 'cache-n-plus-one',
  needs: ['cache'],
  labels: ['N+1'],
  why: 'At least five reads of this request came from the same line, each for another key, and each waited for the one before it.',
  fix: 'Read all keys with one command (`MGET`, `HMGET`), or send the reads together in a pipeline.',
  find({ cache: { groups, items } }, { durationMs: wholeMs }) {
    return groups.flatMap(({ kind, command, members, durationMs, caller: place }, at) => {
      if (kind !== 'n+1' || members.length < MANY_READS) return [];
      const of = members.flatMap((index) => items[index] ?? []);
      if (!areSequential(of)) return [];
      const heavy =
        members.length >= VERY_MANY_READS || (wholeMs !== null && durationMs > wholeMs * HEAVY_SHARE);
      const sentence = `${count(members.length)} × ${command} of Redis, one after the other: ${shareOf(durationMs, wholeMs)}`;
      const severity = heavy ? 'bad' : 'warn';
      return [{ severity, sentence, anchor: `r${at + 1}`, costMs: durationMs, place }];
    });
  },
};

/** Work that only waits for nothing is no work worth a cache. */
const WORK_MS = 20;

/** The miss cost something: a statement or call ran, or some time went by, before the value was stored. */
function isWork({ database, http_client }: Given, read: Command, fill: Command): boolean {
  const isBetween = ({ startMs }: { startMs: number }): boolean =>
    startMs >= endOf(read) && startMs < fill.startMs;
  return (
    fill.startMs - endOf(read) >= WORK_MS ||
    (database?.queries.some(isBetween) ?? false) ||
    (http_client?.calls.some(isBetween) ?? false)
  );
}

/** Different keys may be read once each by chance. */
const LINE_MISSES = 6;

/** Why the read found nothing again; null: that is not known. */
function whyMissed({ past }: Miss): string | null {
  const { storedMs, lifetimeMs, sinceReadMs, storedBy, deletedBy } = past;
  if (storedMs === null) return null;
  const stored = `it was stored ${duration(storedMs)} before${placeText(storedBy)}`;
  if (deletedBy !== null) return `${stored}, and deleted since${placeText(deletedBy)}`;
  if (lifetimeMs === null || storedMs < lifetimeMs) return `${stored}, and was gone`;
  return `${stored} for ${duration(lifetimeMs)}, and was read ${duration(sinceReadMs ?? storedMs)} after the last read`;
}

/** A part of the key that is another one each time, and that the request did not bring. */
function changeOf({ past, key }: Miss, kept: Given, head: ProfileHead): string | null {
  const { changes, lineMisses } = past;
  if (changes === undefined || lineMisses < LINE_MISSES || past.misses > 1) return null;
  const part = key?.replace(/(T\d\d):(\d\d):/, '$1-$2-').split(/[:/|]/)[changes.part - 1] ?? '';
  if (changes.what !== 'a time' && receivedBy(head, kept).has(part)) return null;
  return `${changes.what} in its key is another one each time`;
}

const cacheSparesNothing: Rule<Given> = {
  name: 'cache-spares-nothing',
  needs: ['cache'],
  labels: ['cache never hits'],
  why: 'This read found nothing, as did the reads of the same key before it in this process (four in a row, or six of one line with another key each time), and the request did the work again and stored the result.',
  fix: 'Store the value for longer than the time between two reads. Build the key only from the data that the value depends on: no time, no random ID. Delete it only when that data changes.',
  find(kept, head) {
    return kept.cache.items.flatMap((read, index): FindingDraft[] => {
      if (read.past === undefined) return [];
      const miss = { ...read, past: read.past };
      const filled = fillOf(kept.cache.items, read);
      if (filled === null || !isWork(kept, read, filled.fill)) return [];
      const { misses, lineMisses } = miss.past;
      const change = changeOf(miss, kept, head);
      const why = change ?? (misses < MISSES ? null : whyMissed(miss));
      if (why === null) return [];
      const times = change === null ? misses : lineMisses;
      const sentence = `${read.command} found nothing ${count(times, 'time')} in a row: ${why}; the work after the miss took ${shareOf(filled.workMs, head.durationMs)}`;
      return [
        { severity: 'warn', sentence, anchor: `k${index + 1}`, costMs: filled.workMs, place: read.caller },
      ];
    });
  },
};

const cacheStampede: Rule<Given> = {
  name: 'cache-stampede',
  needs: ['cache'],
  labels: ['stampede'],
  why: 'Several requests of this process read the key before the first of them had stored it, and each did the work that the cache is there to spare.',
  fix: 'Let one request do the work, and the others wait for it: share its promise by the key, or take a lock (`SET lock:… NX PX 5000`). Renew popular values before they expire.',
  find(kept, { durationMs }, from) {
    return kept.cache.items.flatMap((read, index): FindingDraft[] => {
      const { together = 1, command, caller } = read;
      const filled = together < 2 ? null : fillOf(kept.cache.items, read);
      if (filled === null || filled.workMs < WORK_MS) return [];
      // Two may meet on a busy machine.
      if (together === 2 && certainMs(filled.workMs, from.time) < WORK_MS) return [];
      const sentence = `${count(together, 'request')} missed the same key at the same time, and each did the work after ${command} again: ${shareOf(filled.workMs, durationMs)} here`;
      return [{ severity: 'warn', sentence, anchor: `k${index + 1}`, costMs: filled.workMs, place: caller }];
    });
  },
};

const cacheNotCleared: Rule<Needs<'cache'>> = {
  name: 'cache-not-cleared',
  needs: ['cache'],
  labels: ['cache not cleared'],
  why: 'The deletion replied 0, and this process has stored a key with the same values and nearly the same words, which nothing has deleted. A later read of that key has the same finding.',
  fix: 'Build the key in one function that reading, storing and deleting call.',
  find({ cache: { items } }) {
    const deleted = items.find(({ similar }) => similar !== undefined)?.key ?? null;
    const isRead = items.some(({ missedBy }) => missedBy !== undefined);
    return items.flatMap(({ command, key, similar, missedBy, caller }, index): FindingDraft[] => {
      if (missedBy !== undefined) {
        const how =
          deleted === null ? 'it spelled that key in another way' : `its key is ${excerpt(deleted, 60)}`;
        const sentence = `${command} found ${excerpt(key ?? 'a value', 60)}, which may be old: ${duration(missedBy.ms)} before, a deletion${placeText(missedBy.place)} deleted nothing, because ${how}`;
        return [{ broke: 'response', severity: 'warn', sentence, anchor: `k${index + 1}`, place: caller }];
      }
      // The read says so, too.
      if (similar === undefined || isRead) return [];
      const { shape, storedBy } = similar;
      const sentence = `${command} found no key to delete, but ${excerpt(shape)} is stored${placeText(storedBy)}: reads of it may return the value from before the change`;
      return [{ broke: 'unseen', severity: 'warn', sentence, anchor: `k${index + 1}`, place: caller }];
    });
  },
};

const absenceCached: Rule<Needs<'cache', 'runtime'>> = {
  name: 'absence-cached',
  needs: ['cache'],
  labels: ['cached absence'],
  why: 'An earlier request, answered with 404, stored the key. This request found it and got the same 404. Since then, a request has inserted a row with the value in the key.',
  fix: 'Delete the key when such a row is added. Cache rows that exist, or let the entry for a missing row expire after a few seconds.',
  compares: ({ cache }, { status }) => status === 404 && cache.items.some(({ hits }) => hits === 1),
  relates: ({ cache }, { status }) => status === 404 && cache.items.some(({ hits }) => hits === 1),
  find({ cache, ...kept }, head, { earlier, siblings }) {
    if (head.status !== 404) return [];
    const storerOf = storersAmong({ head, kept: { ...kept, cache } }, [...earlier, ...siblings]);
    return cache.items.flatMap(({ command, key, hits, asked }, index): FindingDraft[] => {
      if (hits !== 1 || asked !== 1 || key === null) return [];
      const { request: filler, place } = storerOf(index) ?? {};
      if (filler?.head.status !== 404) return [];
      const parts = new Set(key.split(/[:/|]/));
      const writer = [...siblings, ...earlier].find(({ head, kept }) => {
        if (head.startedAt < filler.head.startedAt || (head.status ?? 500) >= 300) return false;
        return readsOf(kept.database).some(
          ({ read, query }) =>
            read.verb === 'insert' && query.bindings.some(({ value }) => parts.has(textOf(value) ?? '')),
        );
      });
      if (writer === undefined) return [];
      const sentence = `${command} found ${excerpt(key, 60)}, stored by a request that had found nothing (${filler.head.token}, 404): ${requestText(writer.head)} has inserted it since, and the cache still says that it is not there`;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: `k${index + 1}`, place }];
    });
  },
};

const LARGE = 1000;

const cacheLargeReply: Rule<Needs<'cache'>> = {
  name: 'cache-large-reply',
  needs: ['cache'],
  labels: ['KEYS', 'large reply'],
  why: 'KEYS compares every key of the database and blocks all other clients meanwhile. Any other command replied with at least 1,000 members.',
  fix: 'Store related keys in a set, or use `SCAN`. Read only the members you need of a large set or hash: `SISMEMBER`, `HMGET`, a range, `SSCAN`.',
  find({ cache: { items } }, { durationMs: wholeMs }) {
    return items.flatMap(({ command, size = 0, hits, durationMs, caller, asked }, index): FindingDraft[] => {
      const isKeys = command === 'KEYS';
      const isList = asked === 0 || (command === 'HGETALL' && hits === 1);
      if (durationMs === null || (!isKeys && (size < LARGE || !isList))) return [];
      const costMs = durationMs;
      const sentence = isKeys
        ? `KEYS looked through all keys of the database and found ${count(size)}: ${shareOf(costMs, wholeMs)}`
        : `${command} replied with ${count(size, 'member')}: ${shareOf(costMs, wholeMs)}`;
      const label = isKeys ? 'KEYS' : 'large reply';
      const severity = isKeys ? 'warn' : 'info';
      return [{ label, severity, sentence, anchor: `k${index + 1}`, costMs, place: caller }];
    });
  },
};

function raceSentence({ head }: Overlap, label: string, who: 'over' | 'under' | 'both'): string {
  const other = requestText(head);
  if (who === 'under')
    return `${other} wrote over the key that ${label} had written: it had read the key before that`;
  if (who === 'over')
    return `${label} wrote over the key that ${other} had changed since this request read it`;
  return `${label} and ${other} wrote the same key at the same time, each from the value it had read before`;
}

const cacheLostUpdate: Rule<Given> = {
  name: 'cache-lost-update',
  needs: ['cache'],
  labels: ['lost update'],
  why: 'Two requests at the same time read the key and found it, before either wrote it.',
  fix: 'Let Redis change it: `INCRBY`, `HINCRBY`, `SADD`, a script, or `WATCH` with a transaction. Of a cache in the process, read and write the value without an `await` in between.',
  overlaps: ({ cache, runtime }) =>
    (runtime?.concurrent ?? 1) > 1 && cache.items.some(({ command }) => /^H?SET(?:EX)?$/.test(command)),
  find(kept, head, { overlapping }) {
    if (overlapping.length === 0) return [];
    return overlapsOf({ head, kept: { ...kept } }, overlapping).flatMap((overlap) =>
      overlap.shared.flatMap(({ name, race }): FindingDraft[] => {
        if (race === null || race.panel !== 'cache') return [];
        const { anchor, place, label, who } = race;
        const sentence = raceSentence(overlap, `${label} ${excerpt(name, 60)}`, who);
        return [{ broke: 'unseen', severity: 'warn', sentence, anchor, place }];
      }),
    );
  },
};

/** Without the part that two versions of one address differ in. */
function segmentsOf(url: string): string[] {
  return (url.split('?', 1)[0] ?? '').split('/').filter((part) => part !== '' && !/^v\d+$/i.test(part));
}

/** The end that the paths of both have in common, and nothing before it. */
function commonEnd(url: string, other: string): string | null {
  const [own, others] = [segmentsOf(url).reverse(), segmentsOf(other).reverse()];
  const same = own.findIndex((part, at) => part !== others[at]);
  return same < 1 || others[same] === undefined ? null : `/${own.slice(0, same).reverse().join('/')}`;
}

/** The read whose text is the response; -1: there is none. */
function sentFrom({ cache, request }: Needs<'cache' | 'request'>): number {
  const { length: sent } = request.response?.text ?? '';
  return cache.items.findIndex(
    ({ command, hits, length, key }) =>
      command === 'GET' && hits === 1 && key !== null && sent > 0 && length === sent,
  );
}

const cacheKeyOfTwo: Rule<Needs<'cache' | 'request'>> = {
  name: 'cache-key-of-two',
  needs: ['cache', 'request'],
  labels: ['key of two routes'],
  why: 'The whole response came from a cache key that a request to another route had stored. The key has only the end of the address, which both routes have in common.',
  fix: 'Put the whole address into the key: `req.originalUrl`. In a router that is mounted with `app.use(path, router)`, `req.url` has no mount path.',
  relates: (kept) => sentFrom(kept) !== -1,
  find(kept, head, { siblings }) {
    const index = sentFrom(kept);
    const { key = null, caller: place } = kept.cache.items[index] ?? {};
    if (key === null) return [];
    const storer = storersAmong({ head, kept: { ...kept } }, siblings)(index)?.request;
    const end = storer === undefined ? null : commonEnd(head.url, storer.head.url);
    if (storer === undefined || end === null || !key.endsWith(end)) return [];
    const sentence = `The response came from the key ${excerpt(key, 60)}, which ${requestText(storer.head)} had stored: the key only has the last part of the address, which both share: ${excerpt(end, 60)}`;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: `k${index + 1}`, place }];
  },
};

interface Overdue {
  take: Command;
  release: Command;
  index: number;
  lifetimeMs: number;
  heldMs: number;
}

function takesLock({ command, args, reply, lifetimeMs }: Command): boolean {
  const isNew = command === 'SET' && args.some(({ value }) => /^nx$/i.test(value));
  return isNew && reply !== 0 && typeof lifetimeMs === 'number';
}

const RELEASES = /^(?:DEL|UNLINK|EVAL|EVALSHA)$/;

function overdueIn({ items }: Kept['cache']): Overdue[] {
  return items.flatMap((take): Overdue[] => {
    const { lifetimeMs } = take;
    if (!takesLock(take) || typeof lifetimeMs !== 'number' || take.key === null) return [];
    const later = items.filter(({ key, startMs }) => key === take.key && startMs >= endOf(take));
    const release = later.find(({ command }) => RELEASES.test(command));
    // Something else with the key may renew it; a script that changed something has found it.
    if (release === undefined || later[0] !== release || release.reply === undefined) return [];
    if (release.command.startsWith('EVAL') && release.reply !== 0) return [];
    const heldMs = release.startMs - endOf(take);
    if (heldMs <= lifetimeMs) return [];
    return [{ take, release, index: items.indexOf(release), lifetimeMs, heldMs }];
  });
}

const lockExpired: Rule<Needs<'cache'>> = {
  name: 'lock-expired',
  needs: ['cache'],
  labels: ['lock expired'],
  why: 'The request took a lock with a lifetime (`SET … NX PX`) and released it after that lifetime. In between, another request could take it. A DEL at that point deletes the lock of the other request.',
  fix: 'Set a lifetime well above the longest run, or renew the lock while the work runs. Delete it with a script that compares the owner, as `redlock` does. Make a second run harmless with a unique key or an idempotency key.',
  overlaps: ({ cache }) => overdueIn(cache).length > 0,
  find({ cache }, head, { overlapping }) {
    return overdueIn(cache).map(({ take, release, index, lifetimeMs, heldMs }): FindingDraft => {
      const other = overlapping.find(({ head: { startedAt }, kept }) =>
        kept.cache?.items.some((one) => {
          const atMs = one.startMs + startedAt - head.startedAt;
          return one.key === take.key && takesLock(one) && atMs > endOf(take) && atMs < release.startMs;
        }),
      );
      const who = other === undefined ? 'another one' : requestText(other.head);
      const isStolen = release.reply !== 0;
      const taken = other === undefined && !isStolen ? '' : `; ${who} took it meanwhile`;
      const end = isStolen ? `, and ${release.command} deleted that lock: it doesn’t ask whose it is` : '';
      const sentence = `The lock ${excerpt(take.key ?? '', 60)} expires after ${duration(lifetimeMs)}${placeText(take.caller)}, but was given back after ${duration(heldMs)}${taken}${end}`;
      const severity = taken === '' ? 'warn' : 'bad';
      return { broke: 'unseen', severity, sentence, anchor: `k${index + 1}`, place: release.caller };
    });
  },
};

/** A stored session of express-session begins with its cookie. */
const SESSION = '{"cookie":{';

const sessionNotSaved: Rule<Needs<'cache'>> = {
  name: 'session-not-saved',
  needs: ['cache'],
  labels: ['session not saved'],
  why: 'A command that stores a session of `express-session` failed. The client has its cookie, but the next request finds no session, or an old one.',
  fix: 'Read the error of Redis first. A syntax error means that the store got a client of another library: `connect-redis` takes one of `redis`, and its older versions one of `ioredis`.',
  find({ cache: { items } }, { status }) {
    return items.flatMap(({ command, args, error, caller }, index): FindingDraft[] => {
      if (error === null || !args.some(({ value }) => value.startsWith(SESSION))) return [];
      const sentence = `The session was not saved: ${command} failed (${excerpt(error, 100)})`;
      return [{ broke: brokeBy(status), severity: 'bad', sentence, anchor: `k${index + 1}`, place: caller }];
    });
  },
};

/** The leaf that says how long a list is. */
function isLength(path: string): boolean {
  return /(?:^|\.)length$/.test(path);
}

/** Milliseconds of the year 2001. */
const EPOCH_MS = 1e12;

/** A moment, or the next number of a count: values that an application keeps in a cache, and changes there. */
function isKeptUp({ path, oldValue, newValue }: CachedChange): boolean {
  if (isLength(path)) return false;
  if (typeof oldValue === 'number' && typeof newValue === 'number')
    return newValue === oldValue + 1 || newValue > EPOCH_MS;
  return typeof newValue === 'string' && /^\d{4}-\d\d-\d\dT\d\d:/.test(newValue);
}

/** Whether a response has the value as it is now, or changed once more: the list with its new length, or the leaf. */
function isSent({ path, name, oldValue, newValue }: CachedChange, sent: readonly Leaf[]): boolean {
  const named = sent.filter((leaf) => leaf.name === name);
  if (!isLength(path))
    return (
      named.some(({ value }) => value === newValue) || (named.length === 1 && named[0]?.value !== oldValue)
    );
  const lists = new Map<string, Set<string>>();
  for (const leaf of sent) {
    const [, list, at] = /^(?:(.*?)\.)?(\d+)(?:\.|$)/.exec(leaf.path) ?? [];
    if (at !== undefined && (list ?? '').split('.').at(-1) === name)
      lists.set(list ?? '', (lists.get(list ?? '') ?? new Set()).add(at));
  }
  return [...lists.values()].some(({ size }) => size === newValue);
}

const cachedValueChanged: Rule<Needs<'cache' | 'request'>> = {
  name: 'cached-value-changed',
  needs: ['cache', 'request'],
  labels: ['cached value changed'],
  why: 'The cache returns the same object to every request. A GET request got it unchanged; since then a value in it was changed, nothing stored it again, and this response contains it. It was loaded by a statement or a call.',
  fix: 'Change a copy: `{ ...product, price }`, `list.toSorted(…)`, `structuredClone(value)`. To find the line at once, store `Object.freeze(value)`, or use `useClones: true` of node-cache.',
  relates: ({ cache }) => cache.items.some(({ changed }) => changed !== undefined),
  find({ cache, request }, head, { siblings, earlier }) {
    const sent = leavesIn(request.response?.text ?? '');
    const who = (token: string): string => {
      const other = [...siblings, ...earlier].find((one) => one.head.token === token);
      return other === undefined ? token : requestText(other.head);
    };
    return cache.items.flatMap(({ command, key, changed, stored }, index): FindingDraft[] => {
      if (changed?.oldValue === undefined || changed.newValue === undefined) return [];
      const { since, isLoaded, path } = changed;
      const { by, place } = since;
      // The request that stored it may still be filling it; a count or a moment is meant to change.
      if (by === null || by === head.token || by === stored?.by || isKeptUp(changed)) return [];
      if (!isLoaded || !since.isRead || !since.isSafe || !isSent(changed, sent)) return [];
      const [before, now] = [changed.oldValue, changed.newValue].map((value) => excerpt(String(value), 40));
      const storer =
        stored === undefined || stored.by === null
          ? ''
          : `, stored by ${who(stored.by)}${placeText(stored.place)}`;
      const sentence = `${command} found ${excerpt(key ?? 'a value', 60)}${storer}, with a value that was changed in the cache: ${excerpt(path, 60)} was ${before} when ${who(by)} read it${placeText(place)}, and is ${now} now`;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: `k${index + 1}`, ...(place !== null && { place }) }]; // prettier-ignore
    });
  },
};

/** Words of a value that goes on to another state: “pending” may expire, and “paid” may not. */
const STATE = /stat(?:e|us)|phase|stage|step|result/i;

/** What was stored is what was found with another content, not the next state of it. Masked values can't be compared. */
function isSameWithChanges(found: Json | undefined, stored: string | undefined): boolean {
  if (typeof found !== 'string' || stored === undefined) return false;
  if (isMasked(found) || isMasked(stored)) return true;
  const [before, after] = [found, stored].map((text) => parseBeginning(text)?.value);
  if (typeof before === 'number') return typeof after === 'number';
  if (!isRecord(before) || !isRecord(after)) return Array.isArray(before) && Array.isArray(after);
  const leaves = new Map(leavesOf(after).map(({ path, value }) => [path, value]));
  const common = leavesOf(before).filter(({ path }) => leaves.has(path));
  return (
    Object.keys(before).some((name) => name in after) &&
    common.every(
      ({ path, name, value }) =>
        leaves.get(path) === value || (typeof value !== 'boolean' && !STATE.test(name)),
    )
  );
}

/** A SET that removed the expiry of a value that its request had read, and set none later. */
function removesExpiry(items: readonly Command[], set: Command): boolean {
  const at = items.indexOf(set);
  const read = items
    .slice(0, at)
    .findLast(({ command, key, hits }) => command === 'GET' && key === set.key && hits === 1);
  const isOver = items
    .slice(at + 1)
    .some(
      ({ command, key, args, lifetimeMs }) =>
        (key === set.key || args.some(({ value }) => value === set.key)) &&
        (typeof lifetimeMs === 'number' || RELEASES.test(command)),
    );
  return (
    set.system === 'redis' &&
    set.command === 'SET' &&
    set.removedExpiry !== undefined &&
    !isOver &&
    isSameWithChanges(read?.found?.value, set.args[0]?.value)
  );
}

const expiryRemoved: Rule<Needs<'cache'>> = {
  name: 'expiry-removed',
  needs: ['cache'],
  labels: ['expiry removed'],
  why: 'The request found the key and stored its value again by a SET without an expiry, before the one that this process had set ran out. Redis removes it then. A request that finds the key after that time has the same finding.',
  fix: 'Keep the expiry: `SET key value KEEPTTL` (`redis.set(key, value, "KEEPTTL")` of ioredis, `{ KEEPTTL: true }` of node-redis), or give it again with `EX`.',
  compares: ({ cache }) => cache.items.some(({ removedExpiry }) => removedExpiry !== undefined),
  relates: ({ cache }) => cache.items.some(({ removedExpiry }) => removedExpiry !== undefined),
  find({ cache: { items } }, head, { siblings, earlier }) {
    const others = [...siblings, ...earlier];
    const who = (token: string): string => {
      const other = others.find((one) => one.head.token === token);
      return other === undefined ? `request ${token}` : requestText(other.head);
    };
    return items.flatMap((item, index): FindingDraft[] => {
      const { command, key, removedExpiry, caller } = item;
      if (removedExpiry === undefined || key === null) return [];
      const { lifetimeMs, leftMs, set, removed } = removedExpiry;
      const setter = `the one of ${duration(lifetimeMs)} that ${set.by === head.token ? 'it' : who(set.by)} had set${placeText(set.place)}`;
      const anchor = `k${index + 1}`;
      const name = excerpt(key, 60);
      if (leftMs >= 0) {
        if (!removesExpiry(items, item)) return [];
        const sentence = `${command} stored ${name} again without an expiry, which removed ${setter}, ${duration(leftMs)} before it ran out: the key never expires`;
        return [{ broke: 'unseen', severity: 'warn', sentence, anchor, place: caller }];
      }
      const by = others.find((one) => one.head.token === removed.by)?.kept.cache?.items ?? [];
      if (!by.some((one) => one.caller === removed.place && removesExpiry(by, one))) return [];
      const sentence = `${command} found ${name} ${duration(-leftMs)} after it should have expired: ${who(removed.by)} stored it again without an expiry, which removed ${setter}`;
      return [{ broke: 'response', severity: 'bad', sentence, anchor, place: removed.place }];
    });
  },
};

export const cacheRules: readonly Rule[] = [
  cacheNPlusOne,
  cacheSparesNothing,
  cacheStampede,
  cacheNotCleared,
  absenceCached,
  cachedValueChanged,
  cacheLargeReply,
  cacheLostUpdate,
  cacheKeyOfTwo,
  lockExpired,
  expiryRemoved,
  sessionNotSaved,
];
