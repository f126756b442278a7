/**
 * `npm run entry-points [-- 22.20.0 24.0.0]`: starts a small application by each entry point of the packed package on several versions of
 * Node.js, sends it one request, and reads what was recorded. Versions and the package are installed into a folder below the system's
 * temporary files, which is kept for the next run. Prints the table of docs/libraries.md; ends with 1 if an entry point fails.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The oldest that we support, one in the middle and the newest of each line; before and after the mended module hooks. */
const VERSIONS = [
  '20.19.0',
  '20.20.2',
  '22.3.0',
  '22.14.0',
  '22.20.0',
  '22.23.3',
  '24.0.0',
  '24.11.0',
  '24.21.0',
  '26.0.0',
  '26.5.1',
  '26.10.0',
];

const REGISTER = 'express-hindsight/register';

/** The rest of each application: a route, one request to it, and what was recorded of that. */
const REST = `
app.get('/hello', (_req, res) => void res.send('hello'));
const server = app.listen(0, '127.0.0.1', async () => {
  const origin = 'http://127.0.0.1:' + server.address().port;
  const response = await fetch(origin + '/hello');
  const body = await response.text();
  const token = response.headers.get('x-debug-token');
  const page = token === null ? null : await (await fetch(origin + '/_profiler/' + token + '.json')).json();
  console.log(JSON.stringify({ body, route: page?.profile.route ?? null }));
  process.exit();
});
`;
const FILES: Record<string, string> = {
  'package.json': '{}',
  'loader.mjs':
    "import { register } from 'node:module'; register('data:text/javascript,export async function load(u, c, n) { return n(u, c) }');",
  'later.cjs': 'module.exports = 1;',
  'later.mjs': 'export default 1;',
  'plain.mjs': `import express from 'express'; const app = express(); ${REST}`,
  'plain.cjs': `const express = require('express'); const app = express(); ${REST}`,
  'plain.mts': `import express from 'express'; const app: any = express(); ${REST.replace('server =', 'server: any =')}`,
  'lines.mjs': `import express from 'express'; import hindsight from 'express-hindsight'; const app = express(); hindsight(app); ${REST}`,
  'lines.cjs': `const express = require('express'); const { hindsight } = require('express-hindsight'); const app = express(); hindsight(app); ${REST}`,
  'later-lines.mjs': `import express from 'express'; import hindsight from 'express-hindsight'; const app = express(); hindsight(app); await import('./later.cjs'); await import('./later.mjs'); ${REST}`,
};

/** What follows `node` on its command line. */
const ENTRY_POINTS: Record<string, string[]> = {
  '`hindsight(app)` in an ES module': ['lines.mjs'],
  '`hindsight(app)` in CommonJS': ['lines.cjs'],
  '`hindsight(app)`, then `import()`': ['later-lines.mjs'],
  '`--import` register, ES module': ['--import', REGISTER, 'plain.mjs'],
  '`--import` register, CommonJS': ['--import', REGISTER, 'plain.cjs'],
  '`--require` register, ES module': ['--require', REGISTER, 'plain.mjs'],
  '`--require` register, CommonJS': ['--require', REGISTER, 'plain.cjs'],
  '`--import tsx`, then register': ['--import', 'tsx', '--import', REGISTER, 'plain.mts'],
  'register, then `--import tsx`': ['--import', REGISTER, '--import', 'tsx', 'plain.mts'],
  '`--import tsx`, `hindsight(app)`, then `import()`': ['--import', 'tsx', 'later-lines.mjs'],
  'a loader of `module.register`, then register': [
    '--import',
    './loader.mjs',
    '--import',
    REGISTER,
    'plain.mjs',
  ],
  'register, then such a loader': ['--import', REGISTER, '--import', './loader.mjs', 'plain.mjs'],
  'such a loader, `hindsight(app)`, then `import()`': ['--import', './loader.mjs', 'later-lines.mjs'],
};

const folder = join(tmpdir(), 'hindsight-entry-points');

function npm(args: string[]): string {
  const { status, stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

function install(prefix: string, ...packages: string[]): void {
  npm([
    'install',
    '--prefix',
    prefix,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--silent',
    ...packages,
  ]);
}

/** The program of a version. Its package links it in a script that runs at its installation. */
function nodeOf(version: string): string {
  const prefix = join(folder, `node-${version}`);
  const program = join(prefix, 'node_modules', 'node', 'bin', 'node');
  if (!existsSync(program)) {
    mkdirSync(prefix, { recursive: true });
    npm(['install', '--prefix', prefix, '--no-audit', '--no-fund', '--silent', `node@${version}`]);
  }
  return program;
}

/** `yes`, or what went wrong. */
function attempt(program: string, args: string[]): string {
  const { NODE_ENV: _ofOurs, NODE_OPTIONS: _too, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: 60_000,
  });
  const last = stdout.trim().split('\n').at(-1) ?? '';
  if (status !== 0 || !last.startsWith('{')) return /\w*Error.*/.exec(stderr)?.[0] ?? `ended with ${status}`;
  const { body, route } = JSON.parse(last) as { body: unknown; route: unknown };
  if (body !== 'hello') return 'another response';
  if (route !== '/hello') return 'nothing recorded';
  return 'yes';
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

mkdirSync(folder, { recursive: true });
const packed = npm(['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]);
for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
install(folder, join(folder, packed), 'express@5', 'tsx@4');

const versions = process.argv.length > 2 ? process.argv.slice(2) : VERSIONS;
const programs = versions.map(nodeOf);
console.log(row(['Entry point', ...versions]));
console.log(row(['---', ...versions.map(() => '---')]));
for (const [name, args] of Object.entries(ENTRY_POINTS)) {
  const results = programs.map((program) => attempt(program, args));
  if (results.some((result) => result !== 'yes')) process.exitCode = 1;
  console.log(row([name, ...results]));
}
