/**
 * What a host gets from npm: the packed files, imported and required from a folder that knows nothing of this checkout.
 */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { withBuild } from '../support/build.ts';

const run = promisify(execFile);

interface PackedFile {
  path: string;
}

/** Mounts the profiler, sends two requests, prints what came back as JSON. */
const HOST = `
async function main(express, { createProfiler }) {
  const profiler = createProfiler({ warn() {} });
  const app = express();
  app.use(profiler.watch);
  app.use(profiler.pages);
  app.get('/fine', (request, response) => response.send('fine'));
  app.get('/fails', () => { throw new Error('The host failed.'); });
  app.use(profiler.errors);
  const server = app.listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const origin = 'http://127.0.0.1:' + server.address().port;
  const ask = async (path) => {
    const answer = await fetch(new URL(path, origin));
    return { status: answer.status, link: answer.headers.get('x-debug-token-link'), body: await answer.text() };
  };
  const fine = await ask('/fine');
  const page = await ask(fine.link);
  const json = await ask(fine.link + '.json');
  const failed = await ask('/fails');
  server.close();
  server.closeAllConnections();
  await profiler.close();
  const cut = ({ status, link, body }) => ({ status, link, body: body.slice(0, 20000) });
  console.log(JSON.stringify({ fine: cut(fine), page: cut(page), json: cut(json), failed: cut(failed) }));
}
`;
const HOSTS = {
  'host.mjs': `import express from 'express'; import * as door from 'express-hindsight'; ${HOST} await main(express, door);`,
  'host.cjs': `const express = require('express'); const door = require('express-hindsight'); ${HOST} main(express, door);`,
};

/** A host in TypeScript with a panel and a kind of fact of its own. */
const TYPED_HOST = `
import express from 'express';
import { createProfiler, type Context, type Panel } from 'express-hindsight';

declare module 'express-hindsight' {
  interface Facts {
    cache: { key: string; hit: boolean };
  }
}

const cachePanel: Panel<{ hits: number }> = {
  name: 'cache',
  title: 'Cache',
  collect(context: Context) {
    const reads = context.all('cache');
    return reads.length === 0 ? null : { hits: reads.filter(({ hit }) => hit).length };
  },
  summary: ({ hits }) => ({ text: String(hits), tone: 'plain' }),
};
const profiler = createProfiler({ panels: [cachePanel] });
const app = express();
app.use(profiler.watch);
app.use(profiler.pages);
app.use(profiler.errors);
`;

interface Answer {
  status: number;
  link: string | null;
  body: string;
}

describe('the package', () => {
  withBuild();
  let folder: string;
  let files: string[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hindsight-door-'));
    const { stdout } = await run('npm', [
      'pack',
      '--ignore-scripts',
      '--json',
      '--silent',
      '--pack-destination',
      folder,
    ]);
    const [packed] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as {
      filename: string;
      files: PackedFile[];
    }[];
    files = packed!.files.map(({ path }) => path);
    const modules = join(folder, 'node_modules');
    await mkdir(modules);
    await run('tar', ['-xzf', join(folder, packed!.filename), '-C', modules]);
    await run('mv', [join(modules, 'package'), join(modules, 'express-hindsight')]);
    const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
      dependencies: Record<string, string>;
    };
    for (const name of ['express', '@types', ...Object.keys(dependencies)]) {
      await symlink(resolve('node_modules', name), join(modules, name), 'junction');
    }
    for (const [name, text] of Object.entries(HOSTS)) await writeFile(join(folder, name), text);
  });

  after(() => rm(folder, { recursive: true, force: true }));

  it('holds what runs, with its views, styles and migrations, and nothing else', () => {
    expect(files).to.include.members([
      'dist/app/index.js',
      'dist/app/index.d.ts',
      'public/profiler/hindsight.css',
      'views/profiler/list.ejs',
      'LICENSE',
      'README.md',
    ]);
    const strays = files.filter(
      (path) =>
        !/^(dist\/app|dist\/cjs|views|public)\//.test(path) &&
        !/^(LICENSE|package\.json|[A-Z]+\.md)$/.test(path),
    );
    expect(strays).to.deep.equal([]);
  });

  it('has no script that runs when a host installs it, and brings what its pages are made with', async () => {
    const text = await readFile(join(folder, 'node_modules/express-hindsight/package.json'), 'utf8');
    const { scripts, dependencies } = JSON.parse(text) as Record<string, Record<string, string>>;
    const atInstall = ['preinstall', 'install', 'postinstall', 'prepare'].filter((name) => name in scripts!);
    expect(atInstall).to.deep.equal([]);
    expect(Object.keys(dependencies!), 'what a host installs').to.deep.equal(['ejs', 'sugar-high']);
  });

  for (const host of Object.keys(HOSTS)) {
    it(`serves profiles in ${host}`, async () => {
      // It must end by itself: a timer left behind by the profiler would keep it for 5 s.
      const options = { cwd: folder, timeout: 4500 };
      const { stdout, stderr } = await run(process.execPath, [join(folder, host)], options);
      expect(stderr).to.not.match(/^\s+at /m);
      const { fine, page, json, failed } = JSON.parse(stdout) as Record<string, Answer>;
      expect(fine).to.include({ status: 200, body: 'fine' });
      expect(page!.status).to.equal(200);
      expect(page!.body).to.include('/fine');
      expect(JSON.parse(json!.body)).to.be.an('object');
      expect(failed!.status).to.equal(500);
      expect(failed!.body).to.include('The host failed.');
    });
  }

  it('has types that a strict host compiles against, its own facts included', async () => {
    await writeFile(join(folder, 'host.mts'), TYPED_HOST);
    const compiler = resolve('node_modules/typescript/lib/tsc.js');
    const options = [
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--lib',
      'es2023',
      '--module',
      'nodenext',
      '--types',
      'node',
    ];
    const compiled = run(process.execPath, [compiler, ...options, 'host.mts'], { cwd: folder });
    const said = await compiled.then(
      () => '',
      (error: unknown) => (error as { stdout: string }).stdout,
    );
    expect(said).to.equal('');
  });
});
