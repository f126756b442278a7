/**
 * Loads the packages that the service starts with, Express above all, with what V8 made of their files when the service was
 * built (decision 17). Half of the time they take is spent on finding a hundred and forty files; where each lies is kept too.
 *
 * They end up where `require` would have put them, under the names of their files: whoever asks for one later gets the same.
 * All of them or none: none where a file, what is installed, or Node is another than then, or where something was loaded
 * before, such as a tracer, which wants to see them come. Then `require` finds and loads them as ever.
 */
import { digestOf } from './run-script.js';

const { readFileSync } = process.getBuiltinModule('node:fs');
const { createRequire, isBuiltin, Module } = process.getBuiltinModule('node:module');
const { dirname, join } = process.getBuiltinModule('node:path');
const { Script } = process.getBuiltinModule('node:vm');

const DIGEST_BYTES = 32;
const LENGTH_BYTES = 4;

/** Options of node that load something before all else. */
const PRELOADS = /(?:^|\s)(?:-r|--(?:require|import|(?:experimental-)?loader))\b/;

const { cache, extensions } = createRequire(import.meta.url);

/** Written by npm with whatever it installs. */
function installedIn(root) {
  return readFileSync(join(root, 'node_modules', '.package-lock.json'));
}

/**
 * Fits this `root` alone: V8 keeps the names of files. `index`: `{ first, modules }`, files from `root` on. `first`: those that the service itself asks for. `modules`: of each file
 * `from` and `to`, where its code lies in `code`, and `known`, the files that it asks for, by the names it asks by.
 */
export function packPackages(root, index, code) {
  const head = Buffer.from(JSON.stringify(index));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(head.length);
  const files = Object.keys(index.modules).map((file) => readFileSync(join(root, file)));
  return Buffer.concat([digestOf(root, installedIn(root), ...files, head, code), length, head, code]);
}

/** null where what was kept does not fit. Throws where a file can't be read. */
function unpack(root, packed) {
  const start = DIGEST_BYTES + LENGTH_BYTES;
  const head = packed.subarray(start, start + packed.readUInt32LE(DIGEST_BYTES));
  const code = packed.subarray(start + head.length);
  // It may be anything until the digest says that it is not.
  const index = JSON.parse(head.toString());
  const texts = new Map(Object.keys(index.modules).map((file) => [file, readFileSync(join(root, file))]));
  const digest = digestOf(root, installedIn(root), ...texts.values(), head, code);
  return digest.equals(packed.subarray(0, DIGEST_BYTES)) ? { index, code, texts } : null;
}

/** What a module is given as `require`; `load(file, parent)` loads what is kept. */
function requireOf(module, known, load) {
  let usual = null;
  const ask = () => (usual ??= createRequire(module.filename));
  function require(id) {
    if (known[id] !== undefined) return load(known[id], module);
    return isBuiltin(id) ? process.getBuiltinModule(id) : ask()(id);
  }
  Object.defineProperty(require, 'resolve', { get: () => ask().resolve });
  return Object.assign(require, { cache, extensions, main: process.mainModule });
}

function createLoader(root, { index, code, texts }) {
  return function load(file, parent) {
    const filename = join(root, file);
    const kept = index.modules[file];
    if (kept === undefined) return createRequire(parent.filename)(filename);
    if (cache[filename] !== undefined) return cache[filename].exports;
    const module = new Module(filename, parent);
    module.filename = filename;
    module.paths = Module._nodeModulePaths(dirname(filename));
    cache[filename] = module;
    const script = new Script(Module.wrap(texts.get(file).toString()), {
      filename,
      cachedData: code.subarray(kept.from, kept.to),
    });
    const { exports } = module;
    const require = requireOf(module, kept.known, load);
    script.runInThisContext().call(exports, exports, require, module, filename, dirname(filename));
    module.loaded = true;
    return module.exports;
  };
}

function isFirst() {
  const options = [...process.execArgv, process.env.NODE_OPTIONS].join(' ');
  return Object.keys(cache).length === 0 && !PRELOADS.test(options);
}

/** Whether they were loaded. Never throws. */
export function loadPackages(root) {
  if (!isFirst()) return false;
  try {
    const kept = unpack(root, readFileSync(join(root, 'dist', 'code', 'packages')));
    if (kept === null) return false;
    const load = createLoader(root, kept);
    for (const file of kept.index.first) load(file, undefined);
    return true;
  } catch {
    for (const file of Object.keys(cache)) Reflect.deleteProperty(cache, file);
    return false;
  }
}
