/** The process itself: how it begins where it can't, and how it ends where the end takes long. */
import { expect } from 'chai';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshVarDir } from './support/postgres.ts';
import { until } from './support/waiting.ts';

const TSX = createRequire(import.meta.url).resolve('tsx');
/** Nobody listens there. */
const NOWHERE = 'postgres://shop@127.0.0.1:1/shop';

interface Started {
  child: ChildProcess;
  /** What it wrote so far. */
  said(): string;
  origin: string;
}

describe('the process', () => {
  const children: ChildProcess[] = [];

  function run(env: Record<string, string>): Omit<Started, 'origin'> {
    const child = spawn(process.execPath, ['--import', TSX, 'app/server.ts'], {
      env: { PATH: process.env.PATH, PORT: '0', VAR_DIR: freshVarDir(), ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    children.push(child);
    let text = '';
    child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    return { child, said: () => text };
  }

  async function start(env: Record<string, string>): Promise<Started> {
    const { child, said } = run(env);
    let origin: string | undefined;
    while (origin === undefined) {
      expect(child.exitCode, said()).to.equal(null);
      await sleep(20);
      origin = /Listening on (\S+)/.exec(said())?.[1];
    }
    return { child, said, origin };
  }

  async function exitOf(child: ChildProcess): Promise<number | null> {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode;
  }

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  it('goes on in memory where the embedded database can not be used, and says why in a sentence', async () => {
    const varDir = freshVarDir();
    mkdirSync(join(varDir, 'postgres', 'data'), { recursive: true });
    writeFileSync(join(varDir, 'postgres', 'data', 'notes.txt'), '');
    const { child, said, origin } = await start({ VAR_DIR: varDir });
    await until(() => said().includes('MEMORY'), 'it says where profiles are kept');
    expect(said()).to.match(/holds files but no PostgreSQL cluster|belongs to user/);
    expect(said()).to.not.match(/^\s+at /m);
    const response = await fetch(`${origin}/nowhere`);
    await response.text();
    const profile = await fetch(response.headers.get('x-debug-token-link')!);
    expect(profile.status, await profile.text()).to.equal(200);
    child.kill('SIGTERM');
    expect(await exitOf(child)).to.equal(0);
  });

  it('takes signals that come together as one, and one that comes later as an order to end at once', async () => {
    const { child, said, origin } = await start({ DATABASE_URL: NOWHERE });
    await fetch(`${origin}/nowhere`).then((response) => response.text());
    const asked = performance.now();
    child.kill('SIGINT');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await sleep(1500);
    expect(child.exitCode).to.equal(null);
    child.kill('SIGINT');
    expect(await exitOf(child)).to.equal(1);
    expect(performance.now() - asked).to.be.below(3500);
    expect(said()).to.match(/Ended at once; profiles that were not stored yet are lost\./);
  });
});
