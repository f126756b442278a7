/** lru-cache in its versions, CommonJS and ES modules, and node-cache, as real libraries. */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { memoryCachePatches } from '../../app/observe/channels/memory-cache.ts';
import type { CacheFact } from '../../app/observe/databases/cache.ts';
import { observeMemoryCaches } from '../../app/observe/databases/memory-cache.ts';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { unhandledDuring } from '../support/unhandled.ts';

interface Lru {
  get(key: unknown, options?: object): unknown;
  peek(key: unknown): unknown;
  has(key: unknown): boolean;
  set(key: unknown, value: unknown, lifetime?: unknown): unknown;
  delete?(key: unknown): boolean;
  del?(key: unknown): void;
  fetch?(key: unknown, options?: object): Promise<unknown>;
  memo?(key: unknown, options?: object): unknown;
  clear?(): void;
  reset?(): void;
}
interface LruClass {
  new (options: object): Lru;
  prototype: Lru;
}

interface NodeCache {
  get(key: string | number): unknown;
  mget(keys: string[]): Record<string, unknown>;
  take(key: string): unknown;
  set(key: string, value: unknown, seconds?: number): boolean;
  mset(list: { key: string; val: unknown; ttl?: number }[]): boolean;
  del(keys: string | string[]): number;
  ttl(key: string, seconds: number): boolean;
  has(key: string): boolean;
  flushAll(): void;
  close(): void;
}

const load = createRequire(import.meta.url);
const HERE = /^test\/observe\/memory-cache\.test\.ts:\d+$/;

function classIn(exports: unknown): LruClass {
  const { LRUCache, default: standard } = exports as { LRUCache?: LruClass; default?: LruClass };
  return LRUCache ?? standard ?? (exports as LruClass);
}

const moduleOf = (file: string): Promise<unknown> =>
  import(pathToFileURL(resolve('node_modules', file)).href) as Promise<unknown>;

const VERSIONS: readonly (readonly [name: string, load: () => unknown])[] = [
  ['lru-cache 5', () => load('lru-cache-5') as unknown],
  ['lru-cache 6', () => load('lru-cache-6') as unknown],
  ['lru-cache 7', () => load('lru-cache-7') as unknown],
  ['lru-cache 7 as an ES module', () => moduleOf('lru-cache-7/index.mjs')],
  ['lru-cache 10', () => load('lru-cache-10') as unknown],
  ['lru-cache 10 as an ES module', () => moduleOf('lru-cache-10/dist/esm/index.js')],
  ['lru-cache 11', () => load('lru-cache') as unknown],
  ['lru-cache 11 as an ES module', () => moduleOf('lru-cache/dist/esm/node/index.min.js')],
];

const lruPatch = memoryCachePatches[0];
const nodeCachePatch = memoryCachePatches.find(({ name }) => name === 'node-cache');

const tracker = new ContextTracker();
let tokens = 0;

function newContext(): Context {
  return new Context({ token: (++tokens).toString(16).padStart(6, '0'), kind: 'request' });
}

function linesOf(context: Context): string[] {
  return context.all('cache').map(({ command, key, args, asked, hits, reply, lifetimeMs }) => {
    const life = lifetimeMs === undefined ? [] : [lifetimeMs === null ? 'no end' : `${lifetimeMs} ms`];
    const said = asked > 0 ? [`${hits} of ${asked}`] : [];
    const replied = reply === undefined ? [] : [`= ${reply}`];
    return [command, key, ...args.map(({ value }) => value), ...said, ...replied, ...life].join(' ');
  });
}

/** In a request: what it recorded. */
async function recorded(work: () => unknown): Promise<Context> {
  const context = newContext();
  await tracker.run(context, async () => work());
  return context;
}

async function readBy(work: () => unknown): Promise<CacheFact | undefined> {
  return (await recorded(work)).last('cache');
}

