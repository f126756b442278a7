/** Servers for tests that are programs of their own: each in a folder of its own, as a user who is not root. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { serverUser } from './postgres.ts';
import { until } from './waiting.ts';

/** A loopback port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** `at`: the path of a socket, or a port. */
export async function accepts(at: string | number): Promise<boolean> {
  const socket = typeof at === 'string' ? connect(at) : connect(at, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Resolves once it listens on `socket`; returns what ends it and removes its folder. */
export async function startServer(
  program: string,
  args: readonly string[],
  { folder, socket }: { folder: string; socket: string },
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { ...serverUser(), cwd: '/', stdio: 'ignore' });
  // The socket's file may be there before anybody listens on it.
  await until(() => accepts(socket), `${program} listens`);
  return async () => {
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    rmSync(folder, { recursive: true, force: true });
  };
}
