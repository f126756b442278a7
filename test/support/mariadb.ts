/** A MariaDB of Debian for one test file: on a loopback port, in a folder of its own, without tables of rights. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, skipOrFail } from './parts.ts';
import { serverFolder, serverUser } from './postgres.ts';
import { until } from './waiting.ts';

export interface MariadbConnection {
  host: string;
  port: number;
  user: string;
  database: string;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

async function start(program: string) {
  const folder = serverFolder('mariadb-');
  const port = await freePort();
  const options = {
    datadir: folder,
    socket: join(folder, 's'),
    port,
    'bind-address': '127.0.0.1',
    'innodb-buffer-pool-size': '8M',
    'innodb-log-file-size': '4M',
  };
  const given = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(program, ['--no-defaults', '--skip-grant-tables', ...given], {
    ...serverUser(),
    cwd: '/',
    stdio: 'ignore',
  });
  await until(() => accepts(options.socket), 'MariaDB listens');
  return {
    connection: { host: '127.0.0.1', port, user: 'root', database: 'test' },
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Hooks of the current `describe`; the database `test` is to be created by the test. */
export function withMariadb(): () => MariadbConnection {
  let server: Awaited<ReturnType<typeof start>> | undefined;
  before(async function () {
    const program = findProgram(['mariadbd']);
    if (program === null) return skipOrFail(this, 'MariaDB (Debian: mariadb-server)');
    server = await start(program);
  });
  after(() => server?.stop());
  return () => {
    if (server === undefined) throw new Error('MariaDB has not been started.');
    return server.connection;
  };
}
