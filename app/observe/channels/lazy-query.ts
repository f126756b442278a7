/**
 * Queries that are sent when they are awaited -> `express-hindsight:query:awaited`, then `express-hindsight:orm:call`. `await` reads `then`
 * at once, but calls it from the microtask queue, where the line that awaits is on no stack any more (before Node.js 26).
 */
import { channel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { type OrmCall, ormCalls } from './labels.ts';
import { isThenable } from './trace.ts';
import { type Method, wrapCalls, wrapMethod } from './wrap-method.ts';

/** Message: the call that the query will make; a subscriber adds its line. */
export const awaitedQueries = channel('express-hindsight:query:awaited');

/** Message: the call that a query makes now; a subscriber adds a line in `otherwise`. */
export const runQueries = channel('express-hindsight:query:run');

const awaited = new WeakMap<object, OrmCall>();

/** What the application does with the result is not a part of the query. */
function thenApart(call: OrmCall, original: Method, query: unknown, args: unknown[]): unknown {
  const settled: unknown = ormCalls.runStores(call, () => Reflect.apply(original, query, []));
  return isThenable(settled) ? (Reflect.apply(settled.then, settled, args) as unknown) : settled;
}

/** `prototype`: of the queries; `hasLine`: those whose line is known without this. Returns what undoes it; null if there is no `then`. */
export function wrapLazyQuery(
  prototype: unknown,
  hasLine: (query: object) => boolean = () => false,
): (() => void) | null {
  const onRead = (query: object): void => {
    if (!awaitedQueries.hasSubscribers || awaited.has(query) || hasLine(query)) return;
    const call: OrmCall = { label: null };
    awaitedQueries.publish(call);
    if (call.called !== undefined) awaited.set(query, call);
  };
  return wrapMethod(
    prototype,
    'then',
    (original) =>
      function (this: unknown, ...args) {
        const call = awaited.get(this as object);
        if (call === undefined) return Reflect.apply(original, this, args);
        awaited.delete(this as object);
        return thenApart(call, original, this, args);
      },
    onRead,
  );
}

const { toString } = Function.prototype;

/** What the engine calls `then` with, for `await` and `Promise.all` (ECMAScript, NewPromiseResolveThenableJob). */
function isOfEngine(callback: unknown): boolean {
  return (
    typeof callback === 'function' &&
    callback.name === '' &&
    toString.call(callback).includes('[native code]')
  );
}

/** Knex asks for a connection in the same turn. */
let isAwaiting = false;

function wrapThen(prototype: unknown): (() => void) | null {
  return wrapCalls(prototype, 'then', (call, _self, [callback]) => {
    isAwaiting = isOfEngine(callback);
    try {
      return call();
    } finally {
      isAwaiting = false;
    }
  });
}

/**
 * Of Knex's runner: the line of `.then()`, of a callback or a stream is on the stack now, that of an `await` when the statement is sent.
 */
export function wrapRunner(prototype: unknown): (() => void) | null {
  return wrapCalls(prototype, 'ensureConnection', (call) => {
    const ormCall: OrmCall = { label: null, library: 'knex' };
    if (!isAwaiting && runQueries.hasSubscribers) runQueries.publish(ormCall);
    return ormCall.otherwise === undefined ? call() : ormCalls.runStores(ormCall, call);
  });
}

const DIALECTS: Readonly<Record<string, string>> = {
  pg: 'Pg',
  mysql: 'MySql',
  sqlite: 'SQLite',
  singlestore: 'SingleStore',
  gel: 'Gel',
};

/** Of `drizzle-orm`: a class that has a `then` of its own, in its file as CommonJS and as an ES module. */
function patchOf(path: string, name: string): LibraryPatch {
  return {
    name: 'drizzle-orm',
    file: `${path}.cjs`,
    module: { file: `${path}.js`, names: [name] },
    patch: (exports) =>
      wrapLazyQuery((exports as Partial<Record<string, { prototype?: object }>>)[name]?.prototype),
  };
}

export const lazyQueryPatches: readonly LibraryPatch[] = [
  {
    name: 'knex',
    file: 'lib/execution/runner.js',
    patch: (exports) => wrapRunner((exports as { prototype?: object }).prototype),
  },
  ...['lib/query/querybuilder.js', 'lib/raw.js'].map((file): LibraryPatch => ({
    name: 'knex',
    file,
    patch: (exports) => wrapThen((exports as { prototype?: object }).prototype),
  })),
  patchOf('query-promise', 'QueryPromise'),
  ...Object.entries(DIALECTS).flatMap(([folder, prefix]) => [
    patchOf(`${folder}-core/query-builders/select`, `${prefix}SelectBase`),
    patchOf(`${folder}-core/query-builders/count`, `${prefix}CountBuilder`),
  ]),
];
