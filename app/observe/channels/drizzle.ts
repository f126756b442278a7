/** `drizzle-orm` -> `express-hindsight:orm:call` with the line that awaits a query. */
import type { LibraryPatch } from '../libraries.ts';
import { wrapLazyQuery } from './lazy-query.ts';

const DIALECTS: Readonly<Record<string, string>> = {
  pg: 'Pg',
  mysql: 'MySql',
  sqlite: 'SQLite',
  singlestore: 'SingleStore',
  gel: 'Gel',
};

/** A class that has a `then` of its own, in its file as CommonJS and as an ES module. */
function patchOf(path: string, name: string): LibraryPatch {
  return {
    name: 'drizzle-orm',
    file: `${path}.cjs`,
    module: { file: `${path}.js`, names: [name] },
    patch: (exports) =>
      wrapLazyQuery((exports as Partial<Record<string, { prototype?: object }>>)[name]?.prototype),
  };
}

export const drizzlePatches: readonly LibraryPatch[] = [
  patchOf('query-promise', 'QueryPromise'),
  ...Object.entries(DIALECTS).flatMap(([folder, prefix]) => [
    patchOf(`${folder}-core/query-builders/select`, `${prefix}SelectBase`),
    patchOf(`${folder}-core/query-builders/count`, `${prefix}CountBuilder`),
  ]),
];
