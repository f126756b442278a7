/**
 * Joins the built modules that start together into a few files: opening two hundred takes longer than running them. What lies in
 * sub-folders stays beside them as the compiler wrote it, for an owner's routes and tools.
 *
 * `app` is the built folder. Nothing is joined where esbuild, or its program for this machine, is not installed: what the
 * compiler wrote runs as it is.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What is started, imported from outside, or shared with an owner's routes, which must see the same classes. */
const ENTRIES = ['index', 'service', 'server', 'migrate', 'errors', 'urls', 'storage/postgres-thread'];

/** Begins the name of each file that is made; by it the profiler knows its own frames in a stack. */
const PREFIX = 'hindsight-';

/** Characters of a line of what is made: short enough to be shown where something uncaught ends the process. */
const LINE_LENGTH = 160;

const BUILTIN_IMPORT = /^import (?:\{ (?<names>[^}]*) \}|(?<name>\w+)) from '(?<module>node:[^']+)';$/gm;

/**
 * An `import` of one of Node's modules makes a second one round it, for which each of its exports is read, among them getters that
 * load others (`crypto.webcrypto`, `fs.promises`). Taken from Node directly none is read that nobody asks for.
 */
function takeBuiltins(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.js')) continue;
    const file = join(entry.parentPath, entry.name);
    const text = readFileSync(file, 'utf8').replace(BUILTIN_IMPORT, (_line, names, name, module) => {
      const taken = names === undefined ? name : `{ ${names.replaceAll(' as ', ': ')} }`;
      return `const ${taken} = process.getBuiltinModule('${module}');`;
    });
    writeFileSync(file, text);
  }
}

async function loadBundler() {
  try {
    return await import('esbuild');
  } catch {
    return null;
  }
}

/** False where there is no bundler. Throws where bundling fails. */
export async function bundle(app) {
  const bundler = await loadBundler();
  if (bundler === null) return false;
  const plain = `${app}-plain`;
  cpSync(app, plain, { recursive: true });
  try {
    takeBuiltins(plain);
    await bundler.build({
      absWorkingDir: plain,
      entryPoints: ENTRIES.map((name) => join(plain, `${name}.js`)),
      outbase: plain,
      outdir: app,
      chunkNames: `${PREFIX}[hash]`,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      minifyWhitespace: true,
      lineLimit: LINE_LENGTH,
      packages: 'external',
      // The owner's: frames of it are named by its own file.
      external: ['./routes/index.js'],
      sourcemap: true,
      sourcesContent: false,
      logLevel: 'silent',
    });
    return true;
  } finally {
    rmSync(plain, { recursive: true, force: true });
  }
}

/**
 * Writes the toolbar's script into the built folder `app`, with short names: it is loaded by every page of a host. Without a bundler
 * there is none, and the script is joined from its modules when it is asked for.
 */
export async function shortenToolbar(app, root) {
  const bundler = await loadBundler();
  if (bundler === null) return;
  const { joinToolbar } = await import(
    pathToFileURL(join(app, 'controllers', 'profiler', 'toolbar-script.js')).href
  );
  const { code } = await bundler.transform(joinToolbar(root), {
    minify: true,
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
  });
  writeFileSync(join(app, 'toolbar.js'), code);
}
