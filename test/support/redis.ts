/** A real Redis for tests: Debian's, one for a run, on a socket in a folder of its own. Without it, tests are skipped (see parts.ts). */
import { join } from 'node:path';
import { findProgram, skipOrFail } from './parts.ts';
import { serverFolder } from './postgres.ts';
import { startServer } from './server-process.ts';
import { type Part, sharedPart } from './shared-part.ts';

/** For run.ts. */
export async function startRedis(): Promise<Part> {
  const folder = serverFolder('redis-');
  const path = join(folder, 'redis.sock');
  const args = [
    '--port',
    '0',
    '--unixsocket',
    path,
    '--unixsocketperm',
    '777',
    '--save',
    '',
    '--dir',
    folder,
  ];
  const program = findProgram(['redis-server']) ?? '';
  return { value: path, stop: await startServer(program, args, { folder, socket: path }) };
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
