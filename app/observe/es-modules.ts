/**
 * ES modules hand over what is replaced in them: a synchronous hook of Node.js adds a line to their source. An application's static
 * imports are all loaded before any of them runs, so `register` adds the lines from the start.
 */
import diagnostics from 'node:diagnostics_channel';
import Module from 'node:module';
import { fileURLToPath } from 'node:url';

export interface HandedOver {
  name: string;
  url: string;
  exports: object;
}

export interface LoadedModule {
  format?: string | null;
  source?: unknown;
}

export interface Hooks {
  load(url: string, context: unknown, next: (url: string, context: unknown) => LoadedModule): LoadedModule;
}

interface LoadHooks {
  registerHooks?(hooks: Hooks): { deregister(): void };
}

/** Greedy: the last `node_modules` counts. Folder, package and file within it. */
export const IN_PACKAGE = /^(.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+))[\\/](.+)$/s;
const HANDED_OVER = 'express-hindsight:handed-over';
export const handing = diagnostics.channel(HANDED_OVER);
/** On the process: what ES modules handed over before another profiler was created. */
const HANDED = Symbol.for('express-hindsight.handed-over');
/** On the process, too: files of the application that are loaded as modules. */
const OWN = Symbol.for('express-hindsight.own-modules');
/** On the process, too: addresses of modules of packages that appeared in a stack. */
const SEEN = Symbol.for('express-hindsight.seen-modules');
export const seeing = diagnostics.channel('express-hindsight:module-seen');

/** The ES modules of all patches, for `register`, which does not load them before an Express; a test compares the two. */
export const ES_MODULES: Readonly<Record<string, readonly string[]>> = {
  '@mikro-orm/core/EntityManager.js': ['EntityManager'],
  '@nestjs/core/exceptions/exceptions-handler.js': ['ExceptionsHandler'],
  '@nestjs/core/guards/guards-consumer.js': ['GuardsConsumer'],
  '@nestjs/core/interceptors/interceptors-consumer.js': ['InterceptorsConsumer'],
  '@nestjs/core/middleware/middleware-module.js': ['MiddlewareModule'],
  '@nestjs/core/pipes/pipes-consumer.js': ['PipesConsumer'],
  '@nestjs/core/router/router-explorer.js': ['RouterExplorer'],
  'drizzle-orm/gel-core/query-builders/count.js': ['GelCountBuilder'],
  'drizzle-orm/gel-core/query-builders/select.js': ['GelSelectBase', 'GelSelectBuilder'],
  'drizzle-orm/mysql-core/query-builders/count.js': ['MySqlCountBuilder'],
  'drizzle-orm/mysql-core/query-builders/select.js': ['MySqlSelectBase', 'MySqlSelectBuilder'],
  'drizzle-orm/pg-core/query-builders/count.js': ['PgCountBuilder'],
  'drizzle-orm/pg-core/query-builders/select.js': ['PgSelectBase', 'PgSelectBuilder'],
  'drizzle-orm/singlestore-core/query-builders/count.js': ['SingleStoreCountBuilder'],
  'drizzle-orm/singlestore-core/query-builders/select.js': [
    'SingleStoreSelectBase',
    'SingleStoreSelectBuilder',
  ],
  'drizzle-orm/sqlite-core/query-builders/count.js': ['SQLiteCountBuilder'],
  'drizzle-orm/sqlite-core/query-builders/select.js': ['SQLiteSelectBase', 'SQLiteSelectBuilder'],
  'drizzle-orm/query-promise.js': ['QueryPromise'],
  'graphql/execution/execute.mjs': ['execute'],
  'kysely/dist/esm/query-executor/query-executor-base.js': ['QueryExecutorBase'],
  'kysely/dist/query-executor/query-executor-base.js': ['QueryExecutorBase'],
  'lru-cache/dist/esm/index.js': ['*'],
  'lru-cache/dist/esm/index.min.js': ['*'],
  'lru-cache/dist/esm/node/index.js': ['*'],
  'lru-cache/dist/esm/node/index.min.js': ['*'],
  'lru-cache/dist/mjs/index.js': ['*'],
  'lru-cache/index.mjs': ['*'],
  'nodemailer/dist/esm/mailer/index.js': ['Mail'],
  'postgres/src/query.js': ['Query'],
};

