/** A real Redis for tests: Debian's, one for a run, on a socket in a folder of its own. Without it, tests are skipped (see parts.ts). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, skipOrFail } from './parts.ts';
import { serverFolder, serverUser } from './postgres.ts';
import { type Part, sharedPart } from './shared-part.ts';
import { until } from './waiting.ts';

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** For run.ts. */
export async function startRedis(): Promise<Part> {
  const folder = serverFolder('redis-');
  const path = join(folder, 'redis.sock');
  const child = spawn(
    findProgram(['redis-server']) ?? '',
    ['--port', '0', '--unixsocket', path, '--unixsocketperm', '777', '--save', '', '--dir', folder],
    { ...serverUser(), cwd: '/', stdio: 'ignore' },
  );
  await until(() => accepts(path), 'Redis listens');
  return {
    value: path,
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Registers a hook for the current `describe`; returns the path of the server's socket. */
export function withRedis(): () => string {
  let path = '';
  before(async function () {
    if (findProgram(['redis-server']) === null) skipOrFail(this, 'a Redis server');
    path = await sharedPart<string>('redis');
  });
  return () => path;
}
