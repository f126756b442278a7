/** Stores as an application opens them, without one. */
import type { Store } from '../../app/profiler/store.ts';
import { createFolderDisk, createMemoryDisk, type Disk } from '../../app/storage/files/disk.ts';
import { createFileStore } from '../../app/storage/files/file-store.ts';

function createStore(disk: Disk): Store {
  return createFileStore({ disk, project: '', script: '', guard: null, thread: 0, warn: () => undefined });
}

export function createMemoryStore(): Store {
  return createStore(createMemoryDisk());
}

/** A store in files of this folder. */
export function createStoreIn(folder: string): Store {
  return createStore(createFolderDisk(folder));
}
