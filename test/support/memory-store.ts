/** Stores as an application opens them, without one. */
import type { Store } from '../../app/profiler/store/store.ts';
import { createFolderDisk, createMemoryDisk, type Disk } from '../../app/storage/files/disk.ts';
import { createFileStore, type FileStoreOptions } from '../../app/storage/files/file-store.ts';

type Own = Partial<Pick<FileStoreOptions, 'project' | 'guard'>>;

function createStore(disk: Disk, own: Own = {}): Store {
  return createFileStore({
    disk,
    project: '',
    script: '',
    guard: null,
    thread: 0,
    warn: () => undefined,
    ...own,
  });
}

export function createMemoryStore(): Store {
  return createStore(createMemoryDisk());
}

/** A store in files of this folder. */
export function createStoreIn(folder: string, own?: Own): Store {
  return createStore(createFolderDisk(folder), own);
}