/** Code of a library. */
function inLibrary(call: (cache: object) => unknown): (cache: object) => unknown {
  return runInNewContext(
    `(cache) => (${call.toString()})(cache)`,
    {},
    '/app/node_modules/semver/index.js',
  ) as (cache: object) => unknown;
}

function withObserver(patched: () => unknown): void {
  let undo: (() => void) | null | undefined;
  let observation: { close(): void } | undefined;
  before(async () => {
    const exports = await patched();
    undo = (exports === load('node-cache') ? nodeCachePatch : lruPatch)?.patch(exports);
    observation = observeMemoryCaches({ tracker, findCaller: createCallerFinder() });
  });
  after(() => {
    observation?.close();
    undo?.();
  });
}

for (const [name, loadClass] of VERSIONS)
  describe(`calls of ${name}`, () => {
    withObserver(loadClass);
    let Cache: LruClass;
    before(async () => {
      Cache = classIn(await loadClass());
    });
    const isOld = /[56]$/.test(name);
    const make = (options: object = {}): Lru => new Cache({ max: 5000, ...options });
    const remove = (cache: Lru, key: unknown): unknown => cache.delete?.(key) ?? cache.del?.(key);

    it('are recorded with command, key, value, hit or miss, lifetime and line', async () => {
      const cache = make();
      const context = await recorded(() => {
        cache.get('user:1');
        cache.set('user:1', { name: 'Ada', password: 'hunter2' }, isOld ? 60_000 : { ttl: 60_000 });
        cache.get('user:1');
        cache.set('count', 7);
        cache.peek('count');
        cache.has('count');
        remove(cache, 'count');
        remove(cache, 'count');
        cache.get('count');
      });
      expect(linesOf(context)).to.deep.equal([
        'GET user:1 0 of 1',
        'SET user:1 {"name":"Ada","password":"hunter2"} 60000 ms',
        'GET user:1 1 of 1',
        'SET count 7 no end',
        'GET count 1 of 1',
        'EXISTS count = 1',
        'DEL count = 1',
        'DEL count = 0',
        'GET count 0 of 1',
      ]);
      const facts = context.all('cache');
      expect(facts[2]?.found).to.deep.equal({ name: 'user:1', value: { name: 'Ada', password: 'hunter2' } });
      for (const fact of facts) {
        expect(fact.caller).to.match(HERE);
        expect(fact).to.include({ system: 'memory', client: 'lru-cache', durationMs: 0, error: null });
        expect(fact).not.to.have.property('stored');
      }
      expect(facts.at(-1)?.past?.deletedBy).to.match(HERE);
    });

    it('know that a value has expired, and when it was stored', async () => {
      const cache = make(isOld ? { maxAge: 5 } : { ttl: 5 });
      const stored = await recorded(() => cache.set('short', 'x'));
      expect(linesOf(stored)).to.deep.equal(['SET short x 5 ms']);
      await pause(20);
      const read = await readBy(() => cache.get('short'));
      expect(read).to.include({ hits: 0 });
      expect(read?.past).to.include({ lifetimeMs: 5, misses: 1 });
      expect(read?.past?.storedMs).to.be.above(5);
      expect(read?.past?.storedBy).to.match(HERE);
    });

    it('name who stored the value: another request, or none', async () => {
      const cache = make();
      cache.set('early', 1);
      const writer = await recorded(() => cache.set('late', 2));
      const context = await recorded(() => [cache.get('early'), cache.get('late')]);
      const [early, late] = context.all('cache').map(({ stored }) => stored);
      expect(early).to.include({ by: null, place: null });
      expect(late?.by).to.equal(writer.token);
      expect(late?.place).to.match(HERE);
      cache.set('late', 3);
      expect((await readBy(() => cache.get('late')))?.stored?.by).to.equal(null);
    });

    it('belong to their request, of 50 at the same time', async () => {
      const cache = make();
      const contexts = await Promise.all(
        Array.from({ length: 50 }, (_one, id) =>
          recorded(async () => {
            cache.set(`a:${id}`, id);
            await pause(1);
            cache.get(`a:${id}`);
          }),
        ),
      );
      contexts.forEach((context, id) => {
        expect(linesOf(context)).to.deep.equal([`SET a:${id} ${id} no end`, `GET a:${id} 1 of 1`]);
      });
    });

    it('are the application’s: those that a library makes are not recorded', async () => {
      const cache = make();
      const use = inLibrary((one) => (one as Lru).get((one as Lru).set('x', 1) === null ? 'y' : 'x'));
      expect(await recorded(() => use(cache)).then(linesOf)).to.deep.equal([]);
      const read = await readBy(() => cache.get('x'));
      expect(read?.stored?.place, 'it is known who stored it').to.equal(null);
    });

    it('return what they returned, to the same object', async () => {
      class Counting extends Cache {
        reads = 0;
        override get(key: unknown): unknown {
          this.reads++;
          return super.get(key);
        }
      }
      const cache = new Counting({ max: 10 });
      const value = { a: 1 };
      await recorded(() => {
        expect(cache.set('a', value)).to.equal(isOld ? true : cache);
        expect(cache.get('a')).to.equal(value);
        expect(cache.get('b')).to.equal(undefined);
      });
      expect(cache.reads).to.equal(2);
      expect(Cache.prototype.get.name).to.equal('get');
      expect(() => Reflect.apply(Cache.prototype.set, null, ['a', 1])).to.throw(TypeError);
      const before = make({ max: 2 });
      await recorded(() => ['a', 'b', 'c'].forEach((key) => before.set(key, key)));
      expect([before.peek('a'), before.peek('b'), before.peek('c')]).to.deep.equal([undefined, 'b', 'c']);
    });

    it('of one line again and again are counted, not all kept', async () => {
      const cache = make();
      cache.set('a', { n: 1 });
      const context = await recorded(() => {
        for (let at = 0; at < 10_000; at++) cache.get('a');
      });
      const kept = context.all('cache').length;
      const beyond = context.beyond('cache')?.count ?? 0;
      expect(kept + beyond).to.equal(10_000);
      expect(kept).to.be.below(5000);
      expect(context.all('cache').filter(({ caller }) => caller !== null)).to.have.length(200);
    });

    it('show nothing of a cache that is only made', async () => {
      expect(linesOf(await recorded(() => make()))).to.deep.equal([]);
    });

    it('hold no value', async () => {
      const cache = make();
      const refs: WeakRef<object>[] = [];
      await recorded(() => {
        const value = { text: 'a'.repeat(50) };
        refs.push(new WeakRef(value));
        cache.set('a', value);
        cache.get('a');
      });
      cache.set('a', 1);
      await pause(5);
      setFlagsFromString('--expose-gc');
      const collect = runInNewContext('gc') as () => void;
      await pause(1);
      collect();
      expect(refs[0]?.deref()).to.equal(undefined);
    });

    it('say what was changed in an object since it was stored, or read', async () => {
      interface Value {
        price: number;
        of: { tags: string[]; at: Date };
        more?: number;
      }
      const changes: [change: (value: Value) => void, expected: object][] = [
        [(value) => (value.price = 90), { path: 'price', oldValue: 100, newValue: 90 }],
        [({ of }) => of.tags.push('y'), { path: 'of.tags.length', name: 'tags', oldValue: 1, newValue: 2 }],
        [({ of }) => (of.tags = []), { path: 'of.tags.length', oldValue: 1, newValue: 0 }],
        [({ of }) => of.at.setTime(1000), { path: 'of.at', newValue: '1970-01-01T00:00:01.000Z' }],
        [(value) => (value.more = 1), { path: 'more', newValue: 1 }],
        [(value) => Reflect.deleteProperty(value, 'price'), { path: 'price', oldValue: 100 }],
      ];
      for (const [change, expected] of changes) {
        const cache = make();
        const value: Value = { price: 100, of: { tags: ['x'], at: new Date(0) } };
        const writer = await recorded(() => cache.set('a', value));
        const reader = await recorded(() => cache.get('a'));
        expect(reader.last('cache')).not.to.have.property('changed');
        change(value);
        for (let reads = 0; reads < 2; reads++) {
          const read = await readBy(() => cache.get('a'));
          expect(read?.stored?.by).to.equal(writer.token);
          expect(read?.changed).to.include({ ...expected, isLoaded: false });
          expect(read?.changed?.since).to.include({ by: reader.token, isRead: true, isSafe: false });
        }
      }
      const cache = make();
      const value = { n: 1 };
      await recorded(() => cache.set('a', value));
      value.n = 2;
      expect((await readBy(() => cache.get('a')))?.changed?.since).to.include({ isRead: false });
      expect(await readBy(() => cache.get('a')), 'as it was filled').not.to.have.property('changed');
    });

    it('say nothing of a value that was stored again, or can’t be compared', async () => {
      const cache = make();
      const value = { price: 100 };
      await recorded(() => cache.set('a', value));
      value.price = 90;
      cache.set('a', value);
      expect(await readBy(() => cache.get('a'))).not.to.have.property('changed');
      let runs = 0;
      class Counter {
        count = 0;
      }
      const cyclic: Record<string, unknown> = { count: 0 };
      cyclic.self = cyclic;
      const others: Record<string, { count: number }> = {
        function: { count: 0, run: () => 0 } as { count: number },
        cyclic: cyclic as { count: number },
        class: new Counter(),
        map: { count: 0, all: new Map([['a', 1]]) } as { count: number },
        large: { all: Array.from({ length: 600 }, () => 1), count: 0 } as { count: number },
        getter: { count: 0, get next() { return ++runs; } } as { count: number },
        proxy: new Proxy({ count: 0 }, { get: (_value, name) => (name === 'then' ? undefined : ++runs), ownKeys: () => { runs++; return []; } }),
        same: { count: 0, at: new Date(), none: undefined, not: NaN } as { count: number },
      }; // prettier-ignore
      for (const [key, one] of Object.entries(others)) {
        await recorded(() => cache.set(key, one));
        if (key !== 'same') one.count = 1;
        const read = await readBy(() => void cache.get(key));
        expect(read, key).to.include({ hits: 1 }).and.not.have.property('changed');
      }
      expect(runs).to.equal(0);
    });

    if (/7|10|11/.test(name))
      it('of `fetch` are reads, and what it loads is stored by its request', async () => {
        const asked: unknown[] = [];
        const cache = make({
          fetchMethod: async (key: string, _old: unknown, { options }: { options: object }) => {
            asked.push(key, options);
            await pause(2);
            if (key === 'bad') throw new Error('no such user');
            return { key };
          },
        });
        const options = Object.freeze({ allowStale: true });
        const first = await recorded(async () => {
          expect(await cache.fetch?.('a', options)).to.deep.equal({ key: 'a' });
        });
        expect(linesOf(first)[0]).to.equal('GET a 0 of 1');
        const read = await readBy(() => cache.fetch?.('a'));
        expect(read).to.include({ command: 'GET', hits: 1 });
        expect(read?.found?.value).to.deep.equal({ key: 'a' });
        expect(read?.stored).to.include({ by: first.token });
        expect(read?.stored?.place).to.match(HERE);
        expect(asked).to.have.length(2);
        const unhandled = await unhandledDuring(async () => {
          await recorded(() => void cache.fetch?.('bad'));
          await pause(20);
        });
        expect(unhandled.map((error) => (error as Error).message)).to.deep.equal(['no such user']);
      });

    if (/10|11/.test(name))
      it('of `memo` are a read, and a write after a miss', async () => {
        const cache = make({ memoMethod: (key: string) => ({ key }) });
        const context = await recorded(() => {
          expect(cache.memo?.('a')).to.deep.equal({ key: 'a' });
          expect(cache.memo?.('a')).to.equal(cache.get('a'));
        });
        expect(linesOf(context)).to.deep.equal([
          'GET a 0 of 1',
          'SET a {"key":"a"} no end',
          'GET a 1 of 1',
          'GET a 1 of 1',
        ]);
      });
  });

