/**
 * Joins the built modules that start together into a few files: opening two hundred takes longer than running them. What lies in
 * sub-folders stays beside them as the compiler wrote it, for an owner's routes and tools.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What is started, imported from outside, or shared with an owner's routes, which must see the same classes. */
const ENTRIES = [
  'index',
  'testing',
  'service',
  'server',
  'migrate',
  'errors',
  'urls',
  'storage/postgres-thread',
];

/** `app` is the built folder. Where esbuild, or its program for this machine, is missing, what the compiler wrote runs as it is. */
export async function bundle(app, root) {
  const bundler = await import('esbuild').catch(() => null);
  if (bundler === null) return;
  // First, because the other puts its own in the place of what it reads.
  await bundleCommonJs(bundler, app);
  await bundler.build({
    absWorkingDir: app,
    entryPoints: ENTRIES.map((name) => `${name}.js`),
    outdir: app,
    outbase: app,
    allowOverwrite: true,
    // By this prefix the profiler knows its own frames in a stack.
    chunkNames: 'hindsight-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    minifyWhitespace: true,
    // Short enough to be shown where something uncaught ends the process.
    lineLimit: 160,
    packages: 'external',
    // The owner's: frames of it are named by its own file.
    external: ['./routes/index.js'],
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'silent',
  });
  await shortenToolbar(bundler, app, root);
}

/** Where a bundle in CommonJS lies; as `import.meta.url`. */
const HERE = `const hindsightUrl = require('node:url').pathToFileURL(__filename).href;`;

const ALL_FOR_HOSTS = `
export * from './index.js';
export { default } from './index.js';
export { createAutoProfiler } from './compose/auto-profiler.js';
`;
/** Without what is for register.js alone. */
const COMMONJS_DOOR = `Object.defineProperty(exports, '__esModule', { value: true });
const { createAutoProfiler, ...door } = require('./hindsight-profiler.js');
Object.assign(exports, door);
// By name, for those who read the names without running the file.
exports.default = door.default;
`;

/** The door for `require`, with all that a host loads in one file: Jest can't require ES modules, nor import any. */
async function bundleCommonJs(bundler, app) {
  const folder = join(dirname(app), 'cjs');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  const common = {
    absWorkingDir: app,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    minifyWhitespace: true,
    lineLimit: 160,
    // The package's own dependencies are ES modules, and come in.
    external: ['pg'],
    legalComments: 'eof',
    // An `import()` is a `require` then.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'hindsightUrl' },
    banner: { js: HERE },
    logLevel: 'silent',
  };
  await bundler.build({
    ...common,
    stdin: { contents: ALL_FOR_HOSTS, resolveDir: app },
    // By this prefix the profiler knows its own frames in a stack, here too.
    outfile: join(folder, 'hindsight-profiler.js'),
  });
  for (const name of ['register', 'testing'])
    await bundler.build({ ...common, entryPoints: [`${name}.js`], outfile: join(folder, `${name}.js`) });
  writeFileSync(join(folder, 'index.js'), COMMONJS_DOOR);
  copyTypes(app, folder, ['index', 'testing', 'register']);
}

/** Types of the doors and of what they mention: as they stand in `app`, for a folder whose modules are CommonJS. */
function copyTypes(app, folder, names) {
  const seen = new Set();
  const copy = (path) => {
    const from = join(app, `${path}.d.ts`);
    if (seen.has(path) || !existsSync(from)) return;
    seen.add(path);
    const text = readFileSync(from, 'utf8');
    const to = join(folder, `${path}.d.ts`);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text);
    for (const [, other] of text.matchAll(/['"](\.\.?\/[^'"]+)\.[jt]s['"]/g))
      copy(posix.join(posix.dirname(path), other));
  };
  for (const name of names) copy(name);
}

/** Writes the toolbar's script with short names, because every page of a host loads it. Without it the script is joined when it is asked for. */
async function shortenToolbar(bundler, app, root) {
  const module = join(app, 'controllers', 'profiler', 'toolbar-script.js');
  const { joinToolbar } = await import(pathToFileURL(module).href);
  const { code } = await bundler.transform(joinToolbar(root), {
    minify: true,
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
  });
  writeFileSync(join(app, 'toolbar.js'), code);
}
