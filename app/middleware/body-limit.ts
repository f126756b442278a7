/**
 * The limit on request bodies, for any method, type and route: a longer announced length is refused before a byte is read, a
 * chunked body at the first byte over. The body is only tapped, so routers can still read the stream. In multipart the parts count
 * (parsers.ts); their boundaries and headers get an allowance here.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { createError, type HindsightError } from '../errors.ts';
import { announcedBytes, interceptBody } from './body-tap.ts';
import { cutOff, defaultLingerLimits, type LingerLimits, type RespondWithError } from './cut-off.ts';

const MEBIBYTE = 1024 * 1024;
export const DEFAULT_BODY_LIMIT = 16 * MEBIBYTE;
const MULTIPART_ALLOWANCE = 64 * 1024;

export interface BodyLimitOptions {
  respond: RespondWithError;
  limitBytes?: number;
  linger?: LingerLimits;
}

export function printLimit(bytes: number): string {
  return bytes % MEBIBYTE === 0 ? `${bytes / MEBIBYTE} MiB` : `${bytes} bytes`;
}

export function isMultipart(req: IncomingMessage): boolean {
  return /^\s*multipart\/form-data\b/i.test(req.headers['content-type'] ?? '');
}

function tooLarge(req: IncomingMessage, limitBytes: number, sentBytes: number | null): HindsightError {
  const limit = printLimit(limitBytes);
  const sent = sentBytes === null ? `more than ${limit}` : `${sentBytes} bytes`;
  return createError(isMultipart(req) ? 'UPLOAD_TOO_LARGE' : 'BODY_TOO_LARGE', [limit, sent]);
}

export function allowedBytes(req: IncomingMessage, limitBytes: number): number {
  return isMultipart(req) ? limitBytes + MULTIPART_ALLOWANCE : limitBytes;
}

export function createBodyLimit(options: BodyLimitOptions): RequestHandler {
  const { respond, limitBytes = DEFAULT_BODY_LIMIT, linger = defaultLingerLimits } = options;
  return function bodyLimit(req, res, next) {
    const announced = announcedBytes(req);
    if (announced === 0) {
      next();
      return;
    }
    const allowed = allowedBytes(req, limitBytes);
    if (announced !== null && announced > allowed) {
      cutOff({ error: tooLarge(req, limitBytes, announced), req, res, respond, linger });
      return;
    }
    if (announced === null) {
      let left = allowed;
      // The parser's callbacks have lost the request's context.
      const refuse = AsyncLocalStorage.bind(() => {
        cutOff({ error: tooLarge(req, limitBytes, null), req, res, respond, linger });
      });
      interceptBody(req, (chunk) => {
        left -= chunk.length;
        if (left < 0) refuse();
        return left >= 0;
      });
    }
    next();
  };
}
