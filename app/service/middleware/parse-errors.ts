/**
 * A body parser's error -> the error to respond with: 400 with the parser's own message for malformed bodies, 413 for too much, 503
 * if the disk does not take an upload.
 */
import type { MulterError } from 'multer';
import { createError, HindsightError, isHindsightError } from '../../errors.ts';
import { printLimit } from '../../middleware/body-limit.ts';

/** Limits of the parsers beside the size of the body; exceeding one gives a 413. */
export const PARSER_LIMITS = {
  /** Deeper JSON attacks whoever walks it. */
  jsonDepth: 1000,
  nameDepth: 16,
  parts: 1000,
  files: 100,
  parameters: 1000,
  nameBytes: 1024,
  /** A name such as `a[99999999]` would create an array of that length. */
  arrayIndex: 1000,
} as const;

/** System calls that store an upload: a full or missing disk is not the client's fault. */
const FILE_CALLS = new Set(['open', 'write', 'mkdir', 'close']);

function tooMuch(limit: string, cause: unknown): HindsightError {
  return createError('UPLOAD_TOO_LARGE', [limit, `more than ${limit}`], { cause });
}

function statusOf(error: object): number | null {
  const status = 'status' in error ? error.status : null;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null;
}

/** An error of multer by its code; its own message does not name the limit. */
function multerError(error: MulterError, limitBytes: number): Error {
  if (!error.code.startsWith('LIMIT_')) return createError('BAD_REQUEST', [error.message], { cause: error });
  const limits: Record<string, string> = {
    LIMIT_FILE_SIZE: printLimit(limitBytes),
    LIMIT_FIELD_VALUE: printLimit(limitBytes),
    LIMIT_PART_COUNT: `${PARSER_LIMITS.parts} parts`,
    LIMIT_FILE_COUNT: `${PARSER_LIMITS.files} files`,
    LIMIT_FIELD_KEY: `${PARSER_LIMITS.nameBytes} bytes in a name`,
    LIMIT_FIELD_NESTING: `${PARSER_LIMITS.nameDepth} levels in a name`,
    LIMIT_FIELD_ARRAY_INDEX: `an index of ${PARSER_LIMITS.arrayIndex} in a name`,
  };
  return tooMuch(limits[error.code] ?? 'fewer parts', error);
}

/** By name: multer itself is not loaded before the first multipart body. */
function isMulterError(error: Error): error is MulterError {
  return error.name === 'MulterError' && 'code' in error && typeof error.code === 'string';
}

export function toRequestError(error: unknown, limitBytes: number): unknown {
  if (!(error instanceof Error) || isHindsightError(error)) return error;
  if (isMulterError(error)) return multerError(error, limitBytes);
  if ('type' in error && error.type === 'entity.too.large') {
    const limit = printLimit(limitBytes);
    return createError('BODY_TOO_LARGE', [limit, `more than ${limit}`], { cause: error });
  }
  if (statusOf(error) !== null) return error;
  if ('syscall' in error && FILE_CALLS.has(String(error.syscall))) {
    const reason = 'code' in error ? String(error.code) : error.name;
    const message = `The upload can't be stored now: ${reason}`;
    return new HindsightError('STORAGE_UNAVAILABLE', message, { status: 503, cause: error });
  }
  return createError('BAD_REQUEST', [error.message], { cause: error });
}
