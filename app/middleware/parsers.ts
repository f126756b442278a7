/**
 * JSON, form and multipart bodies -> `req.body` and `req.files`, before the routers that want them and for paths that no
 * router has, so that a form posted to a wrong path shows its fields in the profile. Other types are left to the routers.
 *
 * What a body does wrong is answered by 400 with the parser's own message, what is too much by 413; errors of the disk
 * keep the client out of it (503).
 */
import type { IncomingMessage } from 'node:http';
import express from 'express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import multer from 'multer';
import { HindsightError, createError } from '../errors.ts';
import type { UploadedFile } from '../profiler/facts.ts';
import { DEFAULT_BODY_LIMIT, isMultipart, printLimit } from './body-limit.ts';
import { announcedBytes, holdBody } from './body-tap.ts';
import { createUploads } from './uploads.ts';

export interface ParsedBody {
  body: unknown;
  files: readonly UploadedFile[];
}

export interface ParserOptions {
  /** Folder for uploads, made when needed. */
  uploadFolder: string;
  limitBytes?: number;
  /** Told what a parser made of a body. */
  onParsed?: (req: IncomingMessage, parsed: ParsedBody) => void;
}

/** Deeper JSON and names are an attack on whoever walks them. */
const DEEPEST_JSON = 1000;
const DEEPEST_NAME = 16;
const MOST_PARTS = 1000;
const MOST_FILES = 100;
const MOST_PARAMETERS = 1000;
const LONGEST_NAME = 1024;
const LARGEST_INDEX = 1000;
/** The disk is full, or descriptors are: the next try may pass. */
const OUT_OF_ROOM = new Set([
  'ENOSPC',
  'EDQUOT',
  'EFBIG',
  'EMFILE',
  'ENFILE',
  'EROFS',
  'EACCES',
  'EPERM',
  'EIO',
  'ENOENT',
]);

/** Node's JSON.parse holds a deep document in memory many times over, so the depth is checked on the bytes. */
function checkDepth(_req: IncomingMessage, _res: unknown, bytes: Buffer): void {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x5b || byte === 0x7b) depth++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    if (depth > DEEPEST_JSON) {
      throw createError('BAD_REQUEST', [`The JSON body is nested more than ${DEEPEST_JSON} levels deep.`]);
    }
  }
}

function tooMuch(limit: string, cause: unknown): HindsightError {
  return createError('UPLOAD_TOO_LARGE', [limit, `more than ${limit}`], { cause });
}

function statusOf(error: object): number | null {
  const status = 'status' in error ? error.status : null;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null;
}

/** An error of multer by its code; its own message says nothing about the limit. */
function multerError(error: multer.MulterError, limitBytes: number): Error {
  if (!error.code.startsWith('LIMIT_')) return createError('BAD_REQUEST', [error.message], { cause: error });
  const limits: Record<string, string> = {
    LIMIT_FILE_SIZE: printLimit(limitBytes),
    LIMIT_FIELD_VALUE: printLimit(limitBytes),
    LIMIT_PART_COUNT: `${MOST_PARTS} parts`,
    LIMIT_FILE_COUNT: `${MOST_FILES} files`,
    LIMIT_FIELD_KEY: `${LONGEST_NAME} bytes in a name`,
    LIMIT_FIELD_NESTING: `${DEEPEST_NAME} levels in a name`,
    LIMIT_FIELD_ARRAY_INDEX: `an index of ${LARGEST_INDEX} in a name`,
  };
  return tooMuch(limits[error.code] ?? 'fewer parts', error);
}

