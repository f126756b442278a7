/**
 * Reads `postmaster.pid` and checks whether its server still runs. The file survives a crash, and its pid may belong to another program
 * or container by then, so we connect to the socket that it names.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConnectionSettings } from '../../../database/connection-settings.ts';
import { tryDatabase } from '../reach.ts';
import { runProgram } from './account.ts';
import { codeOf } from '../../../errors.ts';
import type { Places } from './places.ts';

export interface Postmaster {
  pid: number;
  connection: ConnectionSettings;
  /** Whether the file says that the server is ready. */
  ready: boolean;
}

const ANSWER_MS = 2000;
/** Milliseconds within which a starting server writes to the file that it has created. */
const WRITTEN_WITHIN_MS = 10_000;

export async function readPostmaster(data: string): Promise<Postmaster | null> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid = '', , , port = '', host = ''] = text.split('\n');
  if (!/^\d+$/.test(pid) || host === '') return null;
  const connection = { host, port: Number(port), user: 'postgres', database: 'postgres' };
  return { pid: Number(pid), connection, ready: /^ready/m.test(text) };
}

/** `open`: accepts sessions; `busy`: is starting or stopping; `gone`: nothing listens on the socket. */
export async function stateOf({ connection }: Postmaster): Promise<'open' | 'busy' | 'gone'> {
  try {
    await tryDatabase(connection, ANSWER_MS);
    return 'open';
  } catch (error) {
    return ['ECONNREFUSED', 'ENOENT'].includes(codeOf(error)) ? 'gone' : 'busy';
  }
}

/** If the file still names the same server, runs a command as the server's user and removes the socket folder. */
async function end({ data, runAs }: Places, seen: Postmaster, command: string): Promise<void> {
  const script = `cd "$1" && read -r now <postmaster.pid && [ "$now" = "$2" ] || exit
    ${command} && rm -f "$3/users" "$3"/.s.PGSQL.* && rmdir "$3"`;
  const args = [data, String(seen.pid), seen.connection.host];
  await runProgram('/bin/sh', ['-c', script, 'sh', ...args], runAs);
}

/** Tenths of a second for which a server may take to stop. */
const STOP_TENTHS = 100;

/**
 * Stops a server whose shell has ended, even if it is still used: `ensure` connects its users to the next one. By its pid: `pg_ctl stop`
 * would read the file once more, and stop the server that another process has started meanwhile.
 */
export function stopUnwatched(places: Places, seen: Postmaster): Promise<void> {
  const command = `kill -INT "$2" && left=${STOP_TENTHS} && while [ "$now" = "$2" ]; do
      [ "$((left -= 1))" -gt 0 ] || exit
      sleep 0.1
      { read -r now <postmaster.pid; } 2>/dev/null || now=
    done`;
  return end(places, seen, command);
}

/**
 * Clears the file of a dead server. PostgreSQL would not start if its pid belongs to another process now. The file is kept, with a pid
 * that no system assigns, because PostgreSQL uses it to find sessions of the old server that still run.
 */
export function clearStale(places: Places, seen: Postmaster): Promise<void> {
  const command = `sed "1s/^$2\\$/2147483647/" postmaster.pid >postmaster.pid.new && mv postmaster.pid.new postmaster.pid`;
  return end(places, seen, command);
}

/** Removes a file that a crash left empty: PostgreSQL would assume that another server is starting, and never start. */
export async function clearUnwritten({ data, runAs }: Places): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const found = await stat(file).catch(() => null);
  if (found?.size === 0 && Date.now() - found.mtimeMs > WRITTEN_WITHIN_MS)
    await runProgram('/bin/rm', ['-f', file], runAs);
}
