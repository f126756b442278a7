/** Where segments lie: files in one private folder, or in memory if no folder can be written. */
import { randomBytes } from 'node:crypto';
import {
  close,
  constants,
  fstat,
  futimes,
  mkdirSync,
  open,
  openSync,
  promises as fs,
  write,
  writeSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { codeOf } from '../../errors.ts';
import { epochMs } from '../../profiler/record/clock.ts';

export interface OwnFile {
  write(bytes: Uint8Array, position: number): Promise<void>;
  writeSync(bytes: Uint8Array, position: number): void;
  touch(): Promise<void>;
  isThere(): Promise<boolean>;
  close(): Promise<void>;
}

export interface FileState {
  size: number;
  changedAt: number;
}

export interface Disk {
  readonly name: 'files' | 'memory';
  readonly segmentBytes: number;
  names(): Promise<readonly string[]>;
  state(name: string): Promise<FileState | null>;
  read(name: string, position: number, length: number): Promise<Buffer>;
  create(name: string): Promise<OwnFile>;
  createSync(name: string): OwnFile;
  remove(name: string): Promise<boolean>;
  rename(from: string, to: string): Promise<boolean>;
  readText(name: string): Promise<string | null>;
  writeText(name: string, text: string, onlyIfAbsent: boolean): Promise<boolean>;
  writeTextSync(name: string, text: string): void;
  mostBytes(used: number): Promise<number>;
}

/** Begins the name of a file that is not written to its end yet. */
export const DRAFT = 'draft-';

export function ageOf(touchedAt: number): number {
  return Math.abs(epochMs() - touchedAt);
}

const MEBIBYTE = 1024 * 1024;
const NO_LINKS = constants.O_NOFOLLOW ?? 0;
const MAKE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | NO_LINKS;
const READ = constants.O_RDONLY | NO_LINKS;
const PRIVATE = 0o600;

// By number, because a handle that is not closed when the process ends prints a warning.
const openLater = promisify(open);
const writeLater = promisify(write);
const touchLater = promisify(futimes);
const stateLater = promisify(fstat);
const closeLater = promisify(close);

/** Type of the file system `tmpfs`, which is memory. */
const TMPFS = 0x01021994;
/** Share of the free space. */
const MOST_OF_FREE = 0.1;
const MOST_ON_TMPFS = 32 * MEBIBYTE;

function isGone(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';
}

async function unlessGone<T, Otherwise>(
  work: () => Promise<T>,
  otherwise: Otherwise,
): Promise<T | Otherwise> {
  try {
    return await work();
  } catch (error) {
    if (isGone(error)) return otherwise;
    throw error;
  }
}

class FolderFile implements OwnFile {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await writeLater(this.#fd, bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
  }

  writeSync(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length;)
      done += writeSync(this.#fd, bytes, done, bytes.length - done, position + done);
  }

  touch(): Promise<void> {
    const now = new Date(epochMs());
    return touchLater(this.#fd, now, now);
  }

  async isThere(): Promise<boolean> {
    const { nlink } = await stateLater(this.#fd);
    return nlink > 0;
  }

  close(): Promise<void> {
    return closeLater(this.#fd);
  }
}

/** `folder` must have been checked (folder.ts). */
export function createFolderDisk(folder: string): Disk {
  const pathOf = (name: string): string => join(folder, name);
  const draftOf = (): string => pathOf(DRAFT + randomBytes(8).toString('hex'));

  /** The folder may have been deleted. */
  async function inFolder<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isGone(error)) throw error;
      await fs.mkdir(folder, { recursive: true, mode: 0o700 });
      return work();
    }
  }

  async function writeText(name: string, text: string, onlyIfAbsent: boolean): Promise<boolean> {
    const draft = draftOf();
    const handle = await fs.open(draft, MAKE, PRIVATE);
    try {
      await handle.writeFile(text);
    } finally {
      await handle.close();
    }
    if (!onlyIfAbsent) {
      await fs.rename(draft, pathOf(name));
      return true;
    }
    try {
      await fs.link(draft, pathOf(name));
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    } finally {
      await fs.unlink(draft);
    }
  }

  return {
    name: 'files',
    segmentBytes: 8 * MEBIBYTE,
    names: () => unlessGone(() => fs.readdir(folder), []),
    async state(name) {
      const found = await unlessGone(() => fs.lstat(pathOf(name)), null);
      return found?.isFile() === true ? { size: found.size, changedAt: found.mtimeMs } : null;
    },
    async read(name, position, length) {
      const handle = await fs.open(pathOf(name), READ);
      try {
        const bytes = Buffer.allocUnsafe(length);
        let done = 0;
        while (done < length) {
          const { bytesRead } = await handle.read(bytes, done, length - done, position + done);
          if (bytesRead === 0) break;
          done += bytesRead;
        }
        return bytes.subarray(0, done);
      } finally {
        await handle.close();
      }
    },
    create: (name) => inFolder(async () => new FolderFile(await openLater(pathOf(name), MAKE, PRIVATE))),
    createSync(name) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return new FolderFile(openSync(pathOf(name), MAKE, PRIVATE));
    },
    remove: (name) => unlessGone(() => fs.unlink(pathOf(name)).then(() => true), false),
    rename: (from, to) => unlessGone(() => fs.rename(pathOf(from), pathOf(to)).then(() => true), false),
    async readText(name) {
      const handle = await unlessGone(() => fs.open(pathOf(name), READ), null);
      if (handle === null) return null;
      try {
        return await handle.readFile('utf8');
      } finally {
        await handle.close();
      }
    },
    writeText: (name, text, onlyIfAbsent) => inFolder(() => writeText(name, text, onlyIfAbsent)),
    writeTextSync(name, text) {
      const draft = draftOf();
      writeFileSync(draft, text, { flag: 'wx', mode: PRIVATE });
      renameSync(draft, pathOf(name));
    },
    async mostBytes(used) {
      const { type, bavail, bsize } = await fs.statfs(folder);
      const share = MOST_OF_FREE * (bavail * bsize + used);
      return type === TMPFS ? Math.min(MOST_ON_TMPFS, share) : share;
    },
  };
}

