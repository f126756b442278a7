/** Which copies of a library are found, however the application loads them. */
import { expect } from 'chai';
import { mkdirSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Libraries, watchLibraries } from '../../app/observe/libraries.ts';
import { sqlitePatches } from '../../app/observe/databases/sqlite.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('watched libraries', () => {
  let folder: string;
  let libraries: Libraries | undefined;
  let patched: unknown[];

  beforeEach(() => {
    folder = freshFolder();
    const library = join(folder, 'node_modules', 'a-driver');
    mkdirSync(join(library, 'lib'), { recursive: true });
    writeFileSync(join(library, 'package.json'), '{ "version": "1.2.3", "main": "lib/main.js" }');
    writeFileSync(join(library, 'lib', 'main.js'), 'exports.isDriver = true;');
    patched = [];
    libraries = watchLibraries([
      { name: 'a-driver', patch: (exports) => (patched.push(exports), () => undefined) },
    ]);
  });

  afterEach(() => {
    libraries?.close();
    const { cache } = Module.createRequire(folder);
    for (const file of Object.keys(cache)) if (file.startsWith(folder)) Reflect.deleteProperty(cache, file);
  });

  for (const [how, request] of [
    ['its name', () => 'a-driver'],
    ['its folder', () => join(folder, 'node_modules', 'a-driver')],
    ['its file', () => join(folder, 'node_modules', 'a-driver', 'lib', 'main.js')],
  ] as const)
    it(`are found when they are required by ${how}`, () => {
      const exports: unknown = Module.createRequire(join(folder, 'server.js'))(request());
      expect(patched).to.deep.equal([exports]);
      expect(libraries?.found()).to.deep.equal([{ name: 'a-driver', version: '1.2.3' }]);
    });

  it('are patched once, if the patch loads another file of theirs', () => {
    const { cache } = Module.createRequire(folder);
    const load = Module.createRequire(join(folder, 'server.js'));
    const file = join(folder, 'node_modules', 'a-driver', 'lib', 'addon.js');
    writeFileSync(file, '');
    libraries?.close();
    const patch = (exports: unknown): (() => void) => {
      patched.push(exports);
      if (patched.length < 5) load(file);
      return () => undefined;
    };
    libraries = watchLibraries([{ name: 'a-driver', patch }]);
    load('a-driver');
    expect(cache).to.have.property(file);
    expect(patched).to.have.length(1);
  });

  it('of better-sqlite3 load no addon: the application does, and sees its errors', () => {
    const library = join(folder, 'node_modules', 'better-sqlite3');
    const addon = join(library, 'build', 'Release', 'better_sqlite3.node');
    mkdirSync(join(library, 'build', 'Release'), { recursive: true });
    mkdirSync(join(library, 'lib'));
    writeFileSync(addon, '');
    writeFileSync(join(library, 'package.json'), '{ "main": "lib/index.js" }');
    writeFileSync(
      join(library, 'lib', 'index.js'),
      `module.exports = class Database {
         constructor() {
           Database.made = (Database.made ?? 0) + 1;
           this.addon = require(${JSON.stringify(addon)});
         }
         prepare() { return new this.addon.Statement(); }
         exec() {}
         close() {}
       };`,
    );
    class Statement {
      run(): string {
        return 'run';
      }
      get(): string {
        return 'get';
      }
      all(): string {
        return 'all';
      }
      iterate(): string {
        return 'iterate';
      }
    }
    const { run } = Statement.prototype;
    const { _extensions: extensions } = Module as unknown as { _extensions: Record<string, unknown> };
    const { '.node': loadAddon } = extensions;
    extensions['.node'] = (module: NodeJS.Module) => {
      module.exports = { Statement, StatementIterator: Array };
    };
    libraries?.close();
    libraries = watchLibraries(sqlitePatches);
    try {
      type Fake = (new () => { prepare(): { run: unknown } }) & { made?: number };
      const Database = Module.createRequire(join(folder, 'server.js'))('better-sqlite3') as Fake;
      expect(Database.made).to.equal(undefined);
      expect(new Database().prepare().run).not.to.equal(run);
      // One that we made and dropped would end the process: WiseLibs/better-sqlite3 with Node.js 24.
      expect(Database.made).to.equal(1);
    } finally {
      extensions['.node'] = loadAddon;
    }
  });

  it('are found after a profiler was closed and collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    libraries?.close();
    libraries = undefined;
    await sleep(1);
    collect();
    const between = watchLibraries([]);
    await sleep(1);
    libraries = watchLibraries([
      { name: 'a-driver', patch: (exports) => (patched.push(exports), () => undefined) },
    ]);
    Module.createRequire(join(folder, 'server.js'))('a-driver');
    between.close();
    expect(patched).to.have.length(1);
  });
});
