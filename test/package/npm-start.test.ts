/** `npm start` and the Procfile's processes, run for real: they listen, answer, and end when they are told to. */
import { expect } from 'chai';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { withBuild } from '../support/build.ts';
import { clusterVarDir } from '../support/postgres.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const START_WITHIN_MS = 120_000;

interface Started {
  child: ChildProcess;
  /** What it said so far. */
  output: () => string;
  origin: string;
}

describe('the processes of the service', () => {
  withBuild();
  let folder: string;
  const started: Started[] = [];

  /** Environment of a fresh machine: nothing is configured but a port that is free and a folder of its own. */
  function environment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
    const { PATH, HOME, LANG } = process.env;
    return { PATH, HOME, LANG, PORT: '0', VAR_DIR: join(folder, 'var'), ...more };
  }

  async function start(command: string, options: string[], more?: Record<string, string>): Promise<Started> {
    const child = spawn(command, options, { env: environment(more), stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const deadline = Date.now() + START_WITHIN_MS;
    let origin: string | undefined;
    while (origin === undefined) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`It did not start: ${output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      origin = /(?:Listening on|The shop is open:) (http:[^\s]+\d)/.exec(output)?.[1];
    }
    const result = { child, output: () => output, origin };
    started.push(result);
    return result;
  }

  beforeEach(async () => {
    folder = freshFolder();
    // As open as a project's folder, so that the embedded server's user can enter it.
    await chmod(folder, 0o755);
  });

  afterEach(async () => {
    for (const { child } of started.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  it('are started by scripts that replace their shell, if it can: the signal reaches them', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const name of ['start', 'dev', 'example']) expect(scripts[name]).to.match(/^exec (.+) \|\| \1$/);
  });

  for (const script of ['start', 'example']) {
    it(`start by \`npm run ${script}\`, and end with it: SIGTERM sent to npm reaches the service`, async () => {
      // `start` makes its own database, as on a fresh machine.
      const more: Record<string, string> = script === 'start' ? {} : { VAR_DIR: await clusterVarDir() };
      const { child, origin } = await start('npm', ['run', script], more);
      const response = await fetch(origin);
      expect(response.headers.get('x-debug-token')).to.match(/^[0-9a-f]{6}$/);
      await response.text();
      const link = `${response.headers.get('x-debug-token-link') ?? ''}.json?panel=migrations`;
      const migrations = await (await fetch(link)).text();
      // They share the embedded database, and have different migrations.
      if (script === 'example') expect(migrations).to.include('"schema":"shop"');
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      const refused = await fetch(origin).then(
        () => false,
        () => true,
      );
      expect(refused, 'nobody listens any more').to.equal(true);
    });
  }

  /** Runs a script to its end: its exit code, and what it said but for the build. */
  async function runToEnd(script: string, more?: Record<string, string>): Promise<[unknown, string]> {
    const child = spawn(process.execPath, [script], {
      env: environment(more),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return [code, said.trim().replace(/^Building .*\n/, '')];
  }

  it('migrate by the release process, once; that of `web` then exits 0 on SIGTERM', async () => {
    const more = { VAR_DIR: await clusterVarDir() };
    const [code, said] = await runToEnd('bin/migrate.js', more);
    expect(code, said).to.equal(0);
    expect(said).to.match(/Migrated the schema "localhost" of .*\d_profiles/);
    const [again, saidAgain] = await runToEnd('bin/migrate.js', more);
    expect(again, saidAgain).to.equal(0);
    expect(saidAgain).to.match(/is up to date\.$/);
    const { child, origin } = await start(process.execPath, ['bin/start.js'], more);
    await (await fetch(origin)).text();
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).to.deep.equal([0, null]);
  });

  it('end the start with one sentence where the configuration is wrong', async () => {
    const [code, said] = await runToEnd('bin/start.js', { PORT: 'eighty' });
    expect(code).to.equal(1);
    expect(said).to.match(/^PORT is "eighty"; [^\n]+\.$/);
  });

  it('are named by the Procfile, each by a script that is there', () => {
    const scripts = readFileSync('Procfile', 'utf8').matchAll(/^(\w+):.* node (\S+)$/gm);
    const processes = Array.from(scripts, ([, name, path]) => ({ name, path }));
    expect(processes.map(({ name }) => name)).to.deep.equal(['web', 'release']);
    for (const { path } of processes) expect(readFileSync(path!, 'utf8')).to.match(/^#!/);
  });
});
