/** A MariaDB of Debian for one test file: on a loopback port, in a folder of its own, without tables of rights. */
import { join } from 'node:path';
import { findProgram, skipOrFail } from './parts.ts';
import { serverFolder } from './postgres.ts';
import { freePort, startServer } from './server-process.ts';

export interface MariadbConnection {
  host: string;
  port: number;
  user: string;
  database: string;
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
  const args = ['--no-defaults', '--skip-grant-tables', ...given];
  const stop = await startServer(program, args, { folder, socket: options.socket });
  return { connection: { host: '127.0.0.1', port, user: 'root', database: 'test' }, stop };
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
