/**
 * A file in which a process leaves what it has not stored, for the next start (left-boxes.ts): one line of JSON for each profile, already
 * masked, and one that says how the process ended. Written synchronously, because the process ends or may be killed.
 */
import {
  closeSync,
  constants,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { ProfileIndex } from './profile-index.ts';
import type { QueuedProfile, SharedPart } from './storage.ts';
import { messageOf } from '../errors.ts';

/** How a process ended. */
export interface EndNote {
  /** Milliseconds since 1970; where it was killed, when that was noticed. */
  at: number;
  /** `an uncaught exception`, `SIGTERM` …; null: it was killed, or its machine stopped. */
  how: string | null;
}

/** A line of the file. */
export type BoxLine =
  | { process: string; version: number }
  | { part: SharedPart }
  | { index: ProfileIndex; document: object }
  | { end: EndNote };

export interface BlackBox {
  /** Creates the file, so that the next start knows of a process that was killed. */
  open(): void;
  /** Adds profiles and what they refer to; returns false if the file can't be written or is full. */
  add(profiles: readonly QueuedLeft[]): boolean;
  end(note: EndNote): void;
  /** All that was added is stored. */
  empty(): void;
  /** This process ends, and has stored all. */
  remove(): void;
}

/** A queued profile with what it refers to. */
export type QueuedLeft = Pick<QueuedProfile, 'index' | 'bytes'> & { shared: readonly SharedPart[] };

export interface BlackBoxOptions {
  folder: string;
  /** Name of this process. */
  process: string;
  maxBytes?: number;
  warn: (sentence: string) => void;
}

const BOX_VERSION = 1;
const LINE_END = Buffer.from('}\n');
export const BOX_ENDING = '.jsonl';

/** More than the writer's queue. */
const MAX_BYTES = 64 * 1024 * 1024;
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;
/** Fails if the file exists, or is a link. */
const CREATE = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_APPEND;

/** Tells this process from an earlier one with the same pid, as in a container. */
export const processStart = Math.round(performance.timeOrigin);

/** `<pid>-<start>-<random>.jsonl` */
export function newBoxName(): string {
  return `${process.pid}-${processStart}-${randomBytes(4).toString('hex')}${BOX_ENDING}`;
}

/** For a host that names none: of this user and this application, which is told by its folder and the script that started it. */
export function hostBlackBoxFolder(root: string): string {
  const application = createHash('sha256')
    .update(`${root}\n${process.argv[1] ?? ''}`)
    .digest('hex');
  return join(tmpdir(), `express-hindsight-${process.getuid?.() ?? 0}-${application.slice(0, 16)}`);
}

/** Throws unless the folder belongs to this user alone: in a shared folder for temporary files others may have made it. */
export function checkPrivate(folder: string): void {
  const found = lstatSync(folder);
  const isOurs = process.getuid === undefined || found.uid === process.getuid();
  if (!found.isDirectory() || !isOurs || (process.platform !== 'win32' && (found.mode & OTHERS) !== 0))
    throw new Error(`${folder} is open to other users`);
}

export function createBlackBox({
  folder,
  process: name,
  maxBytes = MAX_BYTES,
  warn,
}: BlackBoxOptions): BlackBox {
  let file: {
    path: string;
    descriptor: number;
    headBytes: number;
    bytes: number;
    parts: Set<string>;
  } | null = null;
  let failed = false;

  function append(buffers: readonly Uint8Array[]): boolean {
    if (failed) return false;
    try {
      file ??= create();
      const all = Buffer.concat(buffers);
      if (file.bytes + all.length > maxBytes) return false;
      for (let at = 0; at < all.length;) at += writeSync(file.descriptor, all, at);
      file.bytes += all.length;
      return true;
    } catch (error) {
      failed = true;
      warn(`Profiles that are not stored when this process ends are lost: ${messageOf(error)}.`);
      return false;
    }
  }

  function create(): NonNullable<typeof file> {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    checkPrivate(folder);
    const path = join(folder, newBoxName());
    const descriptor = openSync(path, CREATE, PRIVATE_FILE);
    const head = Buffer.from(line({ process: name, version: BOX_VERSION }));
    writeSync(descriptor, head);
    return { path, descriptor, headBytes: head.length, bytes: head.length, parts: new Set() };
  }

  function line(content: BoxLine): string {
    return `${JSON.stringify(content)}\n`;
  }

  return {
    open: () => void append([]),
    add(profiles) {
      const known = file?.parts ?? new Set<string>();
      const buffers: Uint8Array[] = [];
      const added = new Set<string>();
      for (const { index, bytes, shared } of profiles) {
        for (const part of shared) {
          if (known.has(part.id) || added.has(part.id)) continue;
          added.add(part.id);
          buffers.push(Buffer.from(line({ part })));
        }
        // The document is JSON in one line already.
        buffers.push(Buffer.from(`{"index":${JSON.stringify(index)},"document":`), bytes, LINE_END);
      }
      if (!append(buffers)) return false;
      for (const id of added) file?.parts.add(id);
      return true;
    },
    end: (note) => void append([Buffer.from(line({ end: note }))]),
    empty() {
      if (file === null) return;
      try {
        ftruncateSync(file.descriptor, file.headBytes);
        file.bytes = file.headBytes;
        file.parts.clear();
      } catch {
        // The next start stores it once more, which changes nothing.
      }
    },
    remove() {
      if (file === null) return;
      const { path, descriptor } = file;
      file = null;
      try {
        closeSync(descriptor);
        rmSync(path, { force: true });
      } catch {
        // The next start stores it once more, which changes nothing.
      }
    },
  };
}
