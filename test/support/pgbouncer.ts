/** A pgbouncer in transaction mode before a PostgreSQL, on a socket in a folder of its own. */
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serverFolder, serverUser, type TestConnection } from './postgres.ts';
import { startServer } from './server-process.ts';

const PORT = 6432;

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
  const stop = await startServer(program, [config], { folder, socket: join(folder, `.s.PGSQL.${PORT}`) });
  return { connection: { host: folder, port: PORT, user: 'postgres', database }, stop };
}
