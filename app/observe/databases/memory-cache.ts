/**
 * Calls of caches in the process -> facts `cache`, with who stored the value that was found, and whether it was changed since. Only calls that
 * the application's own code makes: libraries have caches, too. Of a value, its leaves are remembered as a text, never the value.
 */
import { types } from 'node:util';
import { dropOldest } from '../../profiler/drop-oldest.ts';
import { argumentsOf } from '../../profiler/masking/redis-arguments.ts';
import { round } from '../../profiler/read/span.ts';
import { type Context, createSlot } from '../../profiler/record/context.ts';
import { toPlain, truncateText } from '../../profiler/record/plain.ts';
import { isObject } from '../../profiler/record/safe-read.ts';
import { failureText } from '../../profiler/record/thrown-value.ts';
import { type MemoryCall, memoryCalls, type MemoryCommand } from '../channels/memory-cache.ts';
import { bytesOf, NOWHERE } from '../observe-calls.ts';
import type { Called } from '../stacks/caller.ts';
import { closing, type ObserverParts, subscribeTo } from '../subscribe.ts';
import { type CacheFact, remember, REPEATED, type StoredBy } from './cache.ts';
import { createKeyHistory } from './key-history.ts';
import { FOUND } from './redis-reply.ts';
import { changeBetween, firstOf, type LeafChange, type Leaves, leavesOf } from './value-leaves.ts';

interface Moment {
  /** Token of the request; null: outside of any that is recorded in full. */
  by: string | null;
  place: string | null;
  at: number;
}

/** A value that is an object, and who had it last as it was. */
interface Seen extends Moment {
  value: WeakRef<object>;
  /** JSON of its leaves; null: it can't be compared. */
  leaves: string | null;
  isLarge: boolean;
  isRead: boolean;
  /** By a request that is to change nothing. */
  isSafe: boolean;
}

interface Stored extends Moment {
  /** It was stored before calls were observed: by whom is not known. */
  isOlder?: true;
  lifetimeMs: number | null;
  /** After a statement or a call of its request: it is a copy of what is elsewhere. */
  isLoaded: boolean;
  seen: Seen | null;
}

interface Cache {
  library: MemoryCall['library'];
  name: string;
  stored: Map<unknown, Stored>;
  /** Calls by own code, and by libraries. */
  own: number;
  others: number;
}

const MOST_KEYS = 1000;
const LONGEST_LEAVES = 8192;
const LONGEST_VALUE = 300;
/** Of a request: a stack costs more than all else here. */
const MOST_STACKS = 200;
/** A cache that only libraries have called so often is theirs. */
const MOST_OTHERS = 20;
const PACKAGES = ['lru-cache', 'node-cache'];
const READS = new Set(['GET', 'MGET', 'GETDEL']);
const REMOVES = new Set(['SET', 'DEL', 'GETDEL']);

const stacks = createSlot<number>('stacks of cache calls');

function isKey(key: unknown): key is string | number {
  return typeof key === 'string' || typeof key === 'number';
}

/** node-cache takes 1 and '1' as one key. */
function nameOf({ library }: Cache, key: unknown): unknown {
  return library === 'node-cache' ? String(key) : key;
}

/** JSON of the leaves of a value, or of its first ones if it is large. */
function leavesText(value: unknown, isLarge: boolean): Pick<Seen, 'leaves' | 'isLarge'> {
  const all = leavesOf(value, isLarge);
  const text = JSON.stringify(all);
  const cut = all === null || text.length <= LONGEST_LEAVES ? text : JSON.stringify(firstOf(all.leaves));
  const leaves = all === null || cut.length > LONGEST_LEAVES ? null : cut;
  return { leaves, isLarge: leaves !== null && (all?.isCut === true || cut !== text) };
}

function changedSince(seen: Seen, leaves: string | null): LeafChange | null {
  if (seen.leaves === null || leaves === null || seen.leaves === leaves) return null;
  return changeBetween(JSON.parse(seen.leaves) as Leaves, JSON.parse(leaves) as Leaves);
}

function valueText(value: unknown): string {
  return typeof value === 'string'
    ? value
    : truncateText(JSON.stringify(toPlain(value, FOUND)), LONGEST_VALUE);
}

