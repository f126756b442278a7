/** A pgbouncer in transaction mode before a PostgreSQL, on a socket in a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { serverFolder, serverUser, type TestConnection } from './postgres.ts';
import { until } from './waiting.ts';

const PORT = 6432;

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

export interface Pgbouncer {
  connection: TestConnection;
  stop(): Promise<void>;
}

/** `program`: full path of pgbouncer. */
export async function startPgbouncer(
  program: string,
  { host, port, database }: TestConnection,
): Promise<Pgbouncer> {
  const folder = serverFolder('bouncer-');
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(
    config,
    `[databases]\n* = host=${host} port=${port} user=postgres\n[pgbouncer]\nlisten_addr =\nlisten_port = ${PORT}\n` +
      `unix_socket_dir = ${folder}\nauth_type = any\npool_mode = transaction\n` +
      `default_pool_size = 4\nlogfile = ${folder}/log\n`,
  );
  const user = serverUser();
  if (user !== undefined) chownSync(config, user.uid, user.gid);
  const child: ChildProcess = spawn(program, [config], { ...user, cwd: '/', stdio: 'ignore' });
  // The socket's file is there before anybody listens on it.
  await until(() => accepts(join(folder, `.s.PGSQL.${PORT}`)), 'pgbouncer listens');
  return {
    connection: { host: folder, port: PORT, user: 'postgres', database },
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
