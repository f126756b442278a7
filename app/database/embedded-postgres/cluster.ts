/** The data folder: made whole or not at all, and checked before a server is started on it. Never deleted. */
import { randomBytes } from 'node:crypto';
import { access, constants, readdir, readFile, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runProgram, type RunAs } from './account.ts';
import { codeOf, EmbeddedPostgresError, unwritable } from './errors.ts';
import type { Places } from './places.ts';
import { INITDB_ARGUMENTS } from './settings.ts';

const FRESH = /^init-(\d+)-[0-9a-f]+$/;

/** The major version that made the cluster; null where the folder is missing or empty. */
async function versionOf(data: string): Promise<string | null> {
  try {
    return (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') {
      throw new EmbeddedPostgresError(
        'failed',
        `The folder ${data} can't be read (${codeOf(error)}).`,
        error,
      );
    }
  }
  const entries = await readdir(data).catch(() => []);
  if (entries.length === 0) return null;
  throw new EmbeddedPostgresError(
    'failed',
    `The folder ${data} holds files but no PostgreSQL cluster (no PG_VERSION). Nothing was changed; ` +
      'restore it from a copy, or move it away to begin with an empty one.',
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Clears what an initdb left that was killed. */
async function removeLeftovers(base: string, runAs: RunAs): Promise<void> {
  const names = await readdir(base);
  const left = names.filter((name) => {
    const pid = FRESH.exec(name)?.[1];
    return pid !== undefined && Number(pid) !== process.pid && !isAlive(Number(pid));
  });
  if (left.length > 0) await runProgram('/bin/rm', ['-rf', ...left.map((name) => join(base, name))], runAs);
}

async function initialise({ native, base, data, runAs }: Places): Promise<void> {
  await removeLeftovers(base, runAs);
  const fresh = join(base, `init-${process.pid}-${randomBytes(4).toString('hex')}`);
  const program = join(native, 'bin', process.platform === 'win32' ? 'initdb.exe' : 'initdb');
  let result;
  try {
    result = await runProgram(program, [`--pgdata=${fresh}`, ...INITDB_ARGUMENTS], runAs);
  } catch (error) {
    throw cannotRun(native, runAs, error);
  }
  if (result.code !== 0) {
    await runProgram('/bin/rm', ['-rf', fresh], runAs);
    const reason = /(?:error|fatal): *(.*)/i.exec(result.output)?.[1] ?? `exit code ${result.code}`;
    throw new EmbeddedPostgresError(
      'failed',
      `PostgreSQL could not make its data folder ${data}: ${reason}. Set VAR_DIR to another folder, or DATABASE_URL.`,
    );
  }
  try {
    await rename(fresh, data);
  } catch (error) {
    // Another process was first: its cluster counts.
    await runProgram('/bin/rm', ['-rf', fresh], runAs);
    if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(codeOf(error))) throw error;
  }
}

/** The binaries are there but the system does not run them, or not as that user. */
export function cannotRun(native: string, runAs: RunAs, error: unknown): EmbeddedPostgresError {
  const code = codeOf(error);
  if (runAs !== undefined && code === 'EPERM') {
    return new EmbeddedPostgresError(
      'failed',
      `PostgreSQL refuses to run as root, and this root may not start it as user ${runAs.uid} (${code}); ` +
        'start the service as another user, or set DATABASE_URL.',
      error,
    );
  }
  return new EmbeddedPostgresError(
    'missing',
    `This system can't run the embedded PostgreSQL in ${native} (${code || String(error)}); ` +
      'set DATABASE_URL to a PostgreSQL of your own.',
    error,
  );
}

/** Makes the cluster where there is none; throws where it is of another major version. */
export async function ensureCluster(places: Places, major: string): Promise<void> {
  const version = await versionOf(places.data);
  if (version === null) return initialise(places);
  await access(places.data, constants.W_OK).catch((error: unknown) => {
    throw unwritable(places.data, error);
  });
  if (version !== major) {
    throw new EmbeddedPostgresError(
      'failed',
      `The folder ${places.data} was made by PostgreSQL ${version}, the embedded one is ${major}. Nothing was changed; ` +
        `dump it with PostgreSQL ${version} and load it again, or move ${basename(places.data)} away to begin with an empty one.`,
    );
  }
}