function since({ by, place, at }: Moment, now: number): StoredBy {
  return { by, place, ms: round(now - at) };
}

/** As the arguments of the command of Redis. */
function wordsOf({ command, entries }: MemoryCommand): unknown[] {
  const hasValues = command === 'SET' || command === 'MSET';
  return entries.flatMap(([key, value]) => {
    const word = isKey(key) ? String(key) : `[${typeof key}]`;
    return hasValues ? [word, valueText(value)] : [word];
  });
}

function foundIn({ command, entries }: MemoryCommand): Pick<CacheFact, 'found' | 'length'> {
  const found = entries.filter(([, value]) => value !== undefined) as [unknown, unknown][];
  const [key, value] = found[0] ?? [];
  if (value === undefined) return {};
  if (command === 'MGET') return { found: { name: command, value: toPlain(new Map(found), FOUND) } };
  return {
    found: { name: String(isKey(key) ? key : command), value: toPlain(value, FOUND) },
    ...(typeof value === 'string' && { length: value.length }),
  };
}

export function observeMemoryCaches({ tracker, findCaller }: ObserverParts): { close(): void } {
  const history = createKeyHistory();
  const caches = new WeakMap<object, Cache>();
  let count = 0;

  function cacheOf(cache: object, library: MemoryCall['library']): Cache {
    const known = caches.get(cache);
    if (known !== undefined) return known;
    const made: Cache = {
      library,
      name: `${library} ${++count}, process ${process.pid}`,
      stored: new Map(),
      own: 0,
      others: 0,
    };
    caches.set(cache, made);
    return made;
  }

  function seenNow(
    value: unknown,
    by: { context: Context; place: string | null },
    { isRead, isLarge = false }: { isRead: boolean; isLarge?: boolean | undefined },
  ): Seen | null {
    if (!isObject(value) || types.isProxy(value)) return null;
    const { context, place } = by;
    const isSafe = /^(?:GET|HEAD)$/.test(context.first('request')?.method ?? '');
    return {
      value: new WeakRef(value),
      ...leavesText(value, isLarge),
      by: context.token,
      place,
      at: performance.now(),
      isRead,
      isSafe,
    };
  }

  /** `context`: null outside of any request that is recorded in full. */
  function write(
    cache: Cache,
    { command, entries, lifetimeMs, reply, isFilled = false }: MemoryCommand,
    { context, place, isWatched }: { context: Context | null; place: string | null; isWatched: boolean },
  ): void {
    const { stored } = cache;
    if (command === 'CLEAR') stored.clear();
    const isStored = isFilled || command === 'MSET' || (command === 'SET' && reply !== 0);
    if (!isStored && !REMOVES.has(command)) return;
    for (const [key, value] of entries) {
      const name = nameOf(cache, key);
      const before = stored.get(name);
      stored.delete(name);
      if (!isKey(key) || !isStored) continue;
      const by = context?.token ?? null;
      stored.set(name, {
        by,
        // A `fetch` of lru-cache stores it later, where no own code is on the stack.
        place: place ?? (by !== null && before?.by === by ? before.place : null),
        at: performance.now(),
        lifetimeMs: lifetimeMs ?? null,
        isLoaded:
          isFilled || (context !== null && context.all('query').length + context.all('call').length > 0),
        seen:
          context === null || !isWatched || isFilled
            ? null
            : seenNow(value, { context, place }, { isRead: false }),
      });
      dropOldest(stored, MOST_KEYS);
    }
  }

  function read(stored: Stored, value: unknown, context: Context, fact: CacheFact): void {
    const now = performance.now();
    if (stored.by !== context.token && stored.isOlder !== true) fact.stored = since(stored, now);
    const { seen } = stored;
    const isSame = seen !== null && seen.value.deref() === value;
    // Once it could not be compared, it is not walked again.
    if (isSame && seen.leaves === null) return;
    const isLarge = isSame && seen.isLarge;
    const current = seenNow(value, { context, place: fact.caller }, { isRead: true, isLarge });
    const change = isSame && current !== null ? changedSince(seen, current.leaves) : null;
    if (isSame && change !== null) {
      const { isRead, isSafe } = seen;
      fact.changed = { ...change, since: { ...since(seen, now), isRead, isSafe }, isLoaded: stored.isLoaded };
      // Later reads are told of it, too. The request that stored it may still be filling it.
      if (isRead && seen.by !== stored.by) return;
    }
    stored.seen = current;
  }

  function missed(last: Stored | undefined, { past }: CacheFact): void {
    if (past === undefined) return;
    // The history was told only of calls that are recorded.
    if (last !== undefined && last.isOlder !== true) {
      past.storedMs = round(performance.now() - last.at);
      past.storedBy = last.place;
      past.lifetimeMs = last.lifetimeMs;
    } else if (past.deletedBy === null) past.storedMs = null;
  }

  /** `caller`: null past the limit of stacks, where the values are left out, too. */
  function factOf(
    command: MemoryCommand,
    cache: Cache,
    { context, called, error }: { context: Context; called: Called; error: unknown },
  ): CacheFact {
    const { command: name, entries, reply, lifetimeMs } = command;
    const { caller } = called;
    const [key] = entries[0] ?? [];
    const isRead = READS.has(name) && error === undefined;
    return {
      system: 'memory',
      client: cache.library,
      command: name,
      key: isKey(key) ? String(key) : null,
      args: caller === null ? [] : argumentsOf(name, wordsOf(command)),
      asked: isRead ? entries.length : 0,
      hits: isRead ? entries.filter(([, value]) => value !== undefined).length : null,
      startMs: context.elapsedMs(),
      // It waits for nothing.
      durationMs: 0,
      batch: null,
      error: error === undefined ? null : failureText(error),
      ...called,
      connection: cache.name,
      ...(isRead && caller !== null && foundIn(command)),
      ...(reply !== undefined && { reply }),
      ...(lifetimeMs !== undefined && reply !== 0 && { lifetimeMs }),
    };
  }

  /** What came before, of a fact with its own line. */
  function recall(
    fact: CacheFact,
    { entries, isLoader = false }: MemoryCommand,
    cache: Cache,
    context: Context,
  ): void {
    const [first] = entries;
    if (fact.error !== null || first === undefined) return;
    remember(history, fact, context);
    const [key, value] = first;
    const name = nameOf(cache, key);
    let stored = cache.stored.get(name);
    if (fact.asked !== 1) return;
    if (stored === undefined && isLoader && fact.hits === 1) {
      stored = { by: null, place: null, at: 0, lifetimeMs: null, isLoaded: true, seen: null, isOlder: true };
      cache.stored.set(name, stored);
      dropOldest(cache.stored, MOST_KEYS);
    }
    if (fact.hits === 0) missed(stored, fact);
    else if (stored !== undefined) read(stored, value, context, fact);
  }

  function onCall(call: MemoryCall): void {
    const context = tracker.observed() ?? null;
    const { cache: called, library, error, method } = call;
    if (context === null && method.isWrite !== true) return;
    const done = [method.done(call)].flat();
    // Versions 5 and 6 of lru-cache clear each cache that they make.
    if (done[0]?.command === 'CLEAR' && !caches.has(called)) return;
    const cache = cacheOf(called, library);
    if (cache.own === 0 && cache.others >= MOST_OTHERS) return;
    const taken = context === null ? MOST_STACKS : (stacks.get(context) ?? 0);
    const hasStack = context !== null && taken < MOST_STACKS;
    let by = NOWHERE;
    if (hasStack) {
      stacks.set(context, taken + 1);
      by = findCaller?.called({ skip: PACKAGES, isOwn: true, isDirect: true }) ?? NOWHERE;
      cache[by.caller === null ? 'others' : 'own']++;
    }
    const { caller: place } = by;
    const isRecorded = place !== null || (!hasStack && cache.own > 0 && cache.others === 0);
    for (const one of done) {
      if (context !== null && isRecorded) {
        const fact = factOf(one, cache, { context, called: by, error });
        if (place !== null) recall(fact, one, cache, context);
        context.add('cache', fact, place === null ? 0 : bytesOf(fact), REPEATED);
      }
      if (error === undefined) write(cache, one, { context, place, isWatched: hasStack });
    }
  }

  return closing([subscribeTo<MemoryCall>(memoryCalls, onCall)]);
}
