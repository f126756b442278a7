/** What a host in memory leaves when it crashes is there after its next start. */
import { expect } from 'chai';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ProfileIndex } from '../../app/profiler/profile-index.ts';
import { withBuild } from '../support/build.ts';
import { until } from '../support/waiting.ts';

interface Host {
  child: ChildProcess;
  origin: string;
  said: () => string;
}

describe('the black box', () => {
  withBuild();
  let folder: string;
  let host: Host | undefined;

  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'box-')), 'box');
  });
  afterEach(() => host?.child.kill('SIGKILL'));

  async function start(ending: string): Promise<Host> {
    const child = spawn(process.execPath, ['test/support/ending-host.mjs'], {
      env: { PATH: process.env.PATH, ENDING: ending, BLACK_BOX: folder },
    });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += String(chunk)));
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
    return { child, origin: `http://127.0.0.1:${port}`, said: () => errors };
  }

  async function list({ origin }: Host): Promise<ProfileIndex[]> {
    const response = await fetch(`${origin}/_profiler/search.json`);
    return ((await response.json()) as { profiles: ProfileIndex[] }).profiles;
  }

  async function crash(ending: string): Promise<{ hanging: string; ended: string | null }> {
    host = await start(ending);
    const { child, origin } = host;
    const first = await fetch(`${origin}/0`);
    await first.text();
    const hanging = fetch(`${origin}/hangs`).catch(() => null);
    const exit = once(child, 'exit');
    const response = await fetch(`${origin}/end?password=hunter2hunter2`).catch(() => null);
    const ended = response?.headers.get('x-debug-token') ?? null;
    await exit;
    await hanging;
    return { hanging: first.headers.get('x-debug-token') ?? '', ended };
  }

  it('has the request that threw, with its stack and its log lines, and those that it cut off', async () => {
    const { ended } = await crash('throw');
    const [name = ''] = readdirSync(folder);
    expect(statSync(folder).mode & 0o777).to.equal(0o700);
    expect(statSync(join(folder, name)).mode & 0o777).to.equal(0o600);
    expect(readFileSync(join(folder, name), 'utf8')).to.not.include('hunter2hunter2');

    host = await start('throw');
    const next = host;
    let rows: ProfileIndex[] = [];
    await until(async () => (rows = await list(next)).length >= 2, 'what was left is stored');
    const thrower = rows.find(({ url }) => url.startsWith('/end'));
    expect(thrower?.marks[0]).to.deep.equal({ label: 'process ended', severity: 'bad' });
    expect(thrower?.error).to.equal('Error: The host is broken.');
    const marks = rows.find(({ url }) => url === '/hangs')?.marks ?? [];
    expect(marks.map(({ label }) => label)).to.include('cut off');
    const profile = await (await fetch(`${next.origin}/_profiler/${ended}.json`)).text();
    expect(profile).to.include('ending-host.mjs').and.to.include('about to end');
    const page = await (await fetch(`${next.origin}/_profiler/abcdef`)).text();
    expect(page).to.match(/ended by an uncaught exception at/);
    await until(() => readdirSync(folder).length === 0, 'the file is removed');
  });

  it('has the request that called process.exit()', async () => {
    await crash('exit');
    host = await start('exit');
    const next = host;
    let rows: ProfileIndex[] = [];
    await until(async () => (rows = await list(next)).length >= 2, 'what was left is stored');
    expect(rows.find(({ url }) => url.startsWith('/end'))?.mark).to.equal('process ended');
  });

  it('is put aside where it is damaged, and what can be read of it is stored', async () => {
    await crash('throw');
    const [name = ''] = readdirSync(folder);
    const text = readFileSync(join(folder, name), 'utf8');
    writeFileSync(join(folder, name), `${text.replaceAll('"url":"/hangs"', '"url":"/han\n')}{"index":`);
    host = await start('throw');
    const next = host;
    await until(
      async () => (await list(next)).some(({ url }) => url.startsWith('/end')),
      'the rest is stored',
    );
    await until(() => next.said().includes('moved to'), 'it is said');
    expect(readdirSync(folder).map((file) => file.slice(-8))).to.deep.equal(['.damaged']);
  });

  it('is not read from, nor written to, a folder that others may have filled', async () => {
    await crash('throw');
    chmodSync(folder, 0o777);
    await crash('throw');
    expect(readdirSync(folder)).to.have.length(1);
    expect(host?.said()).to.match(/is open to other users/);
  });
});
