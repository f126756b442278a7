/**
 * Multipart bodies -> `req.body` and `req.files`, by multer. The files of a request are written to a folder of its own, which is removed
 * when the response has ended, or the client is gone.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { RequestHandler } from 'express';
import multer from 'multer';
import { PARSER_LIMITS } from './parse-errors.ts';

export interface MultipartOptions {
  uploadFolder: string;
  limitBytes: number;
}

export function createMultipartParser({ uploadFolder, limitBytes }: MultipartOptions): RequestHandler {
  const folders = new WeakMap<IncomingMessage, Promise<string>>();

  /** Processes may share the folder: the name of what a killed one leaves has its pid. */
  async function makeFolder(): Promise<string> {
    const folder = join(uploadFolder, `upload-${process.pid}-${randomBytes(16).toString('hex')}`);
    await mkdir(uploadFolder, { recursive: true, mode: 0o700 });
    await mkdir(folder, { mode: 0o700 });
    return folder;
  }

  const storage = multer.diskStorage({
    destination(req, _file, callback) {
      const folder = folders.get(req) ?? makeFolder();
      folders.set(req, folder);
      folder.then(
        (made) => {
          callback(null, made);
        },
        (error: unknown) => {
          callback(error as Error, uploadFolder);
        },
      );
    },
  });
  const parse = multer({
    storage,
    defParamCharset: 'utf8',
    limits: {
      parts: PARSER_LIMITS.parts,
      files: PARSER_LIMITS.files,
      fileSize: limitBytes,
      fieldSize: limitBytes,
      fieldNameSize: PARSER_LIMITS.nameBytes,
      fieldNestingDepth: PARSER_LIMITS.nameDepth,
      fieldArrayIndexLimit: PARSER_LIMITS.arrayIndex,
    },
  }).any();

  return function multipartParser(req, res, next) {
    res.once('close', () => {
      const folder = folders.get(req);
      const over = Promise.reject<string>(new Error('The request has ended.'));
      over.catch(() => undefined);
      folders.set(req, over);
      // Tried again, because a file may just be opened; what stays is removed at the next start.
      folder
        ?.then((made) => rm(made, { recursive: true, force: true, maxRetries: 3 }))
        .catch(() => undefined);
    });
    void parse(req, res, next);
  };
}
