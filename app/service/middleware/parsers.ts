/**
 * JSON, form and multipart bodies -> `req.body` and `req.files`, before the routers that want them, and for unknown paths, so that
 * a form posted to a wrong path shows its fields in the profile. Other types are left to the routers.
 */
import type { IncomingMessage } from 'node:http';
import type expressPackage from 'express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { createError } from '../../errors.ts';
import { requirePackage } from '../../paths.ts';
import { DEFAULT_BODY_LIMIT, isMultipart, printLimit } from '../../middleware/body-limit.ts';
import { announcedBytes, bufferBody } from '../../middleware/body-tap.ts';
import { PARSER_LIMITS, toRequestError } from './parse-errors.ts';

const express = requirePackage('express') as typeof expressPackage;

export interface ParserOptions {
  uploadFolder: string;
  limitBytes?: number;
}

/** JSON.parse needs many times the size of a deep document, so the depth is checked on the bytes. */
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
    if (depth > PARSER_LIMITS.jsonDepth) {
      throw createError('BAD_REQUEST', [
        `The JSON body is nested more than ${PARSER_LIMITS.jsonDepth} levels deep.`,
      ]);
    }
  }
}

function fieldBytes(body: unknown): number {
  let bytes = 0;
  const work: unknown[] = [body];
  for (let value = work.pop(); value !== undefined; value = work.pop()) {
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
    else if (typeof value === 'object' && value !== null) work.push(...(Object.values(value) as unknown[]));
  }
  return bytes;
}

export function createParsers({
  uploadFolder,
  limitBytes = DEFAULT_BODY_LIMIT,
}: ParserOptions): RequestHandler {
  const parseJson = express.json({
    limit: limitBytes,
    type: ['application/json', 'application/*+json'],
    verify: checkDepth,
  });
  const formOptions = {
    limit: limitBytes,
    extended: true,
    parameterLimit: PARSER_LIMITS.parameters,
    depth: PARSER_LIMITS.nameDepth,
  };
  const parseForm = express.urlencoded(formOptions);
  let parseMultipart: RequestHandler | null = null;

  /** multer and what it needs are loaded for the first multipart body: a service starts without them. */
  async function loadMultipart(): Promise<RequestHandler> {
    const { createMultipartParser } = await import('./multipart.ts');
    return (parseMultipart ??= createMultipartParser({ uploadFolder, limitBytes }));
  }

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
    const files = Array.isArray(req.files) ? req.files : [];
    const bytes = isMultipart(req) ? files.reduce((sum, file) => sum + file.size, fieldBytes(req.body)) : 0;
    if (bytes > limitBytes) {
      next(createError('UPLOAD_TOO_LARGE', [printLimit(limitBytes), `${bytes} bytes`]));
      return;
    }
    next();
  }

  /** The length of a chunked body is known only once it has arrived; a router that streams is mounted before the parsers. */
  async function hold(req: Request, res: Response, next: NextFunction): Promise<void> {
    await bufferBody(req);
    if (!res.headersSent) next();
  }

  function parse(parsers: RequestHandler[], req: Request, res: Response, next: NextFunction): void {
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
  }

  return function bodyParsers(req, res, next) {
    // An earlier router has read it.
    if (req.readableDidRead || req.body !== undefined) {
      next();
      return;
    }
    if (!isMultipart(req)) parse([parseJson, parseForm], req, res, next);
    else if (parseMultipart !== null) parse([parseMultipart], req, res, next);
    else
      loadMultipart().then((parser) => {
        parse([parser], req, res, next);
      }, next);
  };
}
