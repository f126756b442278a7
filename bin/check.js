/**
 * `npm run check`: everything that a machine can say about the code, cheapest first. Stops at the first failure with
 * the tool's own words; a tool that passes is silent.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './entry.js';

/** A run of dependency-cruiser over fewer modules saw nothing, whatever it reports. */
const FEWEST_MODULES = 30;

function run(tool, ...options) {
  // Windows has .cmd files in node_modules/.bin, which need a shell; the options are our own and hold no space.
  const windows = process.platform === 'win32';
  const result = spawnSync(join(root, 'node_modules', '.bin', tool), options, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    shell: windows,
  });
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`;
  return { problem: result.status === 0 ? null : output.trim() || `${tool} failed`, output: result.stdout };
}

function rooms() {
  const { output, problem } = run(
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

const steps = [
  ['types', () => run('tsc', '-p', '.').problem],
  ['style (prettier)', () => run('prettier', '--check', '--log-level', 'warn', '.').problem],
  ['rules (eslint)', () => run('eslint', '--max-warnings', '0', '.').problem],
  ['rooms (dependency-cruiser)', rooms],
  ['dead code (knip)', () => run('knip', '--no-progress', '--treat-config-hints-as-errors').problem],
  ['package (publint)', () => run('publint', '--strict').problem],
  ['package types (are-the-types-wrong)', () => run('attw', '--pack', '.', '--profile', 'esm-only').problem],
];

for (const [name, step] of steps) {
  const startedAt = performance.now();
  const problem = step();
  const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  if (problem !== null) {
    process.stderr.write(`${problem}\n\n${name}: failed after ${seconds}\n`);
    process.exitCode = 1;
    break;
  }
  process.stdout.write(`${name}: passed, ${seconds}\n`);
}
