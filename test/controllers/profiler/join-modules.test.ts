/** Modules for the browser, joined to one script. */
import { expect } from 'chai';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext, Script } from 'node:vm';
import { joinModules } from '../../../app/controllers/profiler/join-modules.ts';

describe('modules for the browser', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'hindsight-join-'))));
  after(() => {
    rmSync(folder, { recursive: true });
  });

  function joined(files: Readonly<Record<string, string>>, head?: string): string {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return joinModules(folder, 'entry.js', head);
  }
  const importing = (rest: string): string => `import { one } from './other.js';\n${rest}`;

  it('are one script, each of them once', () => {
    const script = joined({
      'other.js': 'export const one = 1;\nfunction inner() {\n  const two = 2;\n  return two;\n}\nexport const three = inner() + one;\n',
      'entry.js': `${importing("import { three } from './other.js';\n")}  const two = one + 1;\nsaid.push(one, two, three);\n`,
    }); // prettier-ignore
    const said: unknown[] = [];
    runInNewContext(script, { said });
    expect(said).to.deep.equal([1, 2, 3]);
  });

  it('can be joined, all that the profiler has', () => {
    const own = readdirSync('public/profiler').filter((name) => name.endsWith('.js'));
    expect(own).to.include('hindsight.js');
    for (const file of own)
      expect(() => new Script(joinModules('public/profiler', file)), file).to.not.throw();
  });

  for (const [kind, other, entry] of [
    ['a function', 'export function one() {}\nfunction twice() {}\n', 'async function twice() {}\n'],
    ['a constant', 'export const one = 1;\nlet twice = 2;\n', 'const twice = 3;\n'],
    ['a part of an object', 'export const one = 1;\nconst { a: twice } = {};\n', 'class twice {}\n'],
  ] as const)
    it(`are refused if two of them declare the same name: ${kind}`, () => {
      expect(() => joined({ 'other.js': other, 'entry.js': importing(entry) })).to.throw(
        '"twice" is declared by other.js and by entry.js.',
      );
    });

  it('are refused if one declares a name of the head', () => {
    expect(() => joined({ 'entry.js': 'const STYLE = 1;\n' }, 'const STYLE = "";\n')).to.throw(
      '"STYLE" is declared by the head and by entry.js.',
    );
  });
});
