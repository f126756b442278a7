/** Joined modules as scripts, and what the build keeps of compiling them: used where it fits, left alone where not. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Script } from 'node:vm';

interface Runner {
  onRun(listen: (name: string, script: Script) => void): void;
  pack(filename: string, text: Buffer, code: Buffer): Buffer;
  run(name: string): () => unknown;
}

/** The scripts in `bin` have no types. */
async function importBin<Module>(name: string): Promise<Module> {
  return (await import(pathToFileURL(resolve('bin', name)).href)) as Module;
}

const { asScript } = await importBin<{
  asScript(name: string, text: string): { script: string; module: string } | null;
}>('as-script.js');

const run = promisify(execFile);

describe('a joined module as a script', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hindsight-script-'));
    await copyFile('bin/run-script.js', join(folder, 'hindsight-run.js'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** The module that stays, imported with its script beside it. */
  async function load(text: string): Promise<Record<string, unknown>> {
    const made = asScript('a', text);
    if (made === null) throw new Error('It can be no script.');
    await writeFile(join(folder, 'a.js'), made.module);
    await writeFile(join(folder, 'a.code.js'), made.script);
    return (await import(pathToFileURL(join(folder, 'a.js')).href)) as Record<string, unknown>;
  }

  it('imports and exports the same', async () => {
    await writeFile(join(folder, 'b.js'), 'export const one = 1; export default 2;');
    const made = await load(
      'import three,{one as two}from"./b.js";import*as all from"./b.js";\nvar sum=two+three+all.one;export{sum,two as default};',
    );
    expect({ ...made }).to.deep.equal({ sum: 4, default: 1 });
  });

  it('imports what it asks for while it runs, and knows where it lies', async () => {
    await writeFile(join(folder, 'b.js'), 'export const one = 1;');
    const made = await load(
      'var text="import(nothing)";async function later(){return(await import("./b.js")).one}var url=import.meta.url;export{later,text,url};',
    );
    expect(await (made.later as () => Promise<number>)()).to.equal(1);
    expect(made).to.include({ text: 'import(nothing)', url: pathToFileURL(join(folder, 'a.js')).href });
  });

  it('leaves everything where it was, a line further down', () => {
    const text = 'import{one}from"./b.js";function two(){\nreturn import("./c.js")}export{two};';
    const lines = asScript('a', text)!.script.split('\n');
    expect(lines[1]).to.equal(`${' '.repeat('import{one}from"./b.js";'.length)}function two(){`);
    expect(lines[2]).to.match(/^return Import\("\.\/c\.js"\)} +$/);
  });

  it('is none where a script could not do the same', () => {
    expect(asScript('a', 'var a=await import("./b.js");export{a};')).to.equal(null);
    expect(asScript('a', 'export*from"./b.js";')).to.equal(null);
    expect(asScript('a', 'export{b}from"./b.js";')).to.equal(null);
    expect(asScript('a', 'var a=0;function count(){a++}export{a,count};')).to.equal(null);
    expect(asScript('a', 'var a=0;function set(){a=1}export{a,set};')).to.equal(null);
  });
});

