/**
 * Uploaded files on disk: written below one folder, removed after the response or when the client is gone; files of killed
 * processes at the next start. Names contain the pid, since processes may share the folder.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Request } from 'express';
import type { diskStorage, StorageEngine } from 'multer';
import { isAlive } from '../is-alive.ts';

const NAME = /^upload-(\d+)-[0-9a-f]{32}$/;
/** No request lasts this long: an older file is left over, even if its pid is in use again. */
const OLDEST_MS = 3_600_000;

export interface UploadOptions {
  folder: string;
  /** Multer's, which is loaded for the first multipart body only. */
  diskStorage: typeof diskStorage;
}

interface Uploads {
  storage: StorageEngine;
  /** Removes the files of `req` after the response, however it ends. */
  removeAfter(req: IncomingMessage, res: ServerResponse): void;
}

function removeFile(path: string): void {
  // What can't be removed now is removed at the next start.
  rm(path, { force: true }).catch(() => undefined);
}

/** The files of one request, including those still being written when it ends. */
class UploadedFiles {
  readonly #paths: string[] = [];
  #over = false;

  add(path: string): void {
    this.#paths.push(path);
  }

  /** A file is complete or has failed; if the request has ended already, it is removed. */
  settle(path: string): void {
    if (this.#over) removeFile(path);
  }

  end(): void {
    this.#over = true;
    this.#paths.forEach(removeFile);
  }
}

export function createUploads({ folder, diskStorage: createStorage }: UploadOptions): Uploads {
  const byRequest = new WeakMap<IncomingMessage, UploadedFiles>();
  const disk = createStorage({
    destination: (_req, _file, callback) => {
      mkdir(folder, { recursive: true, mode: 0o700 }).then(
        () => {
          callback(null, folder);
        },
        (error: unknown) => {
          callback(error as Error, folder);
        },
      );
    },
    filename: (req, file, callback) => {
      const name = `upload-${process.pid}-${randomBytes(16).toString('hex')}`;
      byRequest.get(req)?.add(join(folder, name));
      Object.defineProperty(file, 'uploadName', { value: name });
      callback(null, name);
    },
  });

  function handle(
    req: Request,
    file: Express.Multer.File,
    callback: Parameters<StorageEngine['_handleFile']>[2],
  ): void {
    disk._handleFile(req, file, (error, info) => {
      const name = 'uploadName' in file && typeof file.uploadName === 'string' ? file.uploadName : null;
      if (name !== null) byRequest.get(req)?.settle(join(folder, name));
      callback(error, info);
    });
  }

  return {
    storage: {
      _handleFile: handle,
      _removeFile: (req, file, callback) => {
        disk._removeFile(req, file, callback);
      },
    },
    removeAfter(req, res) {
      const files = new UploadedFiles();
      byRequest.set(req, files);
      res.once('close', () => {
        files.end();
      });
    },
  };
}

/** Removes files that killed processes left in `folder`; called once, at start. Returns how many. */
export async function cleanUploads(folder: string): Promise<number> {
  const startedAt = Date.now() - process.uptime() * 1000;
  let removed = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(NAME.exec(name)?.[1] ?? NaN);
    if (Number.isNaN(pid)) continue;
    const path = join(folder, name);
    const changedAt = (await stat(path).catch(() => null))?.mtimeMs ?? null;
    if (changedAt === null) continue;
    const ours = pid === process.pid && changedAt >= startedAt;
    if (ours || (pid !== process.pid && isAlive(pid) && Date.now() - changedAt < OLDEST_MS)) continue;
    await rm(path, { force: true }).then(
      () => removed++,
      () => undefined,
    );
  }
  return removed;
}
