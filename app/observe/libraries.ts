/**
 * Finds the libraries of this process and makes them publish: those in `require.cache`, those that `Module._load` loads later (also for
 * an `import` of CommonJS), and ES modules by a synchronous hook where Node.js has a safe one, else once they appear in the stack of a
 * statement or a registration. Decision 17 has what else was tried.
 */
import diagnostics from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import Module, { isBuiltin } from 'node:module';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { groupBy } from '../profiler/group-by.ts';
import { wrapCalls } from './channels/wrap-method.ts';
import {
  amendModule,
  type HandedOver,
  handedOver,
  handing,
  type Hooks,
  IN_PACKAGE,
  registerHooks,
  seeing,
  seenModules,
} from './es-modules.ts';
import { closing, subscribeTo } from './subscribe.ts';

export interface LibraryPatch {
  /** Package or builtin: `pg`, `node:sqlite`. A package may have several patches. */
  name: string;
  /** File of the package whose exports are patched, `lib/cmap/connection.js`; absent: its main file. */
  file?: string;
  /** The package loads the file with its main one or later: we load it once another of its files is loaded. */
  isLazy?: boolean;
  /** The same as an ES module: this file hands over these names, which `patch` may replace. */
  module?: { file: string; names: readonly string[] };
  /**
   * Makes this copy publish; returns what undoes it, or null if its shape is unknown. Called once per copy and profiler:
   * `wrapMethod` wraps once. By hand it gets the package's exports. Must not throw. If the library publishes by itself, it returns a function that does nothing.
   */
  patch(exports: unknown): (() => void) | null;
}

export interface FoundLibrary {
  name: string;
  version: string | null;
}

interface Loading {
  _load: (request: string, parent: { filename?: string | null } | undefined, isMain: boolean) => unknown;
}

const BARE = /^(?:@[^/]+\/)?[^/]+/;
const loading = diagnostics.channel('express-hindsight:loaded');
function versionOf(folder: string): string | null {
  try {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      version?: unknown;
    };
    return typeof version === 'string' ? version : null;
  } catch {
    return null;
  }
}

function attempt(patch: LibraryPatch, exports: unknown): (() => void) | null {
  try {
    return patch.patch(exports);
  } catch {
    return null;
  }
}

/** Of the CommonJS build, where `import()` is a `require` (bin/bundle.js). */
declare const hindsightImport: ((url: string) => Promise<object>) | undefined;

function importModule(url: string): Promise<object> {
  return typeof hindsightImport === 'undefined' ? import(url) : hindsightImport(url);
}

