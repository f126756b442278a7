import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { createMethodIndex } from '../../app/observe/stacks/method-index.ts';
import { createSourceFiles } from '../../app/observe/stacks/source-files.ts';
import { atOnce } from '../../app/profiler/turns.ts';

const METHODS = (...names: string[]): string =>
  `export class X {\n${names.map((name) => `  async ${name}(id) {\n    if (id) {\n    }\n  }\n`).join('')}}\n`;

describe('the methods of an application', () => {
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'methods-'));
  const index = createMethodIndex({ root, files: createSourceFiles({ roots: [root] }) });

  function write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
  }

  before(() => {
    write({
      'src/services/OrderService.ts': METHODS('create', 'cancel', 'get'),
      'src/services/quote.service.ts': METHODS('create', 'price'),
      'src/quotes/mapper.ts': 'export const createMapper = () => ({\n  toDto: (row) => row,\n});\n',
      'src/i18n.js':
        'const create = () => {\n  return { forLocale: (name) => name, other: async name => name };\n};\n',
      'node_modules/x/index.js': METHODS('cancel'),
      'dist/OrderService.js': METHODS('cancel'),
      'src/order.test.ts': METHODS('cancel'),
      'src/types.d.ts': METHODS('price'),
    });
    atOnce(index.refresh());
  });

  after(() => {
    rmSync(root, { recursive: true, force: true });
  });

  it('are found by their name if only one file has it', () => {
    expect(index.find('service', 'cancel')).to.equal('src/services/OrderService.ts:6');
    expect(index.find('anything', 'toDto')).to.equal('src/quotes/mapper.ts:2');
    expect(index.find('i18n', 'forLocale')).to.equal('src/i18n.js:2');
    expect(index.find('i18n', 'other')).to.equal('src/i18n.js:2');
    expect(index.find('service', 'missing')).to.equal(null);
    expect(index.find('service', 'if')).to.equal(null);
  });

  it('are not looked for in minified lines and in bundles', () => {
    write({
      'src/min.js': `export function f(){}${'a.b(c);'.repeat(100)}\n  onlyMinified(id) {${';'.repeat(400)}\n`,
      'src/bundle.js': METHODS('onlyBundled') + '  // a line\n'.repeat(30_000),
    });
    const fresh = createMethodIndex({ root, files: createSourceFiles({ roots: [root] }) });
    atOnce(fresh.refresh());
    for (const name of ['onlyMinified', 'onlyBundled']) expect(fresh.find('x', name), name).to.equal(null);
    for (const name of ['src/min.js', 'src/bundle.js']) rmSync(join(root, name));
  });

  it('are found in the file that is named like their object if several have them', () => {
    expect(index.find('orderService', 'create')).to.equal('src/services/OrderService.ts:2');
    expect(index.find('quoteService', 'create')).to.equal('src/services/quote.service.ts:2');
    expect(index.find('service', 'create')).to.equal(null);
    expect(index.find('quoteMapper', 'toDto')).to.equal('src/quotes/mapper.ts:2');
  });

  it('are not taken for those of the language', () => {
    expect(index.find('headers', 'get')).to.equal(null);
    expect(index.find('rows', 'get')).to.equal(null);
    expect(index.find('orderService', 'get')).to.equal('src/services/OrderService.ts:10');
  });
});
