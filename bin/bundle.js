/**
 * Joins the built modules that start together into a few files: opening two hundred takes longer than running them. What lies in
 * sub-folders stays beside them as the compiler wrote it, for an owner's routes and tools.
 *
 * `app` is the built folder. Nothing is joined where esbuild, or its program for this machine, is not installed: what the
 * compiler wrote runs as it is.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './entry.js';

/** What is started, imported from outside, or shared with an owner's routes, which must see the same classes. */
const ENTRIES = ['index', 'service', 'server', 'migrate', 'errors', 'urls', 'storage/writer-thread'];

/** Begins the name of each file that is made; by it the profiler knows its own frames in a stack. */
const PREFIX = 'hindsight-';

/** Joined modules from this size on become scripts; of smaller ones there is little to keep. */
const SCRIPT_BYTES = 8192;

/** Milliseconds that the service gets for its first answer. */
const ANSWER_WITHIN = 20_000;

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

/** What a joined module is and becomes; null where it can't be a script. */
function scriptOf(app, name, asScript) {
  const before = readFileSync(join(app, `${name}.js`), 'utf8');
  const [text, comment] = before.split('\n//# sourceMappingURL=');
  const made = asScript(name, text);
  return made === null ? null : { name, before, map: join(app, comment.trim()), ...made };
}

function writeScript(app, { name, script, module, map }) {
  const file = `${name}.code.js`;
  const { mappings, ...rest } = JSON.parse(readFileSync(map, 'utf8'));
  // One line more stands before the text.
  writeFileSync(join(app, `${file}.map`), JSON.stringify({ ...rest, mappings: `;${mappings}` }));
  writeFileSync(join(app, file), `${script}//# sourceMappingURL=${file}.map\n`);
  writeFileSync(join(app, `${name}.js`), module);
}

function takeBack(app, { name, before }) {
  for (const ending of ['code.js', 'code.js.map']) rmSync(join(app, `${name}.${ending}`));
  writeFileSync(join(app, `${name}.js`), before);
}

function letServiceAnswer(folder) {
  const script = join(root, 'bin', 'keep-code.js');
  return spawnSync(process.execPath, [script, folder], { stdio: 'ignore', timeout: ANSWER_WITHIN });
}

/**
 * Makes scripts of what is joined in `folder`/app, and keeps in `folder`/code what V8 made of them when the service gave its
 * first answer (decision 17). Where it gives none the modules stay as they are.
 */
export async function keepCode(folder) {
  const { asScript } = await import('./as-script.js');
  const app = join(folder, 'app');
  const scripts = readdirSync(app)
    .flatMap((name) => /^(hindsight-\w+|service)\.js$/.exec(name)?.[1] ?? [])
    .filter((name) => statSync(join(app, `${name}.js`)).size >= SCRIPT_BYTES)
    .flatMap((name) => scriptOf(app, name, asScript) ?? []);
  cpSync(join(root, 'bin', 'run-script.js'), join(app, `${PREFIX}run.js`));
  for (const script of scripts) writeScript(app, script);
  if (letServiceAnswer(folder).status === 0) for (const { map } of scripts) rmSync(map);
  else for (const script of scripts) takeBack(app, script);
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