export function handedOver(): HandedOver[] {
  const holder = globalThis as { [HANDED]?: HandedOver[] };
  return (holder[HANDED] ??= []);
}

export function ownModules(): Set<string> {
  const holder = globalThis as { [OWN]?: Set<string> };
  return (holder[OWN] ??= new Set());
}

export function seenModules(): Set<string> {
  const holder = globalThis as { [SEEN]?: Set<string> };
  return (holder[SEEN] ??= new Set());
}

/** The first release of each line that is free of nodejs/node#57327, as [minor, patch]; later lines all are. */
const FIRST_SAFE: Readonly<Record<number, readonly [number, number]>> = {
  22: [22, 3],
  24: [11, 1],
  25: [1, 0],
};

/**
 * Whether module hooks of this Node.js leave an application alone. In the others, a `load` hook that changes nothing stops every
 * application that imports Express (nodejs/node#57327), or they have no such hooks (20, and 22 before 22.15).
 */
export function hasSafeHooks(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => parseInt(part, 10));
  if (major > 25) return true;
  const [safeMinor, safePatch] = FIRST_SAFE[major] ?? [Infinity, 0];
  return minor > safeMinor || (minor === safeMinor && patch >= safePatch);
}

/** What a Node.js whose hooks we leave alone does not show; null if it has safe hooks, or none. */
export function unobservedModules(): string | null {
  const version = process.versions.node;
  if (hasSafeHooks(version) || !('registerHooks' in Module)) return null;
  return `libraries that are ES modules, such as postgres, may not be recorded: the module hooks of Node.js ${version} are faulty. Use 22.22.3, 24.11.1, 25.1 or later.`;
}

/** undefined without safe hooks, and where a test runner refuses them (Jest). */
export function registerHooks(hooks: Hooks): { deregister(): void } | undefined {
  if (!hasSafeHooks(process.versions.node)) return undefined;
  try {
    return (Module as LoadHooks).registerHooks?.(hooks);
  } catch {
    return undefined;
  }
}

/** Accessors, because a function declaration can be replaced inside its own module only. `*`: all that the module exports, whatever it names it. */
function handOver(url: string, name: string, names: readonly string[]): string {
  if (names.includes('*'))
    return `\n;import * as hindsightExports from ${JSON.stringify(url)};process.getBuiltinModule('node:diagnostics_channel').channel('${HANDED_OVER}').publish({ name: '${name}', url: import.meta.url, exports: hindsightExports });\n`;
  const members = names.map((one) => `get ${one}() { return ${one}; }, set ${one}(to) { ${one} = to; }`);
  return `\n;process.getBuiltinModule('node:diagnostics_channel').channel('${HANDED_OVER}').publish({ name: '${name}', url: import.meta.url, exports: { ${members.join(', ')} } });\n`;
}

/** Adds a line to the modules of packages that matter, and notes those of the application. `namesOf`: what a file of a package hands over. */
export function amendModule(
  url: string,
  loaded: LoadedModule,
  namesOf: (name: string, file: string) => readonly string[],
): LoadedModule {
  const isOfPackage = url.includes('/node_modules/');
  if (!isOfPackage && url.startsWith('file:')) ownModules().add(fileURLToPath(url));
  if (!isOfPackage || loaded.format !== 'module') return loaded;
  const [, , name = '', file = ''] = IN_PACKAGE.exec(url) ?? [];
  const names = namesOf(name, file);
  if (names.length === 0) return loaded;
  const source =
    typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString();
  return source.includes(HANDED_OVER) ? loaded : { ...loaded, source: source + handOver(url, name, names) };
}

/** Until the first profiler of the process watches; returns what ends it. */
export function watchEarlyModules(): () => void {
  const keep = (message: unknown): void => void handedOver().push(message as HandedOver);
  const hooks = registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      try {
        return amendModule(url, loaded, (name, file) => ES_MODULES[`${name}/${file}`] ?? []);
      } catch {
        return loaded;
      }
    },
  });
  if (hooks !== undefined) diagnostics.subscribe(HANDED_OVER, keep);
  return () => {
    hooks?.deregister();
    diagnostics.unsubscribe(HANDED_OVER, keep);
  };
}