describe('what V8 made of a script', () => {
  const TEXT = '(function(){return 1})';
  let folder: string;
  let runner: Runner;

  async function keep(change: (code: Buffer) => void = () => undefined): Promise<void> {
    const filename = pathToFileURL(join(folder, 'app', 'a.code.js')).href;
    // Under no name: a script that this process has compiled before would be taken from there.
    const code = new Script(TEXT).createCachedData();
    change(code);
    await writeFile(join(folder, 'code', 'a'), runner.pack(filename, Buffer.from(TEXT), code));
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hindsight-kept-'));
    for (const name of ['app', 'code']) await mkdir(join(folder, name));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await copyFile('bin/run-script.js', join(folder, 'app', 'hindsight-run.js'));
    runner = (await import(pathToFileURL(join(folder, 'app', 'hindsight-run.js')).href)) as Runner;
    await writeFile(join(folder, 'app', 'a.code.js'), TEXT);
    await keep();
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** What the script gives, and whether V8 refused what it was given; undefined where it was given nothing. */
  function outcome(): { value: unknown; refused: boolean | undefined } {
    let refused: boolean | undefined;
    runner.onRun((_name, script) => (refused = script.cachedDataRejected));
    return { value: runner.run('a')(), refused };
  }

  it('is used', () => {
    expect(outcome()).to.deep.equal({ value: 1, refused: false });
  });

  it('is left alone where nothing was kept', async () => {
    await rm(join(folder, 'code'), { recursive: true });
    expect(outcome()).to.deep.equal({ value: 1, refused: undefined });
  });

  it('is left alone where the script is another of the same length', async () => {
    await writeFile(join(folder, 'app', 'a.code.js'), TEXT.replace('1', '2'));
    expect(outcome()).to.deep.equal({ value: 2, refused: undefined });
  });

  it('is left alone where it is cut off, or a byte is another', async () => {
    const file = join(folder, 'code', 'a');
    const whole = await readFile(file);
    for (const bytes of [0, 10, 32, whole.length - 1]) {
      await truncate(file, bytes);
      expect(outcome(), `${bytes} bytes`).to.deep.equal({ value: 1, refused: undefined });
      await writeFile(file, whole);
    }
    whole[whole.length - 9] = (whole[whole.length - 9] ?? 0) ^ 1;
    await writeFile(file, whole);
    expect(outcome()).to.deep.equal({ value: 1, refused: undefined });
  });

  it('is left alone where the folder is another, since V8 keeps its name', async () => {
    const moved = `${folder}-moved`;
    await cp(folder, moved, { recursive: true });
    try {
      runner = (await import(pathToFileURL(join(moved, 'app', 'hindsight-run.js')).href)) as Runner;
      expect(outcome()).to.deep.equal({ value: 1, refused: undefined });
    } finally {
      await rm(moved, { recursive: true });
    }
  });

  it('is refused by a V8 that is another, and the script runs all the same', async () => {
    // The second word of V8's head tells its version.
    await keep((code) => code.writeUInt8(code.readUInt8(4) ^ 1, 4));
    expect(outcome()).to.deep.equal({ value: 1, refused: true });
  });
});

describe('the build', function () {
  this.timeout(30_000);

  it('leaves modules as they are where the service gives no answer', async () => {
    const { keepCode } = await importBin<{ keepCode(folder: string): Promise<void> }>('bundle.js');
    const folder = await mkdtemp(join(tmpdir(), 'hindsight-unkept-'));
    try {
      const text = `throw new Error('${'x'.repeat(10_000)}');\n//# sourceMappingURL=service.js.map\n`;
      await mkdir(join(folder, 'app'));
      await writeFile(join(folder, 'package.json'), '{"type":"module"}');
      await writeFile(join(folder, 'app', 'service.js'), text);
      await writeFile(join(folder, 'app', 'service.js.map'), '{"mappings":""}');
      await keepCode(folder);
      expect(await readFile(join(folder, 'app', 'service.js'), 'utf8')).to.equal(text);
      const left = (await readdir(folder, { recursive: true })).sort();
      expect(left).to.deep.equal(
        ['app', 'app/hindsight-run.js', 'app/service.js', 'app/service.js.map', 'package.json'].map((path) =>
          join(path),
        ),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** Starts the built service without a database, asks once, and tells what was loaded by then. */
const FIRST_ANSWER = `
  import { createRequire } from 'node:module';
  import { get } from 'node:http';
  const app = process.argv[1];
  const scripts = {};
  const { onRun } = await import(app + 'hindsight-run.js');
  onRun((name, script) => (scripts[name] = script.cachedDataRejected));
  const { createService, readConfig } = await import(app + 'service.js');
  let frame = '';
  try {
    createService({});
  } catch (error) {
    frame = error.stack.split('\\n')[1];
  }
  const config = readConfig({ APP_ENV: 'dev', VAR_DIR: process.argv[2] });
  const { server } = createService({ config, routes: [], log() {} });
  server.listen(0, '127.0.0.1', () => {
    get({ port: server.address().port, headers: { accept: 'text/html' } }, (answer) => {
      const packages = Object.keys(createRequire(app).cache).map((file) => /.*node_modules.([^\\\\/]+)/.exec(file)?.[1]);
      console.log(JSON.stringify({ status: answer.statusCode, frame, scripts, packages: [...new Set(packages)] }));
      process.exit(0);
    });
  });
`;

describe('the first answer of the built service', function () {
  this.timeout(120_000);

  it('uses what the build kept, and loads no database, upload or page beside it', async () => {
    const { entryOf } = await importBin<{ entryOf(name: string): Promise<string> }>('entry.js');
    await entryOf('service');
    const folder = await mkdtemp(join(tmpdir(), 'hindsight-first-'));
    try {
      const app = pathToFileURL(resolve('dist/app/')).href;
      const { stdout } = await run(process.execPath, [
        '--input-type=module',
        '-e',
        FIRST_ANSWER,
        `${app}/`,
        folder,
      ]);
      const { status, frame, scripts, packages } = JSON.parse(
        stdout.split('\n').find((line) => line.startsWith('{'))!,
      ) as {
        status: number;
        frame: string;
        scripts: Record<string, boolean | undefined>;
        packages: string[];
      };
      expect(status).to.equal(404);
      expect(frame)
        .to.include('/dist/app/')
        .and.to.match(/\.code\.js:\d+:\d+\)?$/);
      expect(Object.values(scripts)).to.have.lengthOf.within(3, 12);
      expect(new Set(Object.values(scripts))).to.deep.equal(new Set([false]));
      expect(packages).to.include('express');
      for (const later of ['knex', 'pg', 'multer', 'helmet']) expect(packages).to.not.include(later);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
