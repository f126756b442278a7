/**
 * Where the server's files are: in `VAR_DIR/postgres`. For root, files that the server's user can't reach there are in
 * `/var/lib/express-hindsight/<hash of VAR_DIR>`, else in `/var/tmp`. Root never writes inside a folder that another user owns: it
 * creates a copy beside the folder and renames it into the folder.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, lstat, mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { canReach, runProgram, serverAccount, type RunAs } from './account.ts';
import { restoreLinks, type Binaries } from './binaries.ts';
import { codeOf } from '../../../errors.ts';
import { EmbeddedPostgresError, unwritable } from './errors.ts';

export const DEFAULT_HOMES: readonly string[] = ['/var/lib/express-hindsight', '/var/tmp/express-hindsight'];

export interface Places {
  /** Folder with `bin`, `lib` and `share`. */
  native: string;
  /** Contains everything else. Owned by the server's user, mode 0700. */
  base: string;
  data: string;
  log: string;
  runAs: RunAs;
}

export interface PlaceOptions {
  varDir: string;
  binaries: Binaries;
  homes: readonly string[];
  log: (sentence: string) => void;
}

async function privateFolder(folder: string, runAs: RunAs): Promise<string> {
  try {
    await mkdir(folder, { mode: 0o700 });
    if (runAs !== undefined) await chown(folder, runAs.uid, runAs.gid);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unwritable(folder, error);
  }
  const found = await lstat(folder);
  if (!found.isDirectory())
    throw new EmbeddedPostgresError(
      `${folder} is no folder (a link is not followed); remove it and start again.`,
    );
  const expected = runAs?.uid ?? process.getuid?.();
  if (found.uid !== expected)
    throw new EmbeddedPostgresError(
      `The folder ${folder} belongs to user ${found.uid}, but PostgreSQL would run as user ${expected}; ` +
        `start the service as the user it belongs to, or move the folder away to begin with an empty one.`,
    );
  if ((found.mode & 0o077) !== 0) await chmod(folder, 0o700);
  return folder;
}

async function findHome(homes: readonly string[]): Promise<string> {
  let reason: unknown;
  for (const home of homes) {
    try {
      await mkdir(home, { mode: 0o755 });
    } catch (error) {
      reason = error;
      if (codeOf(error) !== 'EEXIST') continue;
    }
    const found = await lstat(home);
    if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0)
      throw new EmbeddedPostgresError(
        `${home} must be a folder of root that nobody else can write to, not a link; remove it and start again.`,
      );
    await chmod(home, 0o755);
    return home;
  }
  throw unwritable(homes.join(' or '), reason);
}

async function homeFolder({ varDir, homes }: PlaceOptions, runAs: RunAs): Promise<string> {
  const hash = createHash('sha256').update(varDir).digest('hex').slice(0, 16);
  return privateFolder(join(await findHome(homes), hash), runAs);
}

/** Copies the binaries into `folder`, completely or not at all. An existing copy of this version is used. */
async function copyBinaries({ native, version }: Binaries, folder: string, runAs: RunAs): Promise<string> {
  const target = join(folder, `native-${version}`);
  if (existsSync(target)) return target;
  const fresh = join(folder, '..', `.${basename(folder)}-${randomBytes(6).toString('hex')}`);
  const copy = join(fresh, 'native');
  try {
    await mkdir(fresh, { mode: 0o700 });
    const filter = (source: string): boolean => !source.endsWith('.a');
    await cp(native, copy, { recursive: true, verbatimSymlinks: true, filter });
    await restoreLinks(copy);
    if (runAs !== undefined) await runProgram('chown', ['-hR', `${runAs.uid}:${runAs.gid}`, copy], undefined);
    await rename(copy, target);
  } catch (error) {
    // Another process may have created its copy first.
    if (!existsSync(target)) throw unwritable(folder, error);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return target;
}

/** Creates a folder with its parents. Node's recursive mkdir would report ENOENT on a read-only file system. */
async function makeFolders(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw unwritable(folder, error);
    await makeFolders(dirname(folder));
    await mkdir(folder);
  }
}

async function findBase(options: PlaceOptions, runAs: RunAs): Promise<string> {
  const { varDir, log } = options;
  await makeFolders(varDir);
  const base = join(varDir, 'postgres');
  const fresh = !existsSync(base);
  await privateFolder(base, runAs);
  if (await canReach(base, runAs)) return base;
  if (fresh) await rmdir(base);
  const folder = await privateFolder(join(await homeFolder(options, runAs), 'postgres'), runAs);
  log(`PostgreSQL runs as user ${runAs?.uid}, who can't enter ${varDir}; its data is kept in ${folder}.`);
  return folder;
}

export async function findPlaces(options: PlaceOptions): Promise<Places> {
  const { varDir, binaries } = options;
  const runAs = await serverAccount(join(varDir, 'postgres', 'data'));
  const base = await findBase(options, runAs);
  let { native } = binaries;
  const linked = await restoreLinks(native);
  const reachable = await canReach(join(native, 'bin', 'postgres'), runAs);
  if (!linked || !reachable)
    native = await copyBinaries(binaries, reachable ? base : await homeFolder(options, runAs), runAs);
  return { native, base, data: join(base, 'data'), log: join(base, 'postgres.log'), runAs };
}

/** Every system allows at least 103 bytes for a socket's path; PostgreSQL adds a lock file beside it. */
const LONGEST_SOCKET_PATH = 90;

/** A new name for the socket folder of one server: below the base or, if that path is too long, in a temporary folder. */
export function nameSocketFolder({ base }: Places): string {
  const name = randomBytes(3).toString('hex');
  const folder = join(base, 'run', name);
  if (Buffer.byteLength(join(folder, '.s.PGSQL.5432')) <= LONGEST_SOCKET_PATH) return folder;
  return join(Buffer.byteLength(tmpdir()) < 50 ? tmpdir() : '/tmp', `hindsight-${name}`);
}
