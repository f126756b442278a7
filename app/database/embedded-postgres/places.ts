/**
 * Where the server's files lie: `VAR_DIR/postgres` with `data`, `run` (socket and list of users) and the log.
 *
 * For root, folders that the server's user can't enter (a project below /root) move to
 * `/var/lib/express-hindsight/<hash of VAR_DIR>`, else `/var/tmp`: binaries, data, or both. Such a folder must be a
 * real one, of the server's user and closed to others, or the start ends. Nothing is ever written by root inside a
 * folder that another user owns: what must be copied is put together beside it and renamed into it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  rmdir,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { canReach, serverAccount, type RunAs } from './account.ts';
import { restoreLinks, type Binaries } from './binaries.ts';
import { codeOf, EmbeddedPostgresError, unwritable } from './errors.ts';

export const DEFAULT_HOMES: readonly string[] = ['/var/lib/express-hindsight', '/var/tmp/express-hindsight'];

/** A socket's path may have 103 bytes at least on every system; PostgreSQL adds a lock file beside it. */
const LONGEST_SOCKET_PATH = 90;
export const SOCKET_PORT = 5432;

export interface Places {
  /** Folder with `bin`, `lib` and `share`. */
  native: string;
  /** Holds the rest; of the server's user, 0700. */
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

/** Makes a 0700 folder of the server's user, or checks that the existing one is that and no link. */
async function ownFolder(folder: string, runAs: RunAs): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
    if (runAs !== undefined) await chown(folder, runAs.uid, runAs.gid);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unwritable(folder, error);
  }
  const found = await lstat(folder);
  const expected = runAs?.uid ?? process.getuid?.() ?? found.uid;
  if (found.isSymbolicLink() || !found.isDirectory()) {
    throw new EmbeddedPostgresError(
      'failed',
      `${folder} is no folder (a link is not followed); remove it and start again.`,
    );
  }
  if (found.uid !== expected) {
    throw new EmbeddedPostgresError(
      'failed',
      `The folder ${folder} belongs to user ${found.uid}, but PostgreSQL would run as user ${expected}; ` +
        `start the service as the user it belongs to, or move the folder away to begin with an empty one.`,
    );
  }
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) await chmod(folder, 0o700);
}

/** The first of `homes` where root can keep folders: real, of root, writable by nobody else. */
async function findHome(homes: readonly string[]): Promise<string> {
  let reason: unknown = 'none given';
  for (const home of homes) {
    try {
      await mkdir(home, { mode: 0o755 });
    } catch (error) {
      reason = error;
      if (codeOf(error) !== 'EEXIST') continue;
    }
    const found = await lstat(home);
    if (found.isSymbolicLink() || !found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
      throw new EmbeddedPostgresError(
        'failed',
        `${home} must be a folder of root that nobody else can write to, not a link; remove it and start again.`,
      );
    }
    await chmod(home, 0o755);
    return home;
  }
  throw unwritable(homes.join(' or '), reason);
}

/** The folder in a home for this project: of the server's user, 0700, no link. */
async function homeFolder({ varDir, homes }: PlaceOptions, runAs: RunAs): Promise<string> {
  const home = await findHome(homes);
  const folder = join(home, createHash('sha256').update(varDir).digest('hex').slice(0, 16));
  await ownFolder(folder, runAs);
  return folder;
}

async function giveAway(folder: string, runAs: RunAs): Promise<void> {
  if (runAs === undefined) return;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await giveAway(path, runAs);
    else await lchown(path, runAs.uid, runAs.gid);
  }
  await chown(folder, runAs.uid, runAs.gid);
}

/** Copies the binaries into `folder`, whole or not at all; a copy of this version that is there is used. */
async function copyBinaries({ native, version }: Binaries, folder: string, runAs: RunAs): Promise<string> {
  const target = join(folder, `native-${version}`);
  if (existsSync(join(target, 'bin'))) return target;
  const fresh = join(folder, '..', `.${basename(folder)}-${randomBytes(6).toString('hex')}`);
  await mkdir(fresh, { mode: 0o700 });
  try {
    const copy = join(fresh, 'native');
    await cp(native, copy, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !source.endsWith('.a'),
    });
    await restoreLinks(copy);
    await giveAway(copy, runAs);
    await rename(copy, target);
  } catch (error) {
    // Another process may have put its own there first.
    if (!existsSync(join(target, 'bin'))) throw unwritable(folder, error);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return target;
}

/** With its parents. By hand, because Node's own says ENOENT of a read-only file system. */
async function makeFolders(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolders(dirname(folder));
    await mkdir(folder);
  }
}

/** VAR_DIR/postgres, or null where the server's user can't enter it. */
async function baseInVarDir(varDir: string, runAs: RunAs): Promise<string | null> {
  try {
    await makeFolders(varDir);
  } catch (error) {
    throw unwritable(varDir, error);
  }
  const base = join(varDir, 'postgres');
  const fresh = !existsSync(base);
  await ownFolder(base, runAs);
  if (runAs === undefined || (await canReach(base, runAs))) return base;
  if (fresh) await rmdir(base);
  return null;
}

/** Where everything lies, made where it is missing. */
export async function findPlaces(options: PlaceOptions): Promise<Places> {
  const { varDir, binaries, log } = options;
  const runAs = await serverAccount(join(varDir, 'postgres', 'data'), varDir);
  let base = await baseInVarDir(varDir, runAs);
  if (base === null) {
    const home = await homeFolder(options, runAs);
    base = join(home, 'postgres');
    await ownFolder(base, runAs);
    log(`PostgreSQL runs as user ${runAs?.uid}, who can't enter ${varDir}; its data is kept in ${base}.`);
  }
  let { native } = binaries;
  const linked = await restoreLinks(native);
  const reachable = runAs === undefined || (await canReach(join(native, 'bin', 'postgres'), runAs));
  if (!linked || !reachable) {
    native = await copyBinaries(binaries, reachable ? base : await homeFolder(options, runAs), runAs);
  }
  return { native, base, data: join(base, 'data'), log: join(base, 'postgres.log'), runAs };
}

/** Folder for the socket: below the base where its path is short enough, else a fresh one of the server's user. */
export async function socketFolder({ base, runAs }: Places): Promise<{ folder: string; temporary: boolean }> {
  const folder = join(base, 'run');
  if (Buffer.byteLength(join(folder, `.s.PGSQL.${SOCKET_PORT}`)) <= LONGEST_SOCKET_PATH) {
    await ownFolder(folder, runAs);
    return { folder, temporary: false };
  }
  const short = Buffer.byteLength(tmpdir()) < 50 ? tmpdir() : '/tmp';
  const fresh = await mkdtemp(join(short, 'hindsight-'));
  if (runAs !== undefined) await chown(fresh, runAs.uid, runAs.gid);
  return { folder: fresh, temporary: true };
}
