/**
 * `npm run check`: all static checks, one step per processor at a time, the longest first. Ends at the first failure and prints the
 * tool's output; the output of a tool that passes is not shown.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './entry.js';

/** If dependency-cruiser finds fewer modules, it was misconfigured, whatever it reports. */
const FEWEST_MODULES = 30;

/** Ends the running steps when one has failed. */
const abort = new AbortController();

/**
 * Without scripts, `npm pack` does not rebuild `dist` while other steps read it. The linter is written in Go, whose collector took a
 * quarter of its time: it begins at 3 GiB, twice of what the linter needs.
 */
const env = { ...process.env, npm_config_ignore_scripts: 'true', GOGC: 'off', GOMEMLIMIT: '3GiB' };

/** `problem`: the output of a tool that failed, else null. `tool`: its name, or its file in node_modules where two packages have one. */
function run(tool, ...options) {
  const isFile = tool.includes('/');
  const modules = join(root, 'node_modules');
  const [command, args] = isFile
    ? [process.execPath, [join(modules, tool), ...options]]
    : [tool === 'npm' ? tool : join(modules, '.bin', tool), options];
  const child = spawn(command, args, {
    cwd: root,
    // Windows has .cmd files in node_modules/.bin, which need a shell; our options contain no spaces.
    shell: !isFile && process.platform === 'win32',
    env,
    signal: abort.signal,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let said = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (said += chunk));
  return new Promise((resolve) => {
    child.on('error', (error) => (said += error.message));
    child.on('close', (code) => {
      resolve({ problem: code === 0 ? null : `${output}${said}`.trim() || `${tool} failed`, output });
    });
  });
}

/** `test` holds half of all modules, and no rule is about what they import but for circles. What others import of it is followed. */
async function rooms() {
  const folders = ['app', 'bench', 'examples', 'migrations', 'stress'];
  const { output, problem } = await run('depcruise', '--output-type', 'json', ...folders);
  let summary;
  try {
    summary = JSON.parse(output).summary;
  } catch {
    return problem ?? 'dependency-cruiser printed no report';
  }
  if (summary.totalCruised < FEWEST_MODULES) return `dependency-cruiser saw ${summary.totalCruised} modules`;
  const violations = summary.violations.map(
    ({ from, to, rule, cycle }) =>
      `${rule.name}: ${from} -> ${cycle === undefined ? to : cycle.map(({ name }) => name).join(' -> ')}`,
  );
  return violations.length === 0 ? null : violations.join('\n');
}

const problemOf = async (...command) => (await run(...command)).problem;

/** What npm would publish, packed once for both tools: to pack takes longer than publint. */
async function packed() {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-check-'));
  try {
    const { problem, output } = await run('npm', 'pack', '--silent', '--pack-destination', folder);
    if (problem !== null) return problem;
    const file = join(folder, output.trim());
    return (
      (await problemOf('publint', '--strict', file)) ??
      (await problemOf('attw', file, '--profile', 'esm-only'))
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const steps = [
  ['rules (oxlint)', () => problemOf('oxlint')],
  ['style (oxfmt)', () => problemOf('oxfmt', '--check')],
  // The compiler of version 7 takes a quarter of the time; the build, which uses its API, needs version 6. Four checkers, as many as it
  // has by default, do much of the work four times.
  ['types', () => problemOf('typescript-7/bin/tsc', '-p', '.', '--checkers', '1')],
  ['package (publint, are-the-types-wrong)', packed],
  ['rooms (dependency-cruiser)', rooms],
  ['dead code (knip)', () => problemOf('knip', '--no-progress', '--treat-config-hints-as-errors')],
];

/** Runs one step after the other until one fails. */
async function lane() {
  for (let next = steps.shift(); next !== undefined && !abort.signal.aborted; next = steps.shift()) {
    const [name, step] = next;
    const startedAt = performance.now();
    const problem = await step();
    if (abort.signal.aborted) return;
    const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    if (problem === null) process.stdout.write(`${name}: passed, ${seconds}\n`);
    else {
      process.stderr.write(`${problem}\n\n${name}: failed after ${seconds}\n`);
      process.exitCode = 1;
      abort.abort();
    }
  }
}

execFileSync(process.execPath, [join(root, 'bin', 'build.js'), '--if-stale'], { stdio: 'inherit' });
await Promise.all(Array.from({ length: availableParallelism() }, lane));
