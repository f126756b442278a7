/**
 * Chooses the user that runs the server, and runs programs as that user. PostgreSQL refuses root, so root starts it as the owner of its
 * folder, else as `nobody`. Any other user runs it as itself. No user is created.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EmbeddedPostgresError } from './errors.ts';

interface Account {
  uid: number;
  gid: number;
}

/** undefined: the user of this process. Spread into the options of spawn. */
export type RunAs = Account | undefined;

async function readPasswd(): Promise<(Account & { name: string })[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = '', gid = ''] = line.split(':');
    // On macOS the uid of nobody is -2.
    return /^-?\d+$/.test(uid) ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }] : [];
  });
}

/** Owner of the folder, or of the nearest one above it that exists. */
async function ownerOf(folder: string): Promise<Account> {
  while (!existsSync(folder)) folder = dirname(folder);
  const { uid, gid } = await stat(folder);
  return { uid, gid };
}

/** `data`: the cluster's folder, which need not exist. */
export async function serverAccount(data: string): Promise<RunAs> {
  if (process.getuid?.() !== 0) return undefined;
  const known = await readPasswd();
  const owner = await ownerOf(data);
  // initdb needs the name of its user, so a user without a name can only run an existing cluster.
  const runs = existsSync(data) || known.some(({ uid }) => uid === owner.uid);
  if (owner.uid !== 0 && runs) return owner;
  const nobody = known.find(({ name }) => name === 'nobody');
  if (nobody !== undefined) return { uid: nobody.uid, gid: nobody.gid };
  throw new EmbeddedPostgresError(
    'PostgreSQL refuses to run as root and /etc/passwd names no user "nobody" that could run it; ' +
      'start the service as another user, or set DATABASE_URL.',
  );
}

export function childEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {
    LC_ALL: 'C',
    TZ: 'UTC',
    PATH: process.env.PATH ?? '/usr/bin:/bin',
  };
  for (const name of ['LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH']) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** Runs a program to its end and returns its output. Rejects if it can't be started. */
export function runProgram(
  file: string,
  args: readonly string[],
  runAs: RunAs,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...runAs,
      cwd: '/',
      env: childEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000)));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** Whether that user can read the file or enter the folder. Tested as that user, because file modes alone are not enough. */
export async function canReach(path: string, runAs: RunAs): Promise<boolean> {
  if (runAs === undefined) return true;
  const script = 'test -r "$1" && { test ! -d "$1" || cd "$1"; }';
  return (await runProgram('/bin/sh', ['-c', script, 'sh', path], runAs)).code === 0;
}
