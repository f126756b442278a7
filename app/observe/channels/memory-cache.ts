/**
 * lru-cache 5 and later, node-cache 5 -> channel `express-hindsight:memory-cache:call`, published when a call is over. What a cache calls
 * of itself meanwhile is not published.
 */
import { channel } from 'node:diagnostics_channel';
import { types } from 'node:util';
import { field, isObject } from '../../profiler/record/safe-read.ts';
import type { LibraryPatch } from '../libraries.ts';
import { allOf, wrapMethod } from './wrap-method.ts';

type Library = 'lru-cache' | 'node-cache';

/** What a call did. */
export interface MemoryCommand {
  command: 'GET' | 'MGET' | 'GETDEL' | 'EXISTS' | 'SET' | 'MSET' | 'DEL' | 'EXPIRE' | 'CLEAR';
  /** Keys, and the values that were found or stored; undefined: none. */
  entries: readonly (readonly [key: unknown, value?: unknown])[];
  reply?: number;
  /** Milliseconds; null: without an end. */
  lifetimeMs?: number | null;
  /** The value that was not found is stored when it has come. */
  isFilled?: boolean;
  /** A function of the cache loads its values. */
  isLoader?: boolean;
}

export interface MemoryCall {
  library: Library;
  cache: object;
  args: readonly unknown[];
  result?: unknown;
  error?: unknown;
  /** What the cache had before. */
  before?: unknown;
  method: Observed;
}

interface Observed {
  /** Read only if it is recorded: most calls are of libraries, or outside of a request. */
  done: (call: MemoryCall) => MemoryCommand | readonly MemoryCommand[];
  isWrite?: boolean;
  /** Looks into the cache before the call, and may change what is asked of it. */
  look?: (cache: object, args: unknown[]) => unknown;
  /** It calls a function of the application, whose own calls are published. */
  callsBack?: (cache: object) => boolean;
}

export const memoryCalls = channel('express-hindsight:memory-cache:call');

/** The cache that is being called. */
let inside: unknown = null;

function ask(cache: object, name: string, ...args: unknown[]): unknown {
  const method = (cache as Partial<Record<string, unknown>>)[name];
  return typeof method === 'function' ? (Reflect.apply(method, cache, args) as unknown) : undefined;
}

const get: Observed = { done: ({ args: [key], result }) => ({ command: 'GET', entries: [[key, result]] }) };
const has: Observed = {
  done: ({ args: [key], result }) => ({ command: 'EXISTS', entries: [[key]], reply: Number(result) }),
};
const clear: Observed = { isWrite: true, done: () => ({ command: 'CLEAR', entries: [] }) };

function milliseconds(value: unknown): number | null {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : null;
}

/** A number of versions 5 and 6, options of later ones; else that of the cache. */
function lifetimeIn(cache: object, given: unknown): number | null {
  const { ttl, maxAge } = cache as { ttl?: unknown; maxAge?: unknown };
  return milliseconds((isObject(given) ? field(given, 'ttl') : given) ?? ttl ?? maxAge);
}

/** The promise of a `fetch` that runs. */
function isBeingFetched(value: unknown): boolean {
  return types.isPromise(value) && Object.hasOwn(value, '__staleWhileFetching');
}

/** What `fetch` and `memo` return without calling the application. */
function peeked(cache: object, [key, options]: readonly unknown[]): unknown {
  const { allowStale, forceRefresh } = (options ?? {}) as Partial<Record<string, unknown>>;
  return forceRefresh === true ? undefined : ask(cache, 'peek', key, { allowStale });
}

const deleted: Observed = {
  isWrite: true,
  // `del` of versions 5 and 6 returns nothing.
  look: (cache, [key]) => ask(cache, 'has', key),
  done: ({ args: [key], result, before }) => ({
    command: 'DEL',
    entries: [[key]],
    reply: Number(result ?? before),
  }),
};

const LRU_CACHE: Readonly<Record<string, Observed>> = {
  get,
  peek: get,
  has,
  set: {
    isWrite: true,
    done({ cache, args: [key, value, given], result }) {
      if (isBeingFetched(value)) return [];
      if (value === undefined) return { command: 'DEL', entries: [[key]] };
      const lifetimeMs = lifetimeIn(cache, given);
      return { command: 'SET', entries: [[key, value]], lifetimeMs, ...(result === false && { reply: 0 }) };
    },
  },
  delete: deleted,
  del: deleted,
  fetch: {
    isWrite: true,
    // lru-cache writes what it does into the status.
    look(cache, args) {
      const { status = {}, ...options } = (args[1] ?? {}) as { status?: object };
      const value = peeked(cache, args);
      args[1] = { ...options, status };
      return { value, status };
    },
    callsBack: (cache) => typeof (cache as { fetchMethod?: unknown }).fetchMethod === 'function',
    done({ args: [key], before }) {
      const { value, status } = before as { value: unknown; status: { fetch?: string } };
      const isFilled = /^(?:miss|stale|refresh)$/.test(status.fetch ?? '');
      return { command: 'GET', entries: [[key, value]], isFilled, isLoader: true };
    },
  },
  memo: {
    isWrite: true,
    look: peeked,
    done({ cache, args: [key, options], result, before }) {
      const read: MemoryCommand = { command: 'GET', entries: [[key, before]] };
      const lifetimeMs = lifetimeIn(cache, options);
      return before === undefined ? [read, { command: 'SET', entries: [[key, result]], lifetimeMs }] : read;
    },
  },
  clear,
  reset: clear,
};

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** Of seconds. */
function ttlIn(cache: object, seconds: unknown): number | null {
  const { options = {} } = cache as { options?: { stdTTL?: unknown } };
  return milliseconds(Number(seconds ?? options.stdTTL) * 1000);
}

