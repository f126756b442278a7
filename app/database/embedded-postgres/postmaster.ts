/**
 * What `postmaster.pid` says about a server, and whether that is still true.
 *
 * The file outlives a crash. Its number may be dead, a process that nobody has waited for (PID 1 of many containers
 * never does), or another program's by now; PostgreSQL itself refuses to start in the last two cases. So the socket is
 * asked first (which also finds a server of another container on the same folder), then the system about the number.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { runProgram, type RunAs } from './account.ts';

export interface Postmaster {
  pid: number;
  socketFolder: string;
  port: number;
}

/** Milliseconds a server may take to answer the first packet. */
const ANSWER_MS = 2000;

export async function readPostmaster(data: string): Promise<Postmaster | null> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid = '', , , port = '', socketFolder = ''] = text.split('\n');
  if (!/^\d+$/.test(pid) || socketFolder === '') return null;
  return { pid: Number(pid), socketFolder, port: Number(port) };
}

/** The first packet of a session of user and database postgres, protocol 3.0. */
function startupPacket(): Buffer {
  const names = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const head = Buffer.alloc(8);
  head.writeInt32BE(names.length + 8, 0);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, names]);
}

/** Whether a server lets sessions in: not while it starts, stops or is gone. */
export function acceptsSessions({ socketFolder, port }: Postmaster): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(join(socketFolder, `.s.PGSQL.${port}`));
    const settle = (accepts: boolean): void => {
      socket.destroy();
      resolve(accepts);
    };
    socket.setTimeout(ANSWER_MS, () => settle(false));
    socket.once('connect', () => socket.write(startupPacket()));
    // `R`: authentication; `E`: an error such as "the database system is shutting down".
    socket.once('data', (answer: Buffer) => settle(answer[0] === 0x52));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
  });
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** State letter and command of a process as `ps` tells them; null where it does not exist. */
function describeProcess(pid: number): Promise<string | null> {
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'stat=,command=', '-p', String(pid)], (error, stdout) =>
      resolve(error === null ? stdout.trim() : null),
    );
  });
}

/** Whether the process is a server that lives; where the system can't tell, any living process counts as one. */
export async function isServer(pid: number): Promise<boolean> {
  if (!exists(pid)) return false;
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
    if (stat !== null) return !/\) [ZX]/.test(stat) && stat.includes('(postgres)');
  }
  const description = await describeProcess(pid);
  return description === null
    ? exists(pid)
    : !description.startsWith('Z') && description.includes('postgres');
}

/** A process number that no system gives out. */
const NO_PROCESS = 2_147_483_647;

/**
 * Makes a file that names another program, or a process nobody waited for, name none at all. It is not removed:
 * PostgreSQL itself then looks in it for sessions of the old server that still run, and only afterwards removes it.
 */
export async function disownStale(data: string, seen: Postmaster, runAs: RunAs): Promise<void> {
  if (!exists(seen.pid)) return;
  const script =
    'cd "$1" && read -r now <postmaster.pid && test "$now" = "$2" && ' +
    'sed "1s/.*/$3/" postmaster.pid >postmaster.pid.new && mv postmaster.pid.new postmaster.pid';
  await runProgram('/bin/sh', ['-c', script, 'sh', data, String(seen.pid), String(NO_PROCESS)], runAs);
}