describe('calls of node-cache 5', () => {
  const NodeCacheClass = load('node-cache') as new (options?: object) => NodeCache;
  withObserver(() => NodeCacheClass);
  const made: NodeCache[] = [];
  const make = (options?: object): NodeCache => {
    const cache = new NodeCacheClass(options);
    made.push(cache);
    return cache;
  };
  after(() => {
    for (const cache of made) cache.close();
  });

  it('are recorded with command, keys, values, hits, lifetime and line', async () => {
    const cache = make({ stdTTL: 30 });
    const context = await recorded(() => {
      cache.set('user:1', 'Ada', 60);
      cache.set('user:2', 'Zoë');
      cache.mset([{ key: 'a', val: 1 }, { key: 'b', val: 2, ttl: 5 }]); // prettier-ignore
      cache.mget(['user:1', 'nobody']);
      cache.take('a');
      cache.has('a');
      cache.ttl('user:2', 0);
      cache.del(['user:1', 'user:3']);
      cache.get('user:1');
    });
    const lines = linesOf(context).map((line) => line.replace(/(?:59|60)\d{3} ms/, '60 s').replace(/(?:29|30)\d{3} ms/, '30 s')); // prettier-ignore
    expect(lines).to.deep.equal([
      'SET user:1 Ada 60 s',
      'SET user:2 Zoë 30 s',
      'MSET a 1 b 2',
      'MGET user:1 nobody 1 of 2',
      'GETDEL a 1 of 1',
      'EXISTS a = 0',
      'EXPIRE user:2 = 1 30 s',
      'DEL user:1 user:3 = 1',
      'GET user:1 0 of 1',
    ]);
    expect(context.all('cache')[3]?.found).to.deep.equal({ name: 'MGET', value: { 'user:1': 'Ada' } });
    for (const { caller } of context.all('cache')) expect(caller).to.match(HERE);
  });

  it('compare a value that is stored itself, not the copies of it', async () => {
    for (const useClones of [false, true]) {
      const cache = make({ useClones });
      const value = { price: 100 };
      await recorded(() => cache.set('a', value));
      value.price = 90;
      const read = await readBy(() => cache.get('a'));
      expect(read?.changed?.newValue).to.equal(useClones ? undefined : 90);
    }
  });

  it('name who stored the value, and what a full cache threw', async () => {
    const cache = make({ maxKeys: 1 });
    const writer = await recorded(() => cache.set('a', { n: 1 }));
    const read = await readBy(() => cache.get('a'));
    expect(read?.stored?.by).to.equal(writer.token);
    const numbers = make();
    const second = await recorded(() => [numbers.set('1', 'a'), numbers.set(1 as never, 'b')]);
    expect((await readBy(() => numbers.get('1')))?.stored?.by).to.equal(second.token);
    numbers.set(1 as never, 'c');
    expect((await readBy(() => numbers.get('1')))?.stored?.by).to.equal(null);
    const failed = await readBy(() => {
      expect(() => cache.set('b', 1)).to.throw('Cache max keys');
    });
    expect(failed?.error).to.match(/Cache max keys/);
  });

  it('are not those of a library, or of its own timers', async () => {
    const cache = make({ stdTTL: 0.01, checkperiod: 0.02 });
    const context = await recorded(async () => {
      cache.set('a', 1);
      await pause(60);
    });
    expect(linesOf(context).map((line) => line.split(' ')[0])).to.deep.equal(['SET']);
  });
});
