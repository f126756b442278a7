/** The command line against a host that records: what it prints, asked in this process; its door, as a process. */
import { expect } from 'chai';
import express from 'express';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { createProfiler, type Profiler } from '../../app/index.ts';
import { withBuild } from '../support/build.ts';
import { runCli } from '../support/cli.ts';
import { close, listen } from '../support/listen.ts';

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The built one: the sources would be compiled at each start. */
function start(args: readonly string[], env: Record<string, string>) {
  return spawn(process.execPath, ['dist/app/cli.js', ...args], { env: { PATH: process.env.PATH, ...env } });
}

async function spawnCli(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const child = start(args, env);
  const ended = { stdout: '', stderr: '' };
  child.stdout.on('data', (text: Buffer) => (ended.stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (ended.stderr += text.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...ended };
}

describe('the command line', () => {
  withBuild();
  const PROFILER_PASSWORD = 'a password of the tests';
  let server: Server;
  let profiler: Profiler;
  let env: Record<string, string>;

  before(async () => {
    profiler = createProfiler({ password: PROFILER_PASSWORD, warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/fine', (_req, res) => void res.send('fine'));
    app.get('/broken', () => {
      throw new Error('no \u001b[31mstock');
    });
    app.use(profiler.errors);
    app.use(((_error, _req, res, _next) => void res.sendStatus(500)) as express.ErrorRequestHandler);
    ({ server } = await listen(app));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    env = { PROFILER_URL: url, PROFILER_PASSWORD };
    for (const path of ['/fine', '/broken']) await (await fetch(`${url}${path}`)).text();
  });

  after(() => close(server, profiler));

  it('lists requests as an aligned table, without control characters or colours outside a terminal', async () => {
    const { code, stdout } = await spawnCli(['list'], env);
    expect(code).to.equal(0);
    expect(stdout).to.match(/^TOKEN +AT +STATUS +METHOD +TIME +QUERIES +URL +FINDINGS\n/);
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    expect(
      rows.map((row) => row.slice(head.indexOf('STATUS'), head.indexOf('METHOD')).trim()),
    ).to.have.members(['500', '200']);
    expect(stdout).to.include('no \\x1b[31mstock').and.not.include('\u001b');
  });

  it('takes the filters of the search box, and prints JSON or Markdown', async () => {
    const { stdout } = await runCli(['list', 'status:5xx', 'route:/broken', '--format', 'json'], env);
    const { profiles } = JSON.parse(stdout) as { profiles: { url: string }[] };
    expect(profiles.map(({ url }) => url)).to.deep.equal(['/broken']);
    const markdown = await runCli(['list', 'status:200 url:/fine', '--format', 'markdown'], env);
    expect(markdown.stdout).to.match(/\| --- \|[^\n]*\n\| [0-9a-f]{6} \|[^\n]* \| \/fine \|[^\n]*\n$/);
  });

  it('says why the newest failing request failed, with its line; shows and compares requests', async () => {
    const why = await runCli(['why'], env);
    expect(why.code).to.equal(0);
    expect(why.stdout)
      .to.match(/command-line\.test\.ts:\d+/)
      .and.include('/broken');
    expect(why.stdout).to.not.include('\u001b');
    const { stdout } = await runCli(['list', '--format', 'json'], env);
    const [a = '', b = ''] = (JSON.parse(stdout) as { profiles: { token: string }[] }).profiles.map(
      ({ token }) => token,
    );
    expect((await runCli(['show', a], env)).stdout.length).to.be.greaterThan(why.stdout.length);
    const compared = await runCli(['compare', a, b], env);
    expect(compared.code).to.equal(0);
    expect(compared.stdout).to.include(a).and.include(b);
  });

  it('exits with 1 if nothing is found', async () => {
    const none = await spawnCli(['list', 'status:418'], env);
    expect(none).to.deep.include({ code: 1, stdout: '', stderr: 'No recorded request matches.\n' });
    const unknown = await runCli(['show', 'ffffff'], env);
    expect(unknown).to.deep.include({ code: 1, stdout: '' });
    expect(unknown.stderr).to.include('ffffff');
  });

  it('exits with 2 and a sentence for wrong arguments, a wrong password, or if nobody responds', async () => {
    const badFilter = await runCli(['list', 'status:9'], env);
    expect(badFilter.code).to.equal(2);
    expect(badFilter.stderr).to.include('give a status such as 404');
    expect((await runCli(['show', 'nonsense'], env)).code).to.equal(2);
    expect((await runCli(['list', '--format', 'xml'], env)).code).to.equal(2);
    const wrong = await runCli(['list'], { ...env, PROFILER_PASSWORD: 'wrong' });
    expect(wrong.code).to.equal(2);
    expect(wrong.stderr).to.match(/refused the password\.\n$/);
    const away = await runCli(['--url', 'http://127.0.0.1:9', 'list']);
    expect(away.code).to.equal(2);
    expect(away.stderr).to.match(/^http:\/\/127\.0\.0\.1:9 can’t be reached: [^\n]+ PROFILER_URL\.\n$/);
  });

  it('exits with 2 and a sentence if another program responds', async () => {
    for (const body of ['{"users":[]}', '[]', '<p>']) {
      const { server: other, origin } = await listen((_req, res) => void res.end(body));
      try {
        const { code, stderr } = await runCli(['--url', origin, 'list']);
        expect([code, stderr]).to.deep.equal([
          2,
          `There is no profiler at ${origin}: another program responds.\n`,
        ]);
      } finally {
        await close(other);
      }
    }
  });

  it('follows new requests that match a filter', async () => {
    const child = start(['tail', '--filter', 'status:2xx'], env);
    await once(child.stderr, 'data');
    const { PROFILER_URL = '' } = env;
    for (const path of ['/broken', '/fine?new']) await (await fetch(`${PROFILER_URL}${path}`)).text();
    const [printed] = (await once(child.stdout, 'data')) as [Buffer];
    child.kill('SIGINT');
    await once(child, 'close');
    expect(printed.toString()).to.match(/^TOKEN[^\n]*\n[0-9a-f]{6} [^\n]* 200 [^\n]*\/fine\?new[^\n]*\n$/);
  });
});
