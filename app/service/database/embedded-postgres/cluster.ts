/** The data folder: created completely or not at all, checked before a server starts on it, and never deleted. */
import { randomBytes } from 'node:crypto';
import { access, constants, readdir, readFile, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runProgram } from './account.ts';
import { codeOf } from '../../../errors.ts';
import { isAlive } from '../../../profiler/is-alive.ts';
import { EmbeddedPostgresError, unwritable } from './errors.ts';
import type { Places } from './places.ts';
import { INITDB_ARGUMENTS } from './settings.ts';

async function versionOf(data: string): Promise<string | null> {
  try {
    return (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      throw new EmbeddedPostgresError(`The folder ${data} can't be read (${codeOf(error)}).`, error);
  }
  const entries = await readdir(data).catch(() => []);
  if (entries.length === 0) return null;
  throw new EmbeddedPostgresError(
    `The folder ${data} holds files but no PostgreSQL cluster (no PG_VERSION). Nothing was changed; ` +
      'restore it from a copy, or move it away to begin with an empty one.',
  );
}

/** Unfinished clusters of killed processes: the folder name contains the pid. */
async function leftovers(base: string): Promise<string[]> {
  const names = await readdir(base);
  const pidOf = (name: string): number => Number(/^init-(\d+)-/.exec(name)?.[1] ?? process.pid);
  return names.filter((name) => !isAlive(pidOf(name))).map((name) => join(base, name));
}

async function initialise(places: Places): Promise<void> {
  const { native, base, data, runAs } = places;
  const remove = (folders: string[]) => runProgram('/bin/rm', ['-rf', ...folders], runAs);
  await remove(await leftovers(base));
  const fresh = join(base, `init-${process.pid}-${randomBytes(4).toString('hex')}`);
  const result = await runProgram(
    join(native, 'bin', 'initdb'),
    [`--pgdata=${fresh}`, ...INITDB_ARGUMENTS],
    runAs,
  ).catch((error: unknown) => {
    throw cannotRun(places, error);
  });
  if (result.code !== 0) {
    await remove([fresh]);
    const reason = /(?:error|fatal): *(.*)/i.exec(result.output)?.[1] ?? `exit code ${result.code}`;
    throw new EmbeddedPostgresError(
      `PostgreSQL could not make its data folder ${data}: ${reason}. Set VAR_DIR to another folder, or DATABASE_URL.`,
    );
  }
  try {
    await rename(fresh, data);
  } catch (error) {
    // Another process was first: use its cluster.
    await remove([fresh]);
    if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(codeOf(error))) throw error;
  }
}

export function cannotRun({ native, runAs }: Places, error: unknown): EmbeddedPostgresError {
  const code = codeOf(error) || String(error);
  const what =
    runAs !== undefined && code === 'EPERM'
      ? `PostgreSQL refuses to run as root, and this root may not start it as user ${runAs.uid}`
      : `This system can't run the embedded PostgreSQL in ${native}`;
  return new EmbeddedPostgresError(`${what} (${code}); set DATABASE_URL to a PostgreSQL of your own.`, error);
}

/** Creates the cluster if there is none; throws if it has another major version. */
export async function ensureCluster(places: Places, major: string): Promise<void> {
  const { data } = places;
  const version = await versionOf(data);
  if (version === null) return initialise(places);
  await access(data, constants.W_OK).catch((error: unknown) => {
    throw unwritable(data, error);
  });
  if (version === major) return;
  throw new EmbeddedPostgresError(
    `The folder ${data} was made by PostgreSQL ${version || 'of an unknown version (PG_VERSION is empty)'}, ` +
      `the embedded one is ${major}. Nothing was changed; dump it with the PostgreSQL that made it and load it again, ` +
      `or move ${basename(data)} away to begin with an empty one.`,
  );
}