const NODE_CACHE: Readonly<Record<string, Observed>> = {
  get,
  has,
  take: {
    isWrite: true,
    done: ({ args: [key], result }) => ({ command: 'GETDEL', entries: [[key, result]] }),
  },
  mget: {
    done: ({ args: [keys], result }) => ({
      command: 'MGET',
      entries: listOf(keys).map((key) => [key, isObject(result) ? field(result, String(key)) : undefined]),
    }),
  },
  set: {
    isWrite: true,
    done: ({ cache, args: [key, value, seconds] }) => ({
      command: 'SET',
      entries: [[key, value]],
      lifetimeMs: ttlIn(cache, seconds),
    }),
  },
  mset: {
    isWrite: true,
    done: ({ args: [list] }) => ({
      command: 'MSET',
      entries: listOf(list).filter(isObject).map((one) => [field(one, 'key'), field(one, 'val')]), // prettier-ignore
    }),
  },
  del: {
    isWrite: true,
    done: ({ args: [keys], result }) => ({
      command: 'DEL',
      entries: listOf(keys).map((key) => [key]),
      reply: Number(result),
    }),
  },
  ttl: {
    // 0 of this method is that of the cache.
    done: ({ cache, args: [key, seconds], result }) => ({
      command: 'EXPIRE',
      entries: [[key]],
      reply: Number(result),
      lifetimeMs: ttlIn(cache, seconds || undefined),
    }),
  },
  flushAll: clear,
};

function lookInto({ cache, method: { look } }: MemoryCall, args: unknown[]): unknown {
  try {
    return look?.(cache, args);
  } catch {
    return undefined;
  }
}

function callsBack({ cache, method }: MemoryCall): boolean {
  try {
    return method.callsBack?.(cache) === true;
  } catch {
    return false;
  }
}

function publish(call: MemoryCall): void {
  inside = call.cache;
  memoryCalls.publish(call);
}

function wrapped(library: Library, prototype: object, name: string, method: Observed): (() => void) | null {
  return wrapMethod(prototype, name, (original) => {
    return function (this: unknown, ...args) {
      if (!memoryCalls.hasSubscribers || inside === this || !isObject(this))
        return Reflect.apply(original, this, args);
      const outer = inside;
      const call: MemoryCall = { library, cache: this, args, method };
      inside = call.cache;
      try {
        if (method.look !== undefined) call.before = lookInto(call, args);
        if (method.callsBack !== undefined && callsBack(call)) inside = outer;
        call.result = Reflect.apply(original, this, args);
        publish(call);
        return call.result;
      } catch (error) {
        call.error = error ?? null;
        publish(call);
        throw error;
      } finally {
        inside = outer;
      }
    };
  });
}

/** A getter of the prototype warns of a name that is out of date. */
function isMethod(prototype: object, name: string): boolean {
  return typeof Object.getOwnPropertyDescriptor(prototype, name)?.value === 'function';
}

function patchClass(library: Library, methods: Readonly<Record<string, Observed>>, exports: unknown) {
  const { LRUCache, default: standard } = exports as { LRUCache?: unknown; default?: unknown };
  for (const made of [LRUCache, standard, exports]) {
    const prototype: unknown = typeof made === 'function' ? made.prototype : undefined;
    if (!isObject(prototype) || !isMethod(prototype, 'get') || !isMethod(prototype, 'set')) continue;
    const names = Object.entries(methods).filter(([name]) => isMethod(prototype, name));
    return allOf(...names.map(([name, observed]) => wrapped(library, prototype, name, observed)));
  }
  return null;
}

/** Of CommonJS and of ES modules, in versions 5 to 7, 8 and 9, 10 and later. */
const LRU_BUILDS: readonly { file: string; module: string }[] = [
  { file: 'index.js', module: 'index.mjs' },
  { file: 'dist/cjs/index.js', module: 'dist/mjs/index.js' },
  ...['index.js', 'index.min.js', 'node/index.js', 'node/index.min.js'].map((file) => ({
    file: `dist/commonjs/${file}`,
    module: `dist/esm/${file}`,
  })),
];

export const memoryCachePatches: readonly LibraryPatch[] = [
  ...LRU_BUILDS.map(({ file, module }) => ({
    name: 'lru-cache',
    file,
    module: { file: module, names: ['*'] },
    patch: (exports: unknown) => patchClass('lru-cache', LRU_CACHE, exports),
  })),
  { name: 'node-cache', patch: (exports) => patchClass('node-cache', NODE_CACHE, exports) },
];
