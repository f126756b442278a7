/**
 * Queries that are sent when they are awaited -> `express-hindsight:query:awaited`, then `express-hindsight:orm:call`. Where one is made,
 * the lines that make it are on the stack, and those that lead there. `await` reads `then` at once, but calls it from the microtask queue,
 * where the line that awaits is on no stack any more (before Node.js 26).
 */
import { channel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { type OrmCall, ormCalls } from './labels.ts';
import { isThenable } from './trace.ts';
import { allOf, type Method, wrapCalls, wrapMethod } from './wrap-method.ts';

/** Message: the call that a query will make, which is made or awaited now; a subscriber adds its line. */
export const awaitedQueries = channel('express-hindsight:query:awaited');

/** Message: the call that a query makes now; a subscriber adds a line in `otherwise`. */
export const runQueries = channel('express-hindsight:query:run');

const awaited = new WeakMap<object, OrmCall>();

function noteLine(query: object, label: string | null = null): void {
  if (!awaitedQueries.hasSubscribers || awaited.has(query)) return;
  const call: OrmCall = { label };
  awaitedQueries.publish(call);
  if (call.called !== undefined) awaited.set(query, call);
}

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
    if (!hasLine(query)) noteLine(query);
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

/** Of Knex's builder: it is made where it gets its table. */
function wrapMade(prototype: unknown): (() => void) | null {
  return allOf(
    ...['table', 'from', 'into'].map((name) =>
      wrapCalls(prototype, name, (call, self) => {
        noteLine(self);
        return call();
      }),
    ),
  );
}

/**
 * Of Knex's runner: the line of `.then()`, of a callback or a stream is on the stack now, that of an `await` when the statement is sent.
 */
export function wrapRunner(prototype: unknown): (() => void) | null {
  return wrapCalls(prototype, 'ensureConnection', (call, self) => {
    const { builder } = self as { builder?: object };
    const made = builder === undefined ? undefined : awaited.get(builder);
    if (made !== undefined) return ormCalls.runStores(made, call);
    const ormCall: OrmCall = { label: null, library: 'knex' };
    if (!isAwaiting && runQueries.hasSubscribers) runQueries.publish(ormCall);
    return ormCall.otherwise === undefined ? call() : ormCalls.runStores(ormCall, call);
  });
}

/** Of Objection: its hooks run before it makes a query of Knex. */
function patchObjection(exports: unknown): (() => void) | null {
  const { QueryBuilder } = exports as { QueryBuilder?: { prototype?: object } };
  return allOf(
    wrapCalls(QueryBuilder, 'forClass', (call, _self, [model]) => {
      const builder = call();
      const { name } = (model ?? {}) as { name?: unknown };
      if (typeof builder === 'object' && builder !== null)
        noteLine(builder, typeof name === 'string' ? `${name}.query` : null);
      return builder;
    }),
    wrapCalls(QueryBuilder?.prototype, 'execute', (call, self) => {
      const made = awaited.get(self);
      return made === undefined ? call() : ormCalls.runStores(made, call);
    }),
  );
}

const DIALECTS: Readonly<Record<string, string>> = {
  pg: 'Pg',
  mysql: 'MySql',
  sqlite: 'SQLite',
  singlestore: 'SingleStore',
  gel: 'Gel',
};

/** Of `drizzle-orm`: a class that has a `then` of its own, in its file as CommonJS and as an ES module; `builder` makes its objects by `from`. */
function patchOf(path: string, name: string, builder?: string): LibraryPatch {
  return {
    name: 'drizzle-orm',
    file: `${path}.cjs`,
    module: { file: `${path}.js`, names: builder === undefined ? [name] : [name, builder] },
    patch(exports) {
      const classes = exports as Partial<Record<string, { prototype?: object }>>;
      const undo = wrapLazyQuery(classes[name]?.prototype);
      if (builder === undefined) return undo;
      const undoFrom = wrapCalls(classes[builder]?.prototype, 'from', (call) => {
        const query = call();
        if (typeof query === 'object' && query !== null) noteLine(query);
        return query;
      });
      return allOf(undo, undoFrom);
    },
  };
}

export const lazyQueryPatches: readonly LibraryPatch[] = [
  {
    name: 'knex',
    file: 'lib/execution/runner.js',
    patch: (exports) => wrapRunner((exports as { prototype?: object }).prototype),
  },
  {
    name: 'knex',
    file: 'lib/query/querybuilder.js',
    patch(exports) {
      const { prototype } = exports as { prototype?: object };
      return allOf(wrapThen(prototype), wrapMade(prototype));
    },
  },
  {
    name: 'knex',
    file: 'lib/raw.js',
    patch: (exports) => wrapThen((exports as { prototype?: object }).prototype),
  },
  { name: 'objection', file: 'lib/queryBuilder/QueryBuilder.js', patch: patchObjection },
  patchOf('query-promise', 'QueryPromise'),
  ...Object.entries(DIALECTS).flatMap(([folder, prefix]) => [
    patchOf(`${folder}-core/query-builders/select`, `${prefix}SelectBase`, `${prefix}SelectBuilder`),
    patchOf(`${folder}-core/query-builders/count`, `${prefix}CountBuilder`),
  ]),
];
