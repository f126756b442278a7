/** Multipart bodies -> `req.body` and `req.files`, by multer; files are written to disk and removed after the response. */
import type { RequestHandler } from 'express';
import multer from 'multer';
import { PARSER_LIMITS } from './parse-errors.ts';
import { createUploads } from './uploads.ts';

export interface MultipartOptions {
  /** Folder for uploads, created when needed. */
  uploadFolder: string;
  /** Of a file, and of a field. */
  limitBytes: number;
}

export function createMultipartParser({ uploadFolder, limitBytes }: MultipartOptions): RequestHandler {
  const uploads = createUploads({ folder: uploadFolder, diskStorage: multer.diskStorage });
  const parse = multer({
    storage: uploads.storage,
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
    uploads.removeAfter(req, res);
    void parse(req, res, next);
  };
}
