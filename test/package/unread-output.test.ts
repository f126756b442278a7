/** Processes whose standard output and error nobody can read any more: what is recorded goes on, and so do the service and the command line. */
import { expect } from 'chai';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withBuild } from '../support/build.ts';
import { freePort } from '../support/server-process.ts';
import { fillWithCluster } from '../support/postgres.ts';
import { eventually } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const CLI = 'dist/app/cli.js';
/** It writes nothing itself: that would end it, with or without the profiler. */
const APP = `
const express = require(${JSON.stringify(join(process.cwd(), 'node_modules/express'))});
const app = express();
app.get('/', (_request, response) => response.send('alive'));
app.listen(Number(process.env.PORT), '127.0.0.1');
`;

describe('output that nobody reads', () => {
  withBuild();
  let folder: string;
  let child: ChildProcess | undefined;

  before(async () => {
    folder = freshFolder();
    await writeFile(join(folder, 'app.cjs'), APP);
    // The server's user can enter it.
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'var'));
    await fillWithCluster(join(folder, 'var'));
  });
  afterEach(async () => {
    if (child?.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });

  function start(args: readonly string[], isClosed: boolean, env: NodeJS.ProcessEnv = {}): ChildProcess {
    const options = { env: { ...process.env, PROFILER_DIR: join(folder, 'profiles'), ...env } };
    child = isClosed
      ? spawn('sh', ['-c', 'exec "$0" "$@" >&- 2>&-', process.execPath, ...args], options)
      : spawn(process.execPath, args, { ...options, stdio: 'pipe' });
    child.stdout?.destroy();
    child.stderr?.destroy();
    return child;
  }

  const app = (): string => join(folder, 'app.cjs');
  const STARTED = {
    'an application that is recorded': () => ['--import', pathToFileURL('dist/cjs/register.js').href, app()],
    'a command of `run --`': () => [CLI, 'run', '--', process.execPath, app()],
    'the service': () => ['dist/app/server.js'],
  };
  for (const [name, argsOf] of Object.entries(STARTED))
    // The others write as the first one does, which is tried both ways.
    for (const isClosed of name.includes('recorded') ? [false, true] : [true])
      it(`does not end ${name}${isClosed ? ', if it is closed' : ''}`, async () => {
        const port = await freePort();
        const env = { PORT: String(port), HOST: '127.0.0.1', VAR_DIR: join(folder, 'var') };
        const process = start(argsOf(), isClosed, env);
        const ask = async (path: string): Promise<string | null> =>
          (await fetch(`http://127.0.0.1:${port}${path}`)).headers.get('x-debug-token');
        await eventually(() => ask('/'), 'it listens');
        for (let count = 0; count < 3; count++) expect(await ask('/missing')).to.match(/^[0-9a-f]{6}$/);
        expect(process.exitCode).to.equal(null);
      });

  it('leaves the exit code of a command as it is', async () => {
    const codeOf = async (args: readonly string[], isClosed: boolean): Promise<unknown> =>
      (await once(start([CLI, ...args], isClosed), 'exit'))[0] as unknown;
    for (const isClosed of [false, true])
      expect(await codeOf(['list', '--url', 'http://127.0.0.1:9'], isClosed)).to.equal(2);
    expect(await codeOf(['run', '--', process.execPath, '-e', 'process.exitCode = 7'], true)).to.equal(7);
  });
});
