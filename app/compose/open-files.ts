/** Opens the files of an application: one folder for all its processes. Makes nothing before the first record. */
import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { environmentOfStore } from '../config.ts';
import type { Store } from '../profiler/store/store.ts';
import { createFolderDisk, createMemoryDisk, type Disk } from '../storage/files/disk.ts';
import { createFileStore, type FileStoreOptions, PROJECT } from '../storage/files/file-store.ts';
import { AWAY, chooseFolder, findProject, type FolderChoice, SERVER } from '../storage/files/folder.ts';
import { createSpill, type Spill } from '../storage/files/spill.ts';
import { listAddress } from './announce.ts';
import { processProfilers } from './process-profilers.ts';

const MOST_AWAY = 512 * 1024 * 1024;

export interface FilesOptions {
  /** An empty text keeps everything in memory; null: the usual folder of the project. */
  dir: string | null;
  /** Bytes that all files together may take; absent: the usual number. */
  mostBytes?: number;
  guard: string | null;
  warn: (sentence: string) => void;
}

function folderOf(given: string | null, project: string): FolderChoice {
  const { env, dir: fromEnvironment, isTest } = environmentOfStore();
  const dir = given ?? fromEnvironment;
  const isOfTests = dir === null && (isTest || processProfilers().isTested);
  return isOfTests ? { folder: null, problem: null } : chooseFolder(dir, project, env);
}

function optionsOf(
  disk: Disk,
  { project, warn }: { project: string; warn: FilesOptions['warn'] },
): FileStoreOptions {
  return {
    disk,
    project,
    script: process.argv[1] ?? '',
    guard: null,
    isFrozenBetween: environmentOfStore().isFrozenBetween,
    thread: threadId,
    warn,
  };
}

export function openFiles({ dir, mostBytes, guard, warn }: FilesOptions): Store {
  const project = findProject(environmentOfStore().env);
  const { folder, problem } = folderOf(dir, project);
  const notice = problem === null ? null : `Profiles are stored in memory, because ${problem}.`;
  if (notice !== null) warn(notice);
  return createFileStore({
    ...optionsOf(folder === null ? createMemoryDisk() : createFolderDisk(folder), { project, warn }),
    ...(mostBytes === undefined ? {} : { mostBytes }),
    guard: guard === null ? null : createHash('sha256').update(guard).digest('hex').slice(0, 16),
    notice,
  });
}

/** For the command line: all that lies in the folder. */
export function openFilesOf(folder: string | null, warn: FilesOptions['warn']): Store {
  return createFileStore({
    ...optionsOf(folder === null ? createMemoryDisk() : createFolderDisk(folder), { project: '', warn }),
    showsAll: true,
  });
}

/** Leaves the address of a server, once it listens, where the command line and agents look for it: in the folder of the project. */
export function createAddressNote(dir: string | null): (server: Server) => void {
  const noted = new Set<string>();
  async function leave(port: number, address: string): Promise<void> {
    const project = findProject(environmentOfStore().env);
    // Only the environment says the same to the command line.
    const { folder } = folderOf(null, project);
    if (folder === null) return;
    const disk = createFolderDisk(folder);
    await disk.writeText(PROJECT, project, true);
    await disk.writeText(`${SERVER}${port}`, `${address} ${process.pid}`, false);
  }
  return function note(server) {
    const place = server.address();
    if (place === null) server.once('listening', () => note(server));
    const address = listAddress(server);
    if (dir === '' || address === null || typeof place !== 'object' || noted.has(address)) return;
    noted.add(address);
    leave(place?.port ?? 0, address).catch(() => noted.delete(address));
  };
}

/** Where records go that a database can't take; `place` tells databases apart. undefined: nowhere. */
export function openSpill({
  dir,
  place,
  warn,
}: {
  dir: string | null;
  place: string;
  warn: FilesOptions['warn'];
}): Spill | undefined {
  const project = findProject(environmentOfStore().env);
  const { folder } = folderOf(dir, project);
  if (folder === null) return undefined;
  const disk = createFolderDisk(join(folder, AWAY + place));
  return createSpill({ ...optionsOf(disk, { project, warn }), mostBytes: MOST_AWAY });
}
