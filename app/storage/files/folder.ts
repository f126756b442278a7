/**
 * Which folder holds the recorded requests of an application: one for each project, below the user's folder for caches. Not inside the
 * project: `node_modules` and the project are zipped, deployed and copied into images, and recorded requests must not be.
 */
import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { messageOf } from '../../errors.ts';
import { isAlive } from '../../profiler/is-alive.ts';
import { SETTING } from './delete-old.ts';
import { DRAFT } from './disk.ts';
import { PROJECT } from './file-store.ts';
import { segmentKindOf } from './segment.ts';

const NAME = 'express-hindsight';
export const AWAY = 'away-';
/** Whether anybody else may use it, or write to it. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

type Environment = Readonly<Record<string, string | undefined>>;

export interface FolderChoice {
  /** null: records stay in memory. */
  folder: string | null;
  problem: string | null;
}

function stateOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

function isWritable(path: string): boolean {
  if (stateOf(path) === null) {
    const above = dirname(path);
    return above !== path && isWritable(above);
  }
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function hasSegments(path: string): boolean {
  return readdirSync(path).some((name) => segmentKindOf(name.replace(/\.\w+$/, '')) !== null);
}

/** Several processes may begin at the same time: each of these names may be the first. */
function isOurs(path: string): boolean {
  const names = readdirSync(path);
  const prefixes = [AWAY, SERVER, SETTING, DRAFT];
  return (
    names.length === 0 ||
    names.some((name) => name === PROJECT || prefixes.some((prefix) => name.startsWith(prefix))) ||
    hasSegments(path)
  );
}

/** Why a folder can't be used; null if it can, or does not exist yet. */
function problemOf(path: string, isAboveOurs = false): string | null {
  const state = stateOf(path);
  if (state === null) return null;
  if (state.isSymbolicLink()) return `${path} is a link`;
  if (!state.isDirectory()) return `${path} is no folder`;
  // On Windows the user's profile folder is the protection.
  if (process.getuid === undefined) return null;
  if (state.uid !== process.getuid()) return `${path} belongs to another user`;
  if ((Number(state.mode) & OTHERS_WRITE) !== 0) return `${path} can be written by other users`;
  if (isAboveOurs) return null;
  if (!isOurs(path)) return `${path} holds other files`;
  if ((Number(state.mode) & OTHERS) !== 0) chmodSync(path, 0o700);
  return null;
}

function cacheFolders({ XDG_CACHE_HOME, LOCALAPPDATA }: Environment): string[] {
  const home = homedir();
  const usual =
    process.platform === 'win32'
      ? (LOCALAPPDATA ?? join(home, 'AppData', 'Local'))
      : process.platform === 'darwin'
        ? join(home, 'Library', 'Caches')
        : XDG_CACHE_HOME?.startsWith(sep) === true
          ? XDG_CACHE_HOME
          : join(home, '.cache');
  return [usual, tmpdir()];
}

export function folderNameOf(project: string): string {
  return createHash('sha256').update(project).digest('hex').slice(0, 16);
}

function projectFolders(env: Environment): string[] {
  return cacheFolders(env).map((cache) => join(cache, NAME));
}

/** Begins the name of a file with the address and process of an application, which ends with its port. */
export const SERVER = 'server-';

export interface StoredProject {
  project: string;
  folder: string;
  hasProfiles: boolean;
  /** Where its applications listened, the last one first: they may have ended. */
  servers: readonly { address: string; isRunning: boolean }[];
}

interface FoundServer {
  name: string;
  folder: string;
  startedAt: number;
}

function serversIn(folder: string): FoundServer[] {
  return readdirSync(folder).flatMap((name): FoundServer[] => {
    const state = name.startsWith(SERVER) ? stateOf(join(folder, name)) : null;
    return state?.isFile() === true ? [{ name, folder, startedAt: state.mtimeMs }] : [];
  });
}

function projectIn(folder: string): string | null {
  const named = join(folder, PROJECT);
  return problemOf(folder) === null && stateOf(named)?.isFile() === true ? readFileSync(named, 'utf8') : null;
}

function storedProject(project: string, folder: string, servers: readonly FoundServer[]): StoredProject {
  const own = servers.filter((one) => one.folder === folder).sort((a, b) => b.startedAt - a.startedAt);
  return {
    project,
    folder,
    hasProfiles: hasSegments(folder),
    servers: own.map(({ name }) => {
      const [address = '', pid] = readFileSync(join(folder, name), 'utf8').trim().split(' ');
      return { address, isRunning: isAlive(Number(pid)) };
    }),
  };
}

/** What applications of a project left in a folder that was chosen for it. */
export function projectAt(project: string, folder: string): StoredProject[] {
  // Addresses in it get the password, so that nobody else may be able to write them.
  return stateOf(folder) === null || problemOf(folder) !== null
    ? []
    : [storedProject(project, folder, serversIn(folder))];
}

/** Projects at this path, above it and below it, as the names in their folders say. */
export function foldersNear(path: string, env: Environment): StoredProject[] {
  const here = realpathSync(path);
  const isNear = (project: string): boolean =>
    project === here || here.startsWith(project + sep) || project.startsWith(here + sep);
  const folders = projectFolders(env).flatMap((above) =>
    stateOf(above) === null || problemOf(above, true) !== null
      ? []
      : readdirSync(above)
          .map((name) => join(above, name))
          .filter((folder) => projectIn(folder) !== null),
  );
  // A port belongs to whoever listened there last.
  const lastOfPort = new Map<string, FoundServer>();
  for (const server of folders.flatMap(serversIn))
    if (server.startedAt >= (lastOfPort.get(server.name)?.startedAt ?? 0))
      lastOfPort.set(server.name, server);
  return folders.flatMap((folder) => {
    const project = projectIn(folder) ?? '';
    return isNear(project) ? [storedProject(project, folder, [...lastOfPort.values()])] : [];
  });
}

/** `given`: from PROFILER_DIR; an empty text keeps everything in memory, null chooses. Makes nothing. */
export function chooseFolder(given: string | null, project: string, env: Environment): FolderChoice {
  if (given === '') return { folder: null, problem: null };
  const places =
    given === null
      ? projectFolders(env).map((above) => ({ above, folder: join(above, folderNameOf(project)) }))
      : [{ above: null, folder: resolve(given) }];
  let problem: string | null = null;
  for (const { above, folder } of places)
    try {
      const found =
        (above === null ? null : problemOf(above, true)) ??
        problemOf(folder) ??
        (isWritable(folder) ? null : `${folder} can't be written`);
      if (found === null) return { folder, problem: null };
      problem ??= found;
    } catch (error) {
      problem ??= messageOf(error);
    }
  return { folder: null, problem };
}

/** The nearest folder with a package.json above the main script, outside of `node_modules`. Under pm2 and in test runners that is theirs. */
export function findProject(env: Environment): string {
  const script = env.pm_exec_path ?? process.argv[1];
  const here = realpathSync(process.cwd());
  if (script === undefined) return here;
  let path: string;
  try {
    path = realpathSync(script);
  } catch {
    return here;
  }
  if (path.includes(`${sep}node_modules${sep}`)) path = join(here, 'script');
  for (let above = dirname(path); above !== dirname(above); above = dirname(above))
    if (stateOf(join(above, 'package.json')) !== null) return above;
  return here;
}
