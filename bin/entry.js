/**
 * Chooses the code to run: `dist` if it is as new as the sources, else a new build, else the sources themselves. Plain JavaScript
 * without dependencies, because without install scripts there is no `dist`, and without development dependencies no TypeScript.
 */
import { existsSync, readdirSync, statSync, writeSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The sources of `dist`, and the files that build it. */
const SOURCES = ['app', 'bin', 'public', 'migrations', 'knexfile.ts', 'tsconfig.json', 'tsconfig.build.json'];

/** Explains in one sentence why nothing can be run, and what to do. */
export class StartError extends Error {}

/**
 * Whether `path` or anything below it changed after `moment`; a folder's own time covers files that were added or removed. Paths
 * are concatenated: calling `join` four hundred times is a twentieth of a start.
 */
function changedAfter(path, moment) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  if (found.mtimeMs > moment) return true;
  return (
    found.isDirectory() && readdirSync(path).some((name) => changedAfter(`${path}${sep}${name}`, moment))
  );
}

/** `missing`, `stale` or `fresh`. In an image without sources the build is always fresh, because nothing can renew it. */
export function stateOfBuild() {
  if (!existsSync(join(root, 'dist', 'app'))) return 'missing';
  if (!existsSync(join(root, 'app'))) return 'fresh';
  // The build gives this file the time at which it began.
  const builtAt = statSync(join(root, 'dist', '.built'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return SOURCES.some((name) => changedAfter(join(root, name), builtAt)) ? 'stale' : 'fresh';
}

export function hasTypeScript() {
  return existsSync(join(root, 'node_modules', 'typescript-7', 'bin', 'tsc'));
}

/** Whoever read standard error may be gone: a failed write of the stream would end the process. */
export function say(sentence) {
  try {
    writeSync(2, `${sentence}\n`);
  } catch {
    // Closed, or full.
  }
}

/** Returns null on success, else the error. */
async function renew(state) {
  if (!hasTypeScript()) return 'TypeScript is not installed';
  say(`Building (${state === 'missing' ? 'no build yet' : 'sources changed'}) …`);
  const { build } = await import('./build.js');
  return build(['--noCheck', '--declaration', 'false']);
}

/** The URL to import for the module `app/<name>`. Throws a StartError. */
export async function entryOf(name) {
  if (!existsSync(join(root, 'node_modules', 'express')))
    throw new StartError('The dependencies are not installed; run `npm ci` first.');
  const built = pathToFileURL(join(root, 'dist', 'app', `${name}.js`)).href;
  const state = stateOfBuild();
  const problem = state === 'fresh' ? null : await renew(state);
  if (problem === null) return built;
  // Goes with Node 20: from 22.18 on, Node.js runs TypeScript itself.
  const runsSources = Boolean(process.features.typescript);
  if (!runsSources && state === 'missing')
    throw new StartError(
      `There is no build of the service, and none can be made here: ${problem}. ` +
        'Run `npm ci --include=dev` (or, where install scripts are disabled, `npm run build` after it), ' +
        'or use Node.js 22.18 or later, which runs the sources as they are.',
    );
  say(
    `The build is ${state} and can't be renewed (${problem}); ` +
      `the service runs from ${runsSources ? 'its sources' : 'the old build'}.`,
  );
  return runsSources ? pathToFileURL(join(root, 'app', `${name}.ts`)).href : built;
}
