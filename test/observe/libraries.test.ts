/** Which copies of a library are found, however the application loads them. */
import { expect } from 'chai';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Libraries, watchLibraries } from '../../app/observe/libraries.ts';

describe('watched libraries', () => {
  let folder: string;
  let libraries: Libraries | undefined;
  let patched: unknown[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'libraries-'));
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
    rmSync(folder, { recursive: true });
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
