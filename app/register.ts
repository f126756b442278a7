/**
 * The door of no line: `node --import express-hindsight/register server.js`. Runs in every process of a NODE_OPTIONS, most of which have
 * no Express, so until one is loaded it loads nothing: it looks at what `require` returns, at ES modules, and at servers that start to listen. It must
 * not throw.
 */
import { printError } from './print.ts';
import diagnostics from 'node:diagnostics_channel';
import Module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Server } from 'node:http';
import type * as profilerModule from './compose/auto-profiler.ts';
import type { AutoProfiler, ExpressLibrary } from './compose/auto-profiler.ts';
import { watchEarlyModules } from './observe/es-modules.ts';

const NAMED = /(--import|--require|-r)([\s=]+)"?express-hindsight\/register"?(?=\s|$)/g;

type Load = (request: string, ...rest: unknown[]) => unknown;

const { PROFILER = '', NODE_ENV } = process.env;
const isOn = PROFILER.trim() === '' ? NODE_ENV !== 'production' : /^\s*(1|true|on|yes)\s*$/i.test(PROFILER);
const loadHere = createRequire(import.meta.url);
const seen = new WeakSet();
let auto: AutoProfiler | null | undefined;
let endEarlyModules = (): void => undefined;

/** Loads the profiler, with the first Express. */
function open(): AutoProfiler | null {
  if (auto !== undefined) return auto;
  // While it loads there is none.
  auto = null;
  try {
    const door = loadHere('./hindsight-profiler.js') as typeof profilerModule;
    auto = door.createAutoProfiler();
    endEarlyModules();
  } catch (error) {
    printError(`hindsight: nothing is recorded: ${String(error)}\n`);
  }
  return auto;
}

function isExpress(exports: unknown): exports is ExpressLibrary {
  if (typeof exports !== 'function' || seen.has(exports)) return false;
  const { application } = exports as {
    application?: { handle?: unknown; lazyrouter?: unknown; defaultConfiguration?: unknown };
  };
  return typeof application?.handle === 'function' && typeof application.defaultConfiguration === 'function';
}

function isServer(value: unknown): value is Server {
  return typeof (value as Partial<Server> | undefined)?.listenerCount === 'function';
}

function hasApplication(server: Server): boolean {
  return server.listeners('request').some((listener) => 'handle' in listener && 'settings' in listener);
}

function watchLoading(): void {
  const loader = Module as unknown as { _load: Load };
  const load = loader._load;
  loader._load = function _load(this: unknown, ...args) {
    const exports = Reflect.apply(load, this, args);
    // An import of CommonJS asks for a file; any entry of Express ends in a require of its `lib/express`.
    if (typeof args[0] === 'string' && /express(?:\.js)?$/.test(args[0]) && isExpress(exports)) {
      seen.add(exports);
      open()?.takeExpress(exports);
    }
    return exports;
  };
}

/** `tracing:net.server.listen` of Node.js. */
function watchServers(): void {
  const listener = (listens: boolean) => (message: unknown) => {
    const { server } = message as { server?: unknown };
    if (!isServer(server)) return;
    const profiler = auto ?? (hasApplication(server) ? open() : null);
    profiler?.takeServer(server, listens);
  };
  diagnostics.subscribe('tracing:net.server.listen:asyncStart', listener(false));
  diagnostics.subscribe('tracing:net.server.listen:asyncEnd', listener(true));
}

/** Once, in a process that has an application: others of the same NODE_OPTIONS have nothing to say. */
function sayWhyNot(): void {
  function listening(message: unknown): void {
    const { server } = message as { server?: unknown };
    if (!isServer(server) || !hasApplication(server)) return;
    diagnostics.unsubscribe('tracing:net.server.listen:asyncEnd', listening);
    printError(
      'hindsight: nothing is recorded, because NODE_ENV is production; set PROFILER=on to record.\n',
    );
  }
  diagnostics.subscribe('tracing:net.server.listen:asyncEnd', listening);
}

/** By address: a child process may run in another folder, where Node.js would not find the package, and would not start. */
function nameForChildren(): void {
  const named = (options: string, quote = (text: string) => text): string =>
    options.replace(NAMED, (_, option: string, gap: string) => {
      return option + gap + (option === '--import' ? import.meta.url : quote(fileURLToPath(import.meta.url)));
    });
  const { env, execArgv } = process;
  if (env.NODE_OPTIONS !== undefined) env.NODE_OPTIONS = named(env.NODE_OPTIONS, JSON.stringify);
  for (const [at, argument] of execArgv.entries()) {
    const option = `${execArgv[at - 1] ?? ''} `;
    execArgv[at] = named(option + argument).slice(option.length);
  }
}

nameForChildren();
if (isOn) {
  watchLoading();
  endEarlyModules = watchEarlyModules();
  watchServers();
} else if (PROFILER.trim() === '') sayWhyNot();
