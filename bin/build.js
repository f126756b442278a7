/**
 * Builds `dist` from the sources with TypeScript, and joins what starts together (bundle.js).
 *
 *   node bin/build.js --check         reports type errors and fails on them
 *   node bin/build.js --if-possible   for `prepare`: says what is missing and succeeds where TypeScript is not installed
 *
 * The new build is made beside the old one and takes its place at the end, so that a process that starts meanwhile
 * never loads half of it, files of deleted sources go, and a failed build leaves the old one.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, keepCode, shortenToolbar } from './bundle.js';
import { hasTypeScript, root, stateOfBuild } from './entry.js';

const NOT_INSTALLED =
  'TypeScript is not installed (NODE_ENV=production or --omit=dev), so there is no build yet: ' +
  'on Node.js 22.18 or later the service runs from its sources; else run `npm ci --include=dev`.';

function runCompiler(options) {
  return new Promise((resolve) => {
    const compiler = spawn(
      process.execPath,
      [join(root, 'node_modules', 'typescript', 'lib', 'tsc.js'), '-p', 'tsconfig.build.json', ...options],
      { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    const keep = (chunk) => (output += chunk);
    compiler.stdout.on('data', keep);
    compiler.stderr.on('data', keep);
    compiler.on('error', (error) => resolve(error.message));
    compiler.on('close', (code) => resolve(code === 0 ? null : output.trim() || `tsc ended with ${code}`));
  });
}

/** Puts `fresh` in the place of `dist`. */
function exchange(fresh) {
  const dist = join(root, 'dist');
  const old = `${fresh}-old`;
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(fresh, dist);
  rmSync(old, { recursive: true, force: true });
}

/**
 * Builds; null on success, else what went wrong. `check`: type errors count. `types`: also writes the .d.ts files,
 * which only hosts need. `reason` is told on stderr.
 */
export async function build({ check = false, types = check, reason = null } = {}) {
  const startedAt = new Date();
  const fresh = join(root, `.dist-${process.pid}`);
  if (reason !== null) process.stderr.write(`Building (${reason}) …\n`);
  try {
    mkdirSync(fresh, { recursive: true });
    const problem = await runCompiler([
      '--outDir',
      fresh,
      ...(check ? [] : ['--noCheck']),
      ...(types ? [] : ['--declaration', 'false']),
    ]);
    if (problem !== null) return problem;
    const joined = await bundle(join(fresh, 'app'));
    await shortenToolbar(join(fresh, 'app'), root);
    if (joined) await keepCode(fresh);
    const stamp = join(fresh, '.built');
    writeFileSync(stamp, '');
    utimesSync(stamp, startedAt, startedAt);
    exchange(fresh);
    return null;
  } catch (error) {
    // Another process that built at the same time may have been first.
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
  const problem = await build({ check: options.includes('--check'), types: true });
  if (problem === null) return 0;
  process.stderr.write(`${problem}\n`);
  return 1;
}

const isMain = realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url);
if (isMain) process.exitCode = await main(process.argv.slice(2));
