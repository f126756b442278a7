/**
 * What `postmaster.pid` says about a server, and whether that is still true. The file outlives a crash, and its process number may
 * be another program's by then, or another container's; so the socket that it names is asked.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConnectionSettings } from '../connection-settings.ts';
import { tryDatabase } from '../reach.ts';
import { runProgram } from './account.ts';
import { codeOf } from './errors.ts';
import type { Places } from './places.ts';

export interface Postmaster {
  pid: number;
  connection: ConnectionSettings;
  /** Whether the file says that the server is ready. */
  ready: boolean;
}

/** Milliseconds for an answer. */
const ANSWER_MS = 2000;
/** Milliseconds in which a starting server writes into the file that it has made. */
const WRITTEN_WITHIN_MS = 10_000;

export async function readPostmaster(data: string): Promise<Postmaster | null> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid = '', , , port = '', host = ''] = text.split('\n');
  if (!/^\d+$/.test(pid) || host === '') return null;
  const connection = { host, port: Number(port), user: 'postgres', database: 'postgres' };
  return { pid: Number(pid), connection, ready: /^ready/m.test(text) };
}

/** `open`: sessions are let in; `busy`: not now, as it starts or stops; `gone`: nothing listens on the socket. */
export async function stateOf({ connection }: Postmaster): Promise<'open' | 'busy' | 'gone'> {
  try {
    await tryDatabase(connection, ANSWER_MS);
    return 'open';
  } catch (error) {
    return ['ECONNREFUSED', 'ENOENT'].includes(codeOf(error)) ? 'gone' : 'busy';
  }
}

/** Runs a command as the server's user, if the file still names the server that was seen, and removes its socket folder. */
async function end({ native, data, runAs }: Places, seen: Postmaster, command: string): Promise<void> {
  const script = `cd "$1" && read -r now <postmaster.pid && [ "$now" = "$2" ] || exit
    ${command} && rm -f "$3/users" "$3"/.s.PGSQL.* && rmdir "$3"`;
  const args = [data, String(seen.pid), seen.connection.host, join(native, 'bin', 'pg_ctl')];
  await runProgram('/bin/sh', ['-c', script, 'sh', ...args], runAs);
}

/** Stops a server that lost its watch, also under those who still use it: `ensure` leads them to the next one. */
export function stopUnwatched(places: Places, seen: Postmaster): Promise<void> {
  return end(places, seen, '"$4" stop -D "$1" -m fast -t 10');
}

/**
 * Clears what a dead server left. PostgreSQL would respect its number where another process has it now; the file stays, with a
 * number that no system gives out, because by it PostgreSQL looks for sessions of the old server that still run.
 */
export function clearStale(places: Places, seen: Postmaster): Promise<void> {
  const command = `sed '1s/.*/2147483647/' postmaster.pid >postmaster.pid.new && mv postmaster.pid.new postmaster.pid`;
  return end(places, seen, command);
}

/** Removes a file that a crash left empty: PostgreSQL takes it for that of a server that is just starting, and never starts. */
export async function clearUnwritten({ data, runAs }: Places): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const found = await stat(file).catch(() => null);
  if (found?.size === 0 && Date.now() - found.mtimeMs > WRITTEN_WITHIN_MS)
    await runProgram('/bin/rm', ['-f', file], runAs);
}
