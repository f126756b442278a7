/**
 * What a host gets from npm: the packed files, imported and required from a folder that knows nothing of this checkout.
 */
import { expect } from 'chai';
import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { withBuild } from '../support/build.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const run = promisify(execFile);

interface PackedFile {
  path: string;
}

/** Mounts the profiler, sends two requests, prints what came back as JSON. */
const HOST = `
async function main(express, { createProfiler }) {
  const profiler = createProfiler({ warn() {} });
  const app = express();
  app.use(profiler.watch, profiler.pages);
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
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
  const cut = ({ status, link, body }) => ({ status, link, body: body.slice(0, 20000) });
  console.log(JSON.stringify({ fine: cut(fine), page: cut(page), json: cut(json), failed: cut(failed), timers }));
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
  name: 'cache_reads',
  title: 'Cache',
  collect(context: Context) {
    const reads = context.all('cache');
    return reads.length === 0 ? null : { hits: reads.filter(({ hit }) => hit).length };
  },
  menu: { summary: ({ hits }) => ({ text: String(hits), tone: 'plain' }) },
};
const profiler = createProfiler({ panels: [cachePanel] });
const app = express();
app.use(profiler.watch, profiler.pages);
app.use(profiler.errors);
`;

const REQUIRING_HOST = `
import express = require('express');
import door = require('express-hindsight');
door.hindsight(express(), { explainMs: 5 }).dump(1);
`;

interface Answer {
  status: number;
  link: string | null;
  body: string;
}

const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;

