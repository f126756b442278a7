/**
 * `bin/start.js` in the states that a checkout can be in after `npm ci`: built, not built, built from older sources,
 * with and without TypeScript. Each test has a small checkout of its own, with the real scripts and the real compiler.
 */
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { cp, mkdir, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { freshFolder } from '../support/fresh-folder.ts';

interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

function run(folder: string, script: string, ...options: string[]): Promise<Run> {
  const child = spawn(process.execPath, [join(folder, 'bin', script), ...options], {
    cwd: folder,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const result: Run = { code: null, stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (result.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (result.stderr += chunk.toString()));
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => done({ ...result, code }));
  });
}

/** Only what the sources below need: a compilation takes half as long. */
const TSCONFIG = {
  compilerOptions: {
    rootDir: '.',
    target: 'es2022',
    lib: ['es5'],
    module: 'nodenext',
    types: [],
    strict: true,
    rewriteRelativeImportExtensions: true,
    sourceMap: true,
  },
  include: ['app'],
};
const DECLARED = 'declare const process: { stdout: { write(text: string): void } };\n';

const runsTypeScript = 'typescript' in process.features && Boolean(process.features.typescript);

describe('bin/start.js', () => {
  let folder: string;

  async function writeSource(text: string): Promise<void> {
    await writeFile(join(folder, 'app', 'server.ts'), `${DECLARED}${text}`);
  }

  async function say(word: string): Promise<void> {
    await writeSource(`const word: string = '${word}';\nprocess.stdout.write(word);\n`);
  }

  /** Files of an older build: whatever is written later is newer. A build of the future is newer than all. */
  async function ageOfBuild(ms: number): Promise<void> {
    const moment = new Date(Date.now() - ms);
    await utimes(join(folder, 'dist', '.built'), moment, moment);
  }

  async function install(name: string): Promise<void> {
    await symlink(resolve('node_modules', name), join(folder, 'node_modules', name), 'junction');
  }

  /** One that has been built; each compilation takes a moment. */
  let built: string;

  before(async () => {
    built = await makeCheckout();
    await run(built, 'build.js');
  });
  beforeEach(async () => {
    folder = await makeCheckout();
  });

  /** The build of `built`, which has the same sources. */
  async function takeBuild(): Promise<void> {
    await cp(join(built, 'dist'), join(folder, 'dist'), { recursive: true, preserveTimestamps: true });
    await ageOfBuild(-5000);
  }

  async function makeCheckout(): Promise<string> {
    folder = freshFolder();
    await mkdir(join(folder, 'app'));
    await mkdir(join(folder, 'migrations'));
    await mkdir(join(folder, 'node_modules'));
    for (const name of ['bin', 'public']) await cp(name, join(folder, name), { recursive: true });
    await writeFile(join(folder, 'tsconfig.build.json'), JSON.stringify(TSCONFIG));
    await cp('package.json', join(folder, 'package.json'));
    for (const name of ['express', 'typescript-7']) await install(name);
    await say('one');
    return folder;
  }

  it('builds where there is no build, and says so', async () => {
    expect(await run(folder, 'start.js')).to.deep.equal({
      code: 0,
      stdout: 'one',
      stderr: 'Building (no build yet) …\n',
    });
  });

  it('renews a build that is older than the sources', async () => {
    await takeBuild();
    await say('two');
    await ageOfBuild(5000);
    const { stdout, stderr } = await run(folder, 'start.js');
    expect(stdout).to.equal('two');
    expect(stderr).to.equal('Building (sources changed) …\n');
  });

  it('renews a build when a source file went away, and drops its output', async () => {
    await takeBuild();
    await writeFile(join(folder, 'dist', 'app', 'other.js'), '');
    await ageOfBuild(5000);
    expect((await run(folder, 'start.js')).stdout).to.equal('one');
    expect(await readdir(join(folder, 'dist', 'app')))
      .to.include('server.js')
      .and.not.include('other.js');
  });

  it('starts although the types are wrong; only the full build minds', async () => {
    await writeSource("const n: number = 'x';\nprocess.stdout.write(String(n));\n");
    const checked = await run(folder, 'build.js', '--check');
    expect(checked.code).to.equal(1);
    expect(checked.stderr).to.include('TS2322');
    expect((await run(folder, 'start.js')).stdout).to.equal('x');
  });

  it('keeps the old build when the sources can not be built', async () => {
    await takeBuild();
    await writeFile(join(folder, 'app', 'server.ts'), 'const = ;\n');
    await ageOfBuild(5000);
    const { stdout, stderr } = await run(folder, 'start.js');
    expect(stderr).to.include('TS1134');
    if (!runsTypeScript) expect(stdout).to.equal('one');
  });

  it('says what is missing where there is neither a build nor TypeScript', async () => {
    await rm(join(folder, 'node_modules', 'typescript-7'));
    const { code, stdout, stderr } = await run(folder, 'start.js');
    if (runsTypeScript) {
      expect(stdout).to.equal('one');
      return;
    }
    expect(code).to.equal(1);
    expect(stderr).to.match(
      /^There is no build of the service.*TypeScript is not installed.*npm ci --include=dev.*\n$/,
    );
  });

  it('needs no TypeScript where the build is fresh', async () => {
    await takeBuild();
    await rm(join(folder, 'node_modules', 'typescript-7'));
    expect(await run(folder, 'start.js')).to.deep.equal({ code: 0, stdout: 'one', stderr: '' });
  });

  it('asks for `npm ci` where nothing is installed', async () => {
    await rm(join(folder, 'node_modules'), { recursive: true });
    const { code, stderr } = await run(folder, 'start.js');
    expect(code).to.equal(1);
    expect(stderr).to.equal('The dependencies are not installed; run `npm ci` first.\n');
  });

  it('serves processes that start at the same moment', async () => {
    const runs = await Promise.all([1, 2].map(() => run(folder, 'start.js')));
    expect(runs.map(({ stdout }) => stdout)).to.deep.equal(['one', 'one']);
    expect((await readdir(folder)).filter((name) => name.startsWith('.dist'))).to.deep.equal([]);
  });

  it('lets an install without TypeScript pass, and says what that means', async () => {
    await rm(join(folder, 'node_modules', 'typescript-7'));
    const { code, stderr } = await run(folder, 'build.js', '--if-possible');
    expect(code).to.equal(0);
    expect(stderr).to.match(/^TypeScript is not installed .*Node\.js 22\.18.*\n$/);
  });
});
