/**
 * Which user runs the server. PostgreSQL refuses root; a process of root starts it as the owner of its folder, else as
 * `nobody`. No user is created. Everybody else runs it as themselves.
 */
import { spawn } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EmbeddedPostgresError } from './errors.ts';

export interface Account {
  uid: number;
  gid: number;
}

/** A process as another user; undefined: as this one. Spreads into the options of spawn. */
export type RunAs = Account | undefined;

interface Passwd extends Account {
  name: string;
}

async function readPasswd(): Promise<Passwd[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = '', gid = ''] = line.split(':');
    // macOS writes nobody as -2.
    return /^-?\d+$/.test(uid) ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }] : [];
  });
}

/** Owner of the nearest folder that exists. */
async function ownerOf(folder: string): Promise<Account> {
  try {
    const { uid, gid } = await stat(folder);
    return { uid, gid };
  } catch (error) {
    // Whether a folder can be made there is found out when it is made.
    if (dirname(folder) === folder) throw error;
    return ownerOf(dirname(folder));
  }
}

/** `data`: the cluster's folder, which need not exist; `varDir`: the one above. */
export async function serverAccount(data: string, varDir: string): Promise<RunAs> {
  if (process.getuid?.() !== 0) return undefined;
  const cluster = await stat(data).catch(() => null);
  if (cluster !== null && cluster.uid !== 0) return { uid: cluster.uid, gid: cluster.gid };
  const known = await readPasswd();
  const owner = await ownerOf(varDir);
  // initdb asks for the name of its user, so that an owner without one can't run it.
  if (owner.uid !== 0 && known.some(({ uid }) => uid === owner.uid)) return owner;
  const nobody = known.find(({ name }) => name === 'nobody');
  if (nobody !== undefined) return { uid: nobody.uid, gid: nobody.gid };
  throw new EmbeddedPostgresError(
    'failed',
    'PostgreSQL refuses to run as root and /etc/passwd names no user "nobody" that could run it; ' +
      'start the service as another user, or set DATABASE_URL.',
  );
}

export interface Finished {
  code: number | null;
  output: string;
}

/** Settings of this process that its children need; nothing else of the environment reaches them. */
export function childEnvironment(): Record<string, string> {
  const kept: Record<string, string> = { LC_ALL: 'C', TZ: 'UTC', PATH: process.env.PATH ?? '/usr/bin:/bin' };
  for (const name of ['LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMP']) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/** Runs a program to its end and gives what it printed. Rejects where it can't be started. */
export function runProgram(file: string, args: readonly string[], runAs: RunAs): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...runAs,
      cwd: '/',
      env: childEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const take = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-20_000);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** Whether that user can read the file or enter the folder: asked of the system, not worked out from modes. */
export async function canReach(path: string, runAs: RunAs): Promise<boolean> {
  const script = 'test -r "$1" && { test ! -d "$1" || cd "$1"; }';
  return (await runProgram('/bin/sh', ['-c', script, 'sh', path], runAs)).code === 0;
}
