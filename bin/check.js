/**
 * `npm run check`: everything that a machine can say about the code, a step on each processor, the longest first. Ends at the first
 * failure with the tool's own words; a tool that passes is silent.
 */
import { execFileSync, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { root } from './entry.js';

/** A run of dependency-cruiser over fewer modules saw nothing, whatever it reports. */
const FEWEST_MODULES = 30;

/** Ends what still runs when a step has failed. */
const abort = new AbortController();

/** `npm pack` would build `dist` anew, while others read it. */
const env = { ...process.env, npm_config_ignore_scripts: 'true' };

/** `problem`: what the tool said where it failed, else null. */
function run(tool, ...options) {
  // Windows has .cmd files in node_modules/.bin, which need a shell; the options are our own and hold no space.
  const windows = process.platform === 'win32';
  const child = spawn(join(root, 'node_modules', '.bin', tool), options, {
    cwd: root,
    shell: windows,
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

async function rooms() {
  const { output, problem } = await run(
    'depcruise',
    '--output-type',
    'json',
    'app',
    'bench',
    'examples',
    'migrations',
    'test',
  );
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

const steps = [
  ['rules (eslint)', () => problemOf('eslint', '--max-warnings', '0', '.')],
  ['types', () => problemOf('tsc', '-p', '.')],
  ['style (prettier)', () => problemOf('prettier', '--check', '--log-level', 'warn', '.')],
  ['package types (are-the-types-wrong)', () => problemOf('attw', '--pack', '.', '--profile', 'esm-only')],
  ['rooms (dependency-cruiser)', rooms],
  ['dead code (knip)', () => problemOf('knip', '--no-progress', '--treat-config-hints-as-errors')],
  ['package (publint)', () => problemOf('publint', '--strict')],
];

/** Takes one step after the other, for as long as none has failed. */
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
