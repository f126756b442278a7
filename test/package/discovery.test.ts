/** The command line in the folder of a project: it finds the application by what that left in its folder, also when it is down. */
import { expect } from 'chai';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { foldersNear } from '../../app/storage/files/folder.ts';
import { withBuild } from '../support/build.ts';
import { type Ended, runCli } from '../support/cli.ts';
import { close, listen } from '../support/listen.ts';
import { until } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const CLI = resolve('dist/app/cli.js');
const REGISTER = resolve('dist/cjs/register.js');
/** Answers 200, or 500 for `/broken`; prints its port. */
const APP = `
const express = require('express');
const app = express();
app.get('/broken', () => { throw new Error('no stock'); });
app.get('/items/:id', (req, res) => res.json({ items: [{ id: req.params.id }], total: process.env.TOTAL }));
const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => console.log(server.address().port));
`;

async function endedProcess(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid!;
}

describe('the command line in the folder of a project', () => {
  withBuild();
  let folder: string;
  const running: ChildProcess[] = [];
  const env = (more: Record<string, string> = {}) => ({
    PATH: process.env.PATH,
    XDG_CACHE_HOME: join(folder, 'cache'),
    ...more,
  });

  /** In this process: to start one takes half a second of the processor. */
  const cli = (args: readonly string[], project: string): Promise<Ended> =>
    runCli(
      ['--project', project, ...args],
      {},
      {
        storedProjects: (path) => Promise.resolve(foldersNear(path, env())),
      },
    );

  /** As somebody types it in a folder. */
  async function cliIn(
    cwd: string,
    args: readonly string[],
    more: Record<string, string> = {},
  ): Promise<Ended> {
    const child = spawn(process.execPath, [CLI, ...args], { cwd, env: env(more) });
    const ended = { stdout: '', stderr: '' };
    child.stdout.on('data', (text: Buffer) => (ended.stdout += text.toString()));
    child.stderr.on('data', (text: Buffer) => (ended.stderr += text.toString()));
    const [code] = (await once(child, 'close')) as [number];
    return { code, ...ended };
  }

  /** A signal ends a process before what it has just recorded is written. */
  async function storedRows(): Promise<string> {
    const above = join(folder, 'cache/express-hindsight');
    const files = await readdir(above, { recursive: true }).catch(() => []);
    const rows = files.filter((path) => path.endsWith('.rows'));
    return (await Promise.all(rows.map((path) => readFile(join(above, path), 'utf8')))).join('');
  }

  async function makeProject(name: string): Promise<string> {
    const project = join(folder, name);
    await mkdir(project);
    await writeFile(join(project, 'package.json'), '{}');
    await writeFile(join(project, 'app.js'), APP);
    await symlink(resolve('node_modules'), join(project, 'node_modules'));
    return project;
  }

  const RECORDED = ['--import', REGISTER, 'app.js'];
  /** As somebody starts it who can't edit NODE_OPTIONS. */
  const RUN = [CLI, 'run', '--', process.execPath, 'app.js'];

  async function start(project: string, more: Record<string, string> = {}, args = RECORDED) {
    const child = spawn(process.execPath, args, {
      cwd: project,
      env: env(more),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    running.push(child);
    const [text] = (await once(child.stdout, 'data')) as [Buffer];
    const url = `http://127.0.0.1:${text.toString().trim()}`;
    return {
      url,
      send: async (path: string) => {
        const response = await fetch(url + path);
        await response.text();
        const token = response.headers.get('x-debug-token') ?? '';
        await until(async () => (await storedRows()).includes(token), `the record of ${path}`);
        return token;
      },
      stop: async () => {
        child.kill();
        return (await once(child, 'close')) as [number | null];
      },
    };
  }

  beforeEach(async () => {
    folder = await realpath(freshFolder());
  });
  afterEach(() => {
    for (const child of running.splice(0)) child.kill();
  });

  it('asks the application that runs there, its files when it is down, and not one of another project', async () => {
    const project = await makeProject('shop');
    const app = await start(project, {}, RUN);
    const broken = await app.send('/broken');
    const why = await cliIn(project, ['why']);
    expect(why.stdout, why.stderr)
      .to.include(broken)
      .and.match(/app\.js:\d+/)
      .and.include(app.url);
    const up = await cli(['status'], project);
    expect(up.stdout, up.stderr)
      .to.include('The application runs')
      .and.include(broken)
      .and.include(' 256 MiB');
    const [code] = await app.stop();
    expect(code).to.equal(128 + 15);
    const down = await cli(['status'], project);
    expect(down.stdout, down.stderr).to.include('is not running').and.include(broken);
    const list = await cli(['list'], project);
    expect(list.stdout).to.include('/broken').and.include('no stock');
    const verify = await cli(['verify', `${app.url}/_profiler/${broken}`], project);
    expect(verify).to.include({ code: 2, stdout: '' });
    expect(verify.stderr).to.include('Start it and try again.');

    const other = await makeProject('other');
    const second = await start(other, { PORT: new URL(app.url).port });
    await second.send('/items/7');
    const own = await cli(['list'], project);
    expect(own.stdout, own.stderr).to.include('/broken').and.not.include('/items/7');
    const above = await cliIn(folder, ['list']);
    expect(above.code).to.equal(2);
    expect(above.stderr).to.include(`--project ${project}`).and.include(`--project ${other}`);
    const named = await cli(['list'], other);
    expect(named.stdout, named.stderr).to.include('/items/7');
  });

  it('asks which one to send to if several servers run, and says at which JSON path a response differs', async () => {
    const project = await makeProject('two');
    const first = await start(project, { TOTAL: '12' });
    const second = await start(project, { TOTAL: '13' });
    const token = await first.send('/items/7');
    const { code, stderr } = await cli(['verify', token], project);
    expect(code, stderr).to.equal(2);
    expect(stderr).to.include(first.url).and.include(second.url);
    expect(await cli(['verify', token, '--url', first.url], project)).to.include({ code: 0 });
    expect(await cli(['show', token], project)).to.include({ code: 0 });
    await first.stop();
    const changed = await cli(['verify', token], project);
    expect(changed.stdout, changed.stderr)
      .to.include('differs in 1 place')
      .and.include('- `$.total`: `"12"` → `"13"`');
  });

  it('sends no password to an address that others could have written or whose process has ended, and skips one that is none', async () => {
    const project = await makeProject('shop');
    const asked: (string | undefined)[] = [];
    const { server, origin } = await listen((req, res) => {
      asked.push(req.headers.authorization);
      res.end('[]');
    });
    const shared = join(folder, 'shared');
    await mkdir(shared);
    await writeFile(join(shared, 'server-1'), `${origin} ${process.pid}`);
    await writeFile(join(shared, 'server-2'), 'no address');
    await chmod(shared, 0o777);
    try {
      const more = { PROFILER_DIR: shared, PROFILER_PASSWORD: 'hunter2' };
      await cliIn(project, ['list'], more);
      expect(asked).to.be.empty;
      await chmod(shared, 0o700);
      await writeFile(join(shared, 'project'), project);
      await writeFile(join(shared, 'server-1'), `${origin} ${await endedProcess()}`);
      await cliIn(project, ['list'], more);
      expect(asked).to.be.empty;
      await writeFile(join(shared, 'server-1'), `${origin} ${process.pid}`);
      const { stderr } = await cliIn(project, ['list'], more);
      expect(stderr).to.not.include('no address');
      expect(asked).to.not.be.empty;
    } finally {
      await close(server);
    }
  });

  it('names what to do if nothing was recorded there', async () => {
    const project = await makeProject('empty');
    const { code, stderr } = await cliIn(project, ['list']);
    expect(code).to.equal(2);
    expect(stderr).to.match(/^No application of this folder has run with Hindsight/);
  });
});