class MemoryFile implements OwnFile {
  bytes = Buffer.alloc(0);
  size = 0;
  changedAt = epochMs();

  writeSync(bytes: Uint8Array, position: number): void {
    const size = position + bytes.length;
    if (size > this.bytes.length) {
      const larger = Buffer.alloc(Math.max(size, Math.min(2 * size, size + MEBIBYTE / 4)));
      larger.set(this.bytes.subarray(0, this.size));
      this.bytes = larger;
    }
    this.bytes.set(bytes, position);
    this.size = Math.max(this.size, size);
    this.changedAt = epochMs();
  }

  write(bytes: Uint8Array, position: number): Promise<void> {
    this.writeSync(bytes, position);
    return Promise.resolve();
  }

  touch(): Promise<void> {
    this.changedAt = epochMs();
    return Promise.resolve();
  }

  isThere(): Promise<boolean> {
    return Promise.resolve(true);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export function createMemoryDisk(): Disk {
  const files = new Map<string, MemoryFile>();

  function createSync(name: string): MemoryFile {
    const file = new MemoryFile();
    files.set(name, file);
    return file;
  }

  function readFrom(name: string, position: number, length: number): Buffer {
    const file = files.get(name);
    return file === undefined
      ? Buffer.alloc(0)
      : file.bytes.subarray(position, Math.min(position + length, file.size));
  }

  return {
    name: 'memory',
    segmentBytes: MEBIBYTE,
    names: () => Promise.resolve([...files.keys()]),
    state(name) {
      const file = files.get(name);
      return Promise.resolve(file === undefined ? null : { size: file.size, changedAt: file.changedAt });
    },
    read: (name, position, length) => Promise.resolve(readFrom(name, position, length)),
    create: (name) => Promise.resolve(createSync(name)),
    createSync,
    remove: (name) => Promise.resolve(files.delete(name)),
    rename(from, to) {
      const file = files.get(from);
      if (file === undefined) return Promise.resolve(false);
      files.delete(from);
      files.set(to, file);
      return Promise.resolve(true);
    },
    readText: (name) => Promise.resolve(files.has(name) ? readFrom(name, 0, Infinity).toString() : null),
    writeText(name, text, onlyIfAbsent) {
      if (onlyIfAbsent && files.has(name)) return Promise.resolve(false);
      createSync(name).writeSync(Buffer.from(text), 0);
      return Promise.resolve(true);
    },
    writeTextSync(name, text) {
      createSync(name).writeSync(Buffer.from(text), 0);
    },
    mostBytes: () => Promise.resolve(32 * MEBIBYTE),
  };
}