export function watchLibraries(patches: readonly LibraryPatch[]) {
  const byName = groupBy(patches, ({ name }) => name);
  const requireFile = Module.createRequire(process.execPath);
  const { cache, resolve } = requireFile;
  const undo: (() => void)[] = [];
  const found = new Map<string, FoundLibrary>();
  const done = new Set<string>();

  function apply(
    patch: LibraryPatch,
    exports: unknown,
    { key, folder }: { key: string; folder: string | null },
  ): boolean {
    if (done.has(key)) return true;
    // Before it runs: what it loads brings us here again.
    done.add(key);
    const undone = attempt(patch, exports);
    if (undone === null) {
      done.delete(key);
      return false;
    }
    undo.push(undone);
    const place = folder ?? patch.name;
    // The same copy may have been handed over before.
    if (folder !== null) found.delete(patch.name);
    if (!found.has(place))
      found.set(place, { name: patch.name, version: folder === null ? null : versionOf(folder) });
    return true;
  }

  function mainOf(folder: string): string | null {
    try {
      return resolve(folder);
    } catch {
      return null;
    }
  }

  function load(file: string): void {
    try {
      requireFile(file);
    } catch {
      // Another version: it is not observed.
    }
  }

  function look(name: string, folder: string): void {
    for (const patch of byName.get(name) ?? []) {
      const file = patch.file === undefined ? mainOf(folder) : join(folder, ...patch.file.split('/'));
      const isLazy = patch.isLazy === true && cache[mainOf(folder) ?? '']?.loaded === true;
      // Once: to load it brings us here again.
      if (file !== null && isLazy && cache[file] === undefined) load(file);
      const loaded = file === null ? undefined : cache[file];
      // While it still loads, its exports aren't complete.
      if (file !== null && loaded?.loaded === true)
        apply(patch, loaded.exports, { key: `${patches.indexOf(patch)} ${file}`, folder });
    }
  }

  function lookAtFile(file: string): void {
    const [, folder, path] = IN_PACKAGE.exec(file) ?? [];
    const name = path?.replaceAll(sep, '/');
    if (folder !== undefined && name !== undefined && byName.has(name)) look(name, folder);
  }

  function lookAtBuiltin(name: string): void {
    for (const patch of byName.get(name) ?? [])
      apply(patch, process.getBuiltinModule(name), { key: name, folder: null });
  }

  function lookAround(): void {
    const folders = new Map<string, string>();
    for (const file of Object.keys(cache)) {
      const [, folder, path] = IN_PACKAGE.exec(file) ?? [];
      const name = path?.replaceAll(sep, '/');
      if (folder !== undefined && name !== undefined && byName.has(name)) folders.set(folder, name);
    }
    for (const [folder, name] of folders) look(name, folder);
    const { moduleLoadList = [] } = process as { moduleLoadList?: readonly string[] };
    for (const name of byName.keys())
      if (name.startsWith('node:') && moduleLoadList.includes(`NativeModule ${name.slice(5)}`))
        lookAtBuiltin(name);
  }

  function onLoaded(message: unknown): void {
    const { request, parent } = message as { request: string; parent: string | null };
    if (isBuiltin(request)) lookAtBuiltin(request.startsWith('node:') ? request : `node:${request}`);
    else if (isAbsolute(request)) lookAtFile(resolve(request));
    else if (byName.has(BARE.exec(request)?.[0] ?? ''))
      lookAtFile(parent === null ? resolve(request) : Module.createRequire(parent).resolve(request));
  }

  function onHandedOver(message: unknown): void {
    const handed = message as HandedOver;
    if (!handedOver().includes(handed)) handedOver().push(handed);
    takeOver(handed);
  }

  function takeOver({ name, url, exports }: HandedOver): void {
    const folder = IN_PACKAGE.exec(fileURLToPath(url))?.[1] ?? dirname(fileURLToPath(url));
    for (const patch of byName.get(name) ?? [])
      if (patch.module !== undefined && url.endsWith(`/${patch.module.file}`))
        apply(patch, exports, { key: url, folder });
  }

  /** To import a module that is loaded gives what it exports, and runs nothing. */
  function onModuleSeen(message: unknown): void {
    const url = message as string;
    const [, , name = '', path = ''] = IN_PACKAGE.exec(url) ?? [];
    for (const { module, isLazy } of byName.get(name) ?? []) {
      if (module === undefined || (module.file !== path && isLazy !== true)) continue;
      const file = url.slice(0, -path.length) + module.file;
      if (done.has(file)) continue;
      importModule(file).then(
        (exports) => {
          takeOver({ name, url: file, exports });
        },
        () => undefined,
      );
    }
  }

  lookAround();
  for (const handed of handedOver()) takeOver(handed);
  for (const url of seenModules()) onModuleSeen(url);
  const restoreLoad = wrapCalls(Module, '_load', (call, _module, args) => {
    const exports = call();
    const [request, parent] = args as Parameters<Loading['_load']>;
    if (loading.hasSubscribers && typeof request === 'string' && !request.startsWith('.'))
      loading.publish({ request, parent: parent?.filename ?? null });
    return exports;
  });
  const subscriptions = closing([
    subscribeTo(loading, onLoaded),
    subscribeTo(handing, onHandedOver),
    subscribeTo(seeing, onModuleSeen),
  ]);
  const loadModule: Hooks['load'] = (url, context, next) => {
    const loaded = next(url, context);
    try {
      if (loaded.format === 'builtin') lookAtBuiltin(url);
      return amendModule(url, loaded, (name, file) =>
        (byName.get(name) ?? []).flatMap(({ module }) => (module?.file === file ? module.names : [])),
      );
    } catch {
      return loaded;
    }
  };
  // The hook is called for each ES module: not if all libraries are CommonJS.
  const isModular = patches.some(({ name, module }) => module !== undefined || name.startsWith('node:'));
  const hooks = isModular ? registerHooks({ load: loadModule }) : undefined;

  return {
    /** By hand, for libraries in a bundle or loaded in a way that we don't observe. False for an unknown library. */
    observe(name: string, exports: unknown): boolean {
      const inside = (exports as { default?: unknown } | null | undefined)?.default;
      const key = { key: `${name} by hand ${done.size}`, folder: null };
      return (byName.get(name) ?? []).some(
        (patch) => apply(patch, exports, key) || (inside !== undefined && apply(patch, inside, key)),
      );
    },
    found: () => [...found.values()],
    close(): void {
      hooks?.deregister();
      subscriptions.close();
      restoreLoad?.();
      for (const one of undo.splice(0).reverse()) one();
    },
  };
}

export type Libraries = ReturnType<typeof watchLibraries>;
