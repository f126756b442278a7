/** The linter finds what it is there for: one violation of each rule that the house relies on, planted in a folder with the same rules. */
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Line of app/ -> the rule that must report it, and it alone. */
const planted: readonly (readonly [line: string, rule: string])[] = [
  ['const unused = 1;', 'eslint(no-unused-vars)'],
  ['export const loose = Number.MAX_VALUE == 1;', 'eslint(eqeqeq)'],
  ['export function failing(): void { wait(); }', 'typescript(no-floating-promises)'],
  ['export const held = [1].filter(async () => wait());', 'typescript(no-misused-promises)'],
  ["export const parsed = String(JSON.parse('1').name);", 'typescript(no-unsafe-member-access)'],
  ["export const passed: number = JSON.parse('1');", 'typescript(no-unsafe-assignment)'],
  ['export const printed = `${[1]}`;', 'typescript(restrict-template-expressions)'],
  ['export const sure = [1][0]!;', 'typescript(no-non-null-assertion)'],
  ['export const home = process.env.HOME;', 'house(environment-read)'],
  ['export const here = import.meta.url;', 'house(import-meta-url)'],
  ['target.send = () => 1;', 'house(function-to-property)'],
  ['export const early = await wait();', 'house(top-level-await)'],
];
const head = [
  'declare const process: { env: { HOME: string } };',
  'declare global { interface ImportMeta { url: string } }',
  'const target: { send: () => number } = { send: Math.random };',
  'async function wait(): Promise<boolean> { return Promise.resolve(true); }',
];
const tsconfig = {
  compilerOptions: { strict: true, noUncheckedIndexedAccess: true, target: 'es2022', module: 'esnext' },
};

interface Report {
  diagnostics: { code: string; labels: { span: { line: number } }[] }[];
}

describe('the rules of the linter', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hindsight-lint-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('each finds what is planted for it', () => {
    for (const name of ['app', 'bin']) mkdirSync(join(folder, name));
    for (const file of ['.oxlintrc.json', 'bin/lint-rules.js']) copyFileSync(file, join(folder, file));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
    writeFileSync(join(folder, 'app/planted.ts'), [...head, ...planted.map(([line]) => line)].join('\n'));

    const { stdout } = spawnSync(
      process.execPath,
      [resolve('node_modules/oxlint/bin/oxlint'), '--format=json'],
      {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, OXLINT_TSGOLINT_PATH: resolve('node_modules/.bin/tsgolint') },
      },
    );

    const { diagnostics } = JSON.parse(stdout) as Report;
    const found = diagnostics.map(
      ({ code, labels }) => [labels[0]?.span.line ?? 0, code] as [number, string],
    );
    expect(found.sort(([a], [b]) => a - b)).to.deep.equal(
      planted.map(([, rule], at) => [head.length + at + 1, rule]),
    );
  });
});
