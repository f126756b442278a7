/**
 * Finds the code to run: `dist` where it is as new as the sources, else builds it, else runs the sources themselves.
 *
 * Plain JavaScript without a dependency, because it runs before anything is known to be there: after `npm ci` with
 * install scripts disabled there is no `dist`, and with NODE_ENV=production there is no TypeScript either. What it does
 * on the usual way (one `stat` per source file) takes a few milliseconds.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** What `dist` is made of, and by. */
const SOURCES = ['app', 'bin', 'public', 'migrations', 'knexfile.ts', 'tsconfig.json', 'tsconfig.build.json'];
/** Touched by the build with the moment it began. */
const STAMP = join(root, 'dist', '.built');

/** Says in one sentence why nothing can be run, and what to do. */
export class StartError extends Error {}

function modifiedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/**
 * True where something below `path` changed after `moment`; a folder's own time tells of files that came or went. Paths are
 * put together by hand: `join` four hundred times is a twentieth of a start.
 */
function changedAfter(path, moment) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  if (found.mtimeMs > moment) return true;
  if (!found.isDirectory()) return false;
  return readdirSync(path).some((name) => changedAfter(`${path}${sep}${name}`, moment));
}

/** `missing`, `stale` or `fresh`. An installed package has no sources beside `dist`: it is fresh. */
export function stateOfBuild() {
  if (!existsSync(join(root, 'dist', 'app'))) return 'missing';
  if (!existsSync(join(root, 'app'))) return 'fresh';
  const builtAt = modifiedAt(STAMP);
  return SOURCES.some((name) => changedAfter(join(root, name), builtAt)) ? 'stale' : 'fresh';
}

/** Node runs TypeScript by itself from 22.18 and 23.6 on. */
function runsTypeScript() {
  return Boolean(process.features.typescript);
}

export function hasTypeScript() {
  return existsSync(join(root, 'node_modules', 'typescript', 'lib', 'typescript.js'));
}

function sourceOf(name) {
  return pathToFileURL(join(root, 'app', `${name}.ts`)).href;
}

function builtOf(name) {
  return pathToFileURL(join(root, 'dist', 'app', `${name}.js`)).href;
}

function assertInstalled() {
  if (existsSync(join(root, 'node_modules', 'express', 'package.json'))) return;
  // An installed package finds its dependencies further up; a checkout has them here or not at all.
  if (!existsSync(join(root, 'app')) || root.includes('node_modules')) return;
  throw new StartError('The dependencies are not installed; run `npm ci` first.');
}

/** The URL to import for the module `app/<name>`. Throws a StartError. */
export async function entryOf(name) {
  assertInstalled();
  const state = stateOfBuild();
  if (state === 'fresh') return builtOf(name);
  let problem = 'TypeScript is not installed';
  if (hasTypeScript()) {
    const { build } = await import('./build.js');
    const failure = await build({ reason: state === 'missing' ? 'no build yet' : 'sources changed' });
    if (failure === null) return builtOf(name);
    process.stderr.write(`${failure}\n`);
    problem = 'the build failed';
  }
  if (runsTypeScript()) return sourceOf(name);
  if (state === 'stale') {
    process.stderr.write(
      `The build is older than the sources and can't be renewed (${problem}); it runs as it is.\n`,
    );
    return builtOf(name);
  }
  if (hasTypeScript())
    throw new StartError('There is no build of the service, and none could be made (see above).');
  throw new StartError(
    `There is no build of the service, and none can be made here: ${problem}. ` +
      'Run `npm ci --include=dev` (or, where install scripts are disabled, `npm run build` after it), ' +
      'or use Node.js 22.18 or later, which runs the sources as they are.',
  );
}
