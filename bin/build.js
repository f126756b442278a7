/**
 * Builds `dist` from the sources with TypeScript and bundles it (bundle.js).
 *
 *   node bin/build.js --check         reports type errors and fails on them
 *   node bin/build.js --if-stale      does nothing if `dist` is as new as the sources and contains the types of the entry points
 *   node bin/build.js --if-possible   for `prepare`: if TypeScript is not installed, says so and succeeds
 *
 * The new build is written beside the old one and replaces it at the end. So a process that starts meanwhile never loads half a build,
 * outputs of deleted sources disappear, and a failed build keeps the old one.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './bundle.js';
import { hasTypeScript, root, stateOfBuild } from './entry.js';

const NOT_INSTALLED =
  'TypeScript is not installed (NODE_ENV=production or --omit=dev), so there is no build yet: ' +
  'on Node.js 22.18 or later the service runs from its sources; else run `npm ci --include=dev`.';

/** Returns null on success, else the compiler's output. */
function compile(outDir, options) {
  const compiler = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc');
  const { status, stdout, stderr, error } = spawnSync(
    process.execPath,
    [compiler, '-p', 'tsconfig.build.json', '--outDir', outDir, ...options],
    { cwd: root, encoding: 'utf8' },
  );
  if (status === 0) return null;
  return error?.message ?? (`${stdout}${stderr}`.trim() || `tsc ended with ${status}`);
}

/** Replaces `dist` by `fresh`. */
function exchange(fresh) {
  const dist = join(root, 'dist');
  const old = `${fresh}-old`;
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(fresh, dist);
  rmSync(old, { recursive: true, force: true });
}

/** Returns null on success, else the error. `options` are passed to the compiler. */
export async function build(options) {
  const startedAt = new Date();
  const fresh = join(root, `.dist-${process.pid}`);
  const app = join(fresh, 'app');
  try {
    mkdirSync(fresh, { recursive: true });
    const problem = compile(fresh, options);
    if (problem !== null) return problem;
    await bundle(app, root);
    const stamp = join(fresh, '.built');
    writeFileSync(stamp, '');
    utimesSync(stamp, startedAt, startedAt);
    exchange(fresh);
    return null;
  } catch (error) {
    // Another process may have finished the same build first.
    return stateOfBuild() === 'fresh' ? null : error.message;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

async function main(options) {
  if (!hasTypeScript()) {
    process.stderr.write(`${NOT_INSTALLED}\n`);
    return options.includes('--if-possible') ? 0 : 1;
  }
  const isWhole = stateOfBuild() === 'fresh' && existsSync(join(root, 'dist', 'app', 'index.d.ts'));
  if (isWhole && options.includes('--if-stale')) return 0;
  const problem = await build(options.includes('--check') ? [] : ['--noCheck']);
  if (problem === null) return 0;
  process.stderr.write(`${problem}\n`);
  return 1;
}

const isMain = realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url);
if (isMain) process.exitCode = await main(process.argv.slice(2));