describe('the package', () => {
  withBuild();
  let folder: string;
  let files: string[];

  before(async () => {
    folder = freshFolder();
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
    await mkdir(join(modules, '@types'));
    // A host has no types of a driver that it does not use.
    const types = await readdir('node_modules/@types');
    const typesOfHost = types.filter((name) => name !== 'pg').map((name) => `@types/${name}`);
    for (const name of ['express', 'express-4', ...typesOfHost, ...Object.keys(dependencies)]) {
      await symlink(resolve('node_modules', name), join(modules, name), 'junction');
    }
    for (const [name, text] of Object.entries(HOSTS)) await writeFile(join(folder, name), text);
  });

  it('holds what runs, with its views, styles and migrations, and nothing else', () => {
    expect(files).to.include.members([
      'dist/app/index.js',
      'dist/app/index.d.ts',
      'dist/public/hindsight.css',
      'views/profiler/list.ejs',
      'LICENSE',
      'README.md',
    ]);
    const strays = files.filter(
      (path) =>
        !/^(dist\/app|dist\/cjs|dist\/public|views)\//.test(path) &&
        !/^(LICENSE|package\.json|dist\/(sbom\.cdx\.json|mcp-sdk\.(cjs|LICENSES))|[A-Z]+\.md)$/.test(path),
    );
    expect(strays).to.deep.equal([]);
    // They import files that only this repository has.
    for (const name of ['config', 'register', 'server']) expect(files).to.not.include(`dist/app/${name}.js`);
  });

  it('has no script that runs when a host installs it, and brings what its pages are made with', async () => {
    const text = await readFile(join(folder, 'node_modules/express-hindsight/package.json'), 'utf8');
    const { scripts, dependencies } = JSON.parse(text) as Record<string, Record<string, string>>;
    const atInstall = ['preinstall', 'install', 'postinstall', 'prepare'].filter((name) => name in scripts!);
    expect(atInstall).to.deep.equal([]);
    expect(Object.keys(dependencies!), 'what a host installs').to.deep.equal([
      'commander',
      'ejs',
      'sugar-high',
    ]);
  });

  it('has a command line, which runs without the rest', async () => {
    const cli = join(folder, 'node_modules/express-hindsight/dist/app/cli.js');
    const { stdout } = await run(process.execPath, [cli, '--help'], { cwd: folder });
    expect(stdout).to.include('express-hindsight').and.include('tail');
    expect(await readFile(cli, 'utf8')).to.match(/^#!\/usr\/bin\/env node\n/);
    const { bin } = JSON.parse(
      await readFile(join(folder, 'node_modules/express-hindsight/package.json'), 'utf8'),
    ) as { bin: Record<string, string> };
    expect(bin).to.deep.equal({ 'express-hindsight': 'dist/app/cli.js' });
    // An agent that leaves at once: the SDK of its protocol is part of the package.
    const agent = run(process.execPath, [cli, 'mcp'], { cwd: folder });
    agent.child.stdin?.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
    expect((await agent).stderr).to.equal('');
  });

  for (const host of Object.keys(HOSTS)) {
    it(`serves profiles in ${host}`, async () => {
      const { stdout, stderr } = await run(process.execPath, [join(folder, host)], { cwd: folder });
      expect(stderr).to.not.match(/^\s+at /m);
      const { fine, page, json, failed, timers } = JSON.parse(stdout) as Record<string, Answer> & {
        timers: string[];
      };
      expect(timers, 'what keeps the process after its profiler').to.deep.equal([]);
      expect(fine).to.include({ status: 200, body: 'fine' });
      expect(page!.status).to.equal(200);
      expect(page!.body).to.include('/fine');
      expect(JSON.parse(json!.body)).to.be.an('object');
      expect(failed!.status).to.equal(500);
      expect(failed!.body).to.include('The host failed.');
    });
  }

  it('serves all its pages while its files are gone, as when it is installed again', async () => {
    const program = `
      const { renameSync } = require('node:fs');
      const express = require('express');
      const { hindsight } = require('express-hindsight');
      const app = express();
      const profiler = hindsight(app, { warn() {} });
      app.get('/fine', (request, response) => response.send('<html><body>fine</body></html>'));
      app.get('/fails', () => { throw new Error('The host failed.'); });
      app.use(profiler.notFound, profiler.errors);
      const server = app.listen(0, '127.0.0.1', async () => {
        const origin = 'http://127.0.0.1:' + server.address().port;
        const { headers } = await fetch(origin + '/fine');
        const link = headers.get('x-debug-token-link');
        const list = await (await fetch(origin + '/_profiler/')).text();
        renameSync('node_modules/express-hindsight', 'node_modules/gone');
        try {
          const assets = [...list.matchAll(/(?:href|src)="([^"]+\\.(?:css|js)[^"]*)"/g)].map(([, path]) => new URL(path, origin + '/_profiler/').href);
          const all = [link, link + '.md', link + '?panel=routing', origin + '/_profiler/routes', origin + '/_profiler/zzzzzz', origin + '/fails', origin + '/missing', ...assets];
          const answers = [];
          for (const url of all) {
            const answer = await fetch(url, { headers: { accept: 'text/html' } });
            const text = await answer.text();
            answers.push([url.replace(link, 'link').replace(origin, ''), answer.status, /<link rel="stylesheet"|^# |^[^<]/.test(text), /could not|There is no view|ENOENT/.test(text)]);
          }
          console.log(JSON.stringify({ assets: assets.length, answers }));
        } finally {
          renameSync('node_modules/gone', 'node_modules/express-hindsight');
          server.close();
          server.closeAllConnections();
        }
      });`;
    await writeFile(join(folder, 'gone.cjs'), program);
    const { stdout } = await run(process.execPath, ['gone.cjs'], { cwd: folder, timeout: 20_000 });
    const { assets, answers } = JSON.parse(stdout) as {
      assets: number;
      answers: [path: string, status: number, isStyled: boolean, isBroken: boolean][];
    };
    expect(assets).to.be.at.least(2);
    const statuses = answers.map(([, status]) => status);
    expect(statuses.slice(0, 7)).to.deep.equal([200, 200, 200, 200, 404, 500, 404]);
    for (const [path, status, isStyled, isBroken] of answers) {
      expect([isStyled, isBroken], path).to.deep.equal([true, false]);
      if (/\.(?:css|js)/.test(path)) expect(status, path).to.equal(200);
    }
  });

  describe('attached without a line', () => {
    const PLAIN = `
const app = express();
app.set('strict routing', true);
app.get('/fine', (request, response) => response.send('fine'));
const server = app.listen(0, process.env.HOST ?? '127.0.0.1', async () => {
  const origin = 'http://127.0.0.1:' + server.address().port;
  const fine = await fetch(origin + '/fine');
  const link = fine.headers.get('x-debug-token-link');
  const strict = await fetch(origin + '/fine/');
  const page = link === null ? null : await fetch(link);
  const { profile } = page?.ok ? await (await fetch(link + '.json')).json() : {};
  const source = profile?.panels.routing.data?.route?.source ?? null;
  console.log(JSON.stringify({ link, strict: strict.status, page: page?.status ?? null, source, body: await fine.text() }));
  server.close();
  server.closeAllConnections();
});`;

    interface Told {
      link: string | null;
      strict: number;
      page: number | null;
      /** Where the route was registered. */
      source: string | null;
      body: string;
    }

    async function runPlain(
      file: string,
      text: string,
      env: Record<string, string> = {},
    ): Promise<{ told: Told; stderr: string }> {
      await writeFile(join(folder, file), text);
      const { stdout, stderr } = await run(process.execPath, [file], {
        cwd: folder,
        env: { PATH: process.env.PATH, NODE_OPTIONS: '--import express-hindsight/register', ...env },
        timeout: 20_000,
      });
      return { told: JSON.parse(stdout) as Told, stderr };
    }

    for (const [name, file, head] of [
      ['CommonJS', 'plain.cjs', `const express = require('express');`],
      ['Express 4', 'plain-4.cjs', `const express = require('express-4');`],
    ] as const)
      it(`records ${name}, and says once where the pages are`, async () => {
        const { told, stderr } = await runPlain(file, `${head}${PLAIN}`);
        expect(told).to.include({ strict: 404, page: 200, body: 'fine', source: `${file}:4` });
        expect(stderr).to.match(/^hindsight: http:\/\/127\.0\.0\.1:\d+\/_profiler\/\n$/);
      });

    it('records an application that has given fields to all objects and lists', async () => {
      const head = `Object.prototype.given = 'yes'; Array.prototype.given = 'yes'; const express = require('express');`;
      const { told, stderr } = await runPlain('given.cjs', `${head}${PLAIN}`);
      expect(told).to.include({ strict: 404, page: 200, body: 'fine', source: 'given.cjs:4' });
      expect(stderr).to.match(/^hindsight: http\S+\n$/);
    });

    it('records ES modules, and says where the pages are behind a server that has none and listens first', async () => {
      const metrics = `import { createServer } from 'node:http'; import { once } from 'node:events'; const metrics = createServer(() => undefined).listen(0, '127.0.0.1').unref(); await once(metrics, 'listening');`;
      const { told, stderr } = await runPlain(
        'plain.mjs',
        `import express from 'express'; ${metrics}${PLAIN}`,
      );
      expect(told).to.include({ strict: 404, page: 200, body: 'fine', source: 'plain.mjs:4' });
      const addresses = stderr.match(/(?<=^hindsight: )http\S+$/gm) ?? [];
      expect(new Set(addresses), stderr).to.have.property('size', 1);
    });

    it('records an Express that is part of a bundle, in production if PROFILER says so', async () => {
      await build({
        stdin: { contents: `const express = require('express');${PLAIN}`, resolveDir: folder },
        bundle: true,
        platform: 'node',
        outfile: join(folder, 'plain-bundle.cjs'),
      });
      const { told, stderr } = await runPlain('run-bundle.cjs', `require('./plain-bundle.cjs');`, {
        NODE_ENV: 'production',
        PROFILER: 'on',
        HOST: '0.0.0.0',
      });
      expect(told).to.include({ page: 200, body: 'fine' });
      expect(stderr.match(/Anyone who can reach 0\.0\.0\.0:\d+/g), stderr).to.have.lengthOf(1);
    });

    it('leaves a production as it is, and what PROFILER switches off', async () => {
      const text = `import express from 'express';${PLAIN}`;
      const off = await runPlain('plain.mjs', text, { NODE_ENV: 'production' });
      expect(off.told).to.deep.equal({ link: null, strict: 404, page: null, source: null, body: 'fine' });
      expect(off.stderr).to.equal(
        'hindsight: nothing is recorded, because NODE_ENV is production; set PROFILER=on to record.\n',
      );
      const unwanted = await runPlain('plain.mjs', text, { PROFILER: 'off' });
      expect(unwanted).to.deep.include({ stderr: '' }).and.nested.include({ 'told.link': null });
    });

    it('says what is wrong with a setting, and records nothing then', async () => {
      const { told, stderr } = await runPlain('plain.cjs', `const express = require('express');${PLAIN}`, {
        PROFILER_EXPLAIN_MS: 'soon',
      });
      expect(told).to.include({ link: null, body: 'fine' });
      expect(stderr).to.match(/^hindsight: PROFILER_EXPLAIN_MS is "soon"; [^\n]+ Nothing is recorded\.\n$/);
    });

    it('leaves the application to a profiler that it has by itself', async () => {
      const { told, stderr } = await runPlain(
        'own.mjs',
        `import express from 'express'; import hindsight from 'express-hindsight';
         ${PLAIN.replace('const server', `hindsight(app, { password: 'own' }); const server`)}`,
      );
      expect(told.page, 'asks for the password of its own').to.equal(401);
      expect(stderr).to.match(/^hindsight: http:\/\/127\.0\.0\.1:\d+\/_profiler\/\n$/);
    });

    for (const [options, args] of [
      ['--import express-hindsight/register', []],
      ['--conditions=a --import="express-hindsight/register"', []],
      ['--require express-hindsight/register', []],
      ['', ['--import', 'express-hindsight/register']],
      ['', ['-r', 'express-hindsight/register']],
      ['', ['--require=express-hindsight/register']],
    ] as const)
      it(`lets a child process start in another folder: ${options} ${args.join(' ')}`, async () => {
        const text = `
          const { fork, spawnSync } = require('node:child_process');
          if (process.argv[2] === 'child') process.exit();
          const spawned = spawnSync(process.execPath, [__filename, 'child'], { cwd: '/', encoding: 'utf8' });
          fork(__filename, ['child'], { cwd: '/' }).on('exit', (code) => console.log(spawned.stderr, spawned.status, code));`;
        await writeFile(join(folder, 'parent.cjs'), text);
        const env = {
          PATH: process.env.PATH,
          NODE_OPTIONS: options,
          PROFILER: args.length === 1 ? 'off' : '',
        };
        const { stdout } = await run(process.execPath, [...args, 'parent.cjs'], { cwd: folder, env });
        expect(stdout.trim()).to.equal('0 0');
      });

    it('loads nothing and says nothing in a process without Express', async () => {
      const { told, stderr } = await runPlain(
        'none.cjs',
        `console.log(JSON.stringify({ body: Object.keys(require.cache).filter((file) => file.includes('hindsight-profiler')).join() }));`,
      );
      expect(told.body).to.equal('');
      expect(stderr).to.equal('');
    });
  });

  it('requires nothing itself: Jest knows no ES modules, and a bundle of ES modules has no `require`', async () => {
    const text = await readFile(
      join(folder, 'node_modules/express-hindsight/dist/cjs/hindsight-profiler.js'),
      'utf8',
    );
    const names = Array.from(text.matchAll(/\brequire\(["']([^"')]+)["']\)/g), ([, name]) => name!);
    // In the text of its threads, and where the file has a name.
    expect(new Set(names)).to.have.keys('node:worker_threads', 'node:inspector', 'node:url');
  });

  for (const [name, file, to] of [
    ['an import', 'host.mjs', 'bundle.cjs'],
    ['a require', 'host.cjs', 'bundle.cjs'],
    ['an import for ES modules', 'host.mjs', 'bundle.mjs'],
  ] as const)
    it(`works in one bundle made of ${name}, and where its files are missing says what to do`, async () => {
      const outfile = join(folder, to);
      const entry = (await readFile(join(folder, file), 'utf8')).replace('await main(', 'void main(');
      await build({
        stdin: { contents: entry, resolveDir: folder },
        bundle: true,
        platform: 'node',
        // Express itself needs a `require`.
        ...(to.endsWith('.mjs') ? { format: 'esm', banner: { js: REQUIRE } } : {}),
        outfile,
        logLevel: 'silent',
      });
      const { stdout } = await run(process.execPath, [outfile], { cwd: folder, timeout: 20_000 });
      const { page, failed } = JSON.parse(stdout) as Record<string, Answer>;
      expect(page!.body).to.include('/fine');
      expect(failed!.body).to.include('The host failed.');

      const alone = freshFolder();
      await cp(outfile, join(alone, to));
      const said = await run(process.execPath, [join(alone, to)], { cwd: alone }).then(
        () => '',
        (error: unknown) => (error as { stderr: string }).stderr,
      );
      expect(said).to.include('Mark it external');
    });

  it('has its default export in a CommonJS bundle of ES modules that requires it', async () => {
    const outfile = join(folder, 'external.cjs');
    const entry = join(folder, 'external.mjs');
    await writeFile(
      entry,
      `import hindsight, { createProfiler } from 'express-hindsight';
       console.log(typeof hindsight, typeof createProfiler);`,
    );
    await build({
      entryPoints: [entry],
      external: ['express-hindsight'],
      bundle: true,
      platform: 'node',
      outfile,
    });
    const { stdout } = await run(process.execPath, [outfile], { cwd: folder, timeout: 20_000 });
    expect(stdout).to.equal('function function\n');
  });

  it('names the lines of an application in whose bundle Express is', async () => {
    const outfile = join(folder, 'with-map.cjs');
    const entry = join(folder, 'with-map.js');
    await writeFile(
      entry,
      `const express = require('express');
       const { hindsight } = require('express-hindsight');
       const app = express();
       const profiler = hindsight(app, { warn() {} });
       app.use(express.json());
       app.get('/fine', (request, response) => response.json({}));
       const server = app.listen(0, '127.0.0.1', async () => {
         const { headers } = await fetch('http://127.0.0.1:' + server.address().port + '/fine');
         const { profile } = await profiler.profiles.read(headers.get('x-debug-token'));
         console.log(profile.panels.routing.data.route.source);
         server.close();
         server.closeAllConnections();
         await profiler.close();
       });`,
    );
    await build({
      entryPoints: [entry],
      external: ['express-hindsight'],
      bundle: true,
      platform: 'node',
      sourcemap: true,
      outfile,
    });
    const { stdout } = await run(process.execPath, [outfile], { cwd: folder, timeout: 20_000 });
    expect(stdout).to.equal('with-map.js:6\n');
  });

  it('has types that a strict host compiles against, its own facts included', async () => {
    await writeFile(join(folder, 'host.mts'), TYPED_HOST);
    await writeFile(join(folder, 'host.cts'), REQUIRING_HOST);
    const options = [
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--lib',
      'es2023',
      '--module',
      'node16',
      '--types',
      'node',
    ];
    // With each declaration of the package and of its imports. The other compiler has made them (bin/build.js).
    const given = [...options, '--skipLibCheck', 'false', 'host.mts', 'host.cts'];
    const compiler = resolve('node_modules/typescript-7/bin/tsc');
    const compiled = run(process.execPath, [compiler, ...given], { cwd: folder });
    const said = await compiled.then(
      () => '',
      (error: unknown) => (error as { stdout: string }).stdout,
    );
    expect(said).to.equal('');
  });
});