/** What a parser raises -> what is answered. */
function toRequestError(error: unknown, limitBytes: number): unknown {
  if (!(error instanceof Error) || error instanceof HindsightError) return error;
  if (error instanceof multer.MulterError) return multerError(error, limitBytes);
  if ('type' in error && error.type === 'entity.too.large') {
    const limit = printLimit(limitBytes);
    return createError('BODY_TOO_LARGE', [limit, `more than ${limit}`], { cause: error });
  }
  if (statusOf(error) !== null) return error;
  const code = 'syscall' in error && 'code' in error ? String(error.code) : null;
  if (code !== null && OUT_OF_ROOM.has(code)) {
    return new HindsightError('STORAGE_UNAVAILABLE', `The upload can't be stored now: ${code}`, {
      status: 503,
      cause: error,
    });
  }
  return createError('BAD_REQUEST', [error.message], { cause: error });
}

/** Bytes of all field values, counted without recursion: names may nest. */
function fieldBytes(body: unknown): number {
  let bytes = 0;
  const work: unknown[] = [body];
  for (let value = work.pop(); value !== undefined; value = work.pop()) {
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
    else if (typeof value === 'object' && value !== null) work.push(...(Object.values(value) as unknown[]));
  }
  return bytes;
}

function uploadedFiles(req: Request): Express.Multer.File[] {
  return Array.isArray(req.files) ? req.files : [];
}

export function createParsers({
  uploadFolder,
  limitBytes = DEFAULT_BODY_LIMIT,
  onParsed,
}: ParserOptions): RequestHandler {
  const uploads = createUploads(uploadFolder);
  const parseJson = express.json({
    limit: limitBytes,
    type: ['application/json', 'application/*+json'],
    verify: checkDepth,
  });
  const formOptions = {
    limit: limitBytes,
    extended: true,
    parameterLimit: MOST_PARAMETERS,
    depth: DEEPEST_NAME,
  };
  const parseForm = express.urlencoded(formOptions);
  const parseMultipart = multer({
    storage: uploads.storage,
    defParamCharset: 'utf8',
    limits: {
      parts: MOST_PARTS,
      files: MOST_FILES,
      fileSize: limitBytes,
      fieldSize: limitBytes,
      fieldNameSize: LONGEST_NAME,
      fieldNestingDepth: DEEPEST_NAME,
      fieldArrayIndexLimit: LARGEST_INDEX,
    },
  }).any();

  function run(parser: RequestHandler, req: Request, res: Response, done: (error?: unknown) => void): void {
    const settle = (error?: unknown): void => {
      done(error === undefined || error === null ? undefined : toRequestError(error, limitBytes));
    };
    try {
      void parser(req, res, settle);
    } catch (error) {
      settle(error);
    }
  }

  function finish(req: Request, next: NextFunction): void {
    const files = uploadedFiles(req);
    const bytes = isMultipart(req) ? files.reduce((sum, file) => sum + file.size, fieldBytes(req.body)) : 0;
    if (bytes > limitBytes) {
      next(createError('UPLOAD_TOO_LARGE', [printLimit(limitBytes), `${bytes} bytes`]));
      return;
    }
    if (req.body !== undefined) {
      const listed = files.map((file) => ({
        field: file.fieldname,
        name: file.originalname,
        contentType: file.mimetype,
        bytes: file.size,
      }));
      onParsed?.(req, { body: req.body, files: listed });
    }
    next();
  }

  /** A chunked body that no parser reads shows its length only by arriving; a router that streams goes before. */
  async function hold(req: Request, res: Response, next: NextFunction): Promise<void> {
    await holdBody(req);
    if (!res.headersSent) next();
  }

  return function bodyParsers(req, res, next) {
    // A router before this one has read it.
    if (req.readableDidRead || req.body !== undefined) {
      next();
      return;
    }
    const parsers = isMultipart(req) ? [parseMultipart] : [parseJson, parseForm];
    if (isMultipart(req)) uploads.removeAfter(req, res);
    const step = (index: number): void => {
      const parser = parsers[index];
      if (parser === undefined) {
        if (announcedBytes(req) === null && !req.readableDidRead) void hold(req, res, next);
        else finish(req, next);
        return;
      }
      run(parser, req, res, (error) => {
        if (error === undefined) step(index + 1);
        else next(error);
      });
    };
    step(0);
  };
}
