/**
 * Observes the body of a request without consuming it: counts bytes, stores the first ones. Node's parser passes each chunk to
 * `req.push` before any reader, whatever its mode; a `data` listener would start the flow and change the host's timing.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyFact, UploadedFile } from '../profiler/record/facts.ts';
import { type ParsedBody, parsedBodyOf } from '../profiler/record/parsed-body.ts';
import { createPreview } from '../profiler/record/preview.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';
import { SIGNATURE_HEADER } from '../profiler/record/raw-headers.ts';

/** A file as multer, in its common form, puts it on the request. */
function uploadedFile(file: unknown): UploadedFile[] {
  if (typeof file !== 'object' || file === null) return [];
  const { fieldname, originalname, mimetype, size } = file as Record<string, unknown>;
  if (typeof originalname !== 'string') return [];
  return [
    {
      field: typeof fieldname === 'string' ? fieldname : '',
      name: originalname,
      contentType: typeof mimetype === 'string' ? mimetype : '',
      bytes: typeof size === 'number' ? size : 0,
    },
  ];
}

function keepsBytes(req: IncomingMessage, bytes: number): boolean {
  return Object.keys(req).some((name) => {
    const value: unknown = Object.getOwnPropertyDescriptor(req, name)?.value;
    return (typeof value === 'string' || Buffer.isBuffer(value)) && Buffer.byteLength(value) === bytes;
  });
}

/**
 * Bytes of a signed JSON body that is parsed and written again, as code assumes that computes the signature of `JSON.stringify(req.body)`: 3.0
 * becomes 3, \u00fc becomes ü, and blanks are gone. Undefined if it is the same text, or nobody needs to know.
 */
function writtenAgain(
  req: IncomingMessage & { body?: unknown },
  { contentType, preview, truncated }: Pick<BodyFact, 'contentType' | 'preview' | 'truncated'>,
): number | undefined {
  if (truncated || preview.length === 0 || !/\bjson$/.test(mediaTypeOf(contentType))) return undefined;
  if (!Object.keys(req.headers).some((name) => SIGNATURE_HEADER.test(name))) return undefined;
  if (typeof req.body !== 'object' || req.body === null || Buffer.isBuffer(req.body)) return undefined;
  if (keepsBytes(req, preview.length)) return undefined;
  try {
    const text = preview.toString();
    const again = JSON.stringify(JSON.parse(text));
    return again === text ? undefined : Buffer.byteLength(again);
  } catch {
    return undefined;
  }
}

/** Fills as the body arrives. Its accessors return what any parser has put on the request by the time they are read. */
class TappedBody implements BodyFact {
  bytes = 0;
  readonly contentType: string | null;
  preview: Buffer = Buffer.alloc(0);
  truncated = false;
  unread = false;
  plain?: ParsedBody;
  writtenAgain: number | undefined;
  #uploads: readonly UploadedFile[] = [];
  #req: (IncomingMessage & { body?: unknown; file?: unknown; files?: unknown }) | null;

  constructor(req: IncomingMessage) {
    this.contentType = req.headers['content-type'] ?? null;
    this.#req = req;
  }

  get parsed(): unknown {
    return this.#req === null ? this.plain?.parsed : this.#req.body;
  }

  get files(): readonly UploadedFile[] {
    if (this.#req === null) return this.#uploads;
    const { file, files } = this.#req;
    return [file, ...(Object.values(files ?? {}).flat() as unknown[])].flatMap(uploadedFile);
  }

  leave(): void {
    this.plain = parsedBodyOf(this.contentType, this.parsed);
    this.#uploads = this.files;
    if (this.#req !== null) this.writtenAgain = writtenAgain(this.#req, this);
    this.#req = null;
  }
}

/** The request is over: what a timer or a pooled connection keeps of its context must not keep a body of megabytes. */
export function leaveBody(body: BodyFact): void {
  if (body instanceof TappedBody) body.leave();
}

export function announcedBytes(req: IncomingMessage): number | null {
  if (req.headers['transfer-encoding'] !== undefined) return null;
  return Number(req.headers['content-length'] ?? 0);
}

/** Replaces a method of one request; as an assigned property it would be enumerable. */
export function setMethod(
  req: IncomingMessage,
  name: 'push' | 'destroy' | 'emit',
  value: (...args: never[]) => unknown,
): void {
  Object.defineProperty(req, name, { configurable: true, writable: true, value });
}

/** `inspect` sees each chunk before any reader; if it returns false, the chunk is discarded. */
export function interceptBody(req: IncomingMessage, inspect: (chunk: Buffer) => boolean): void {
  const push = req.push.bind(req);
  setMethod(req, 'push', (chunk: unknown, encoding?: BufferEncoding) =>
    Buffer.isBuffer(chunk) && !inspect(chunk) ? true : push(chunk, encoding),
  );
}

/** Starts the tap, which stores the first `previewBytes`; returns the fact that fills as the body arrives, null if the request has none. */
export function tapBody(req: IncomingMessage, previewBytes: number): BodyFact | null {
  if (announcedBytes(req) === 0) return null;
  const fact = new TappedBody(req);
  const extendPreview = createPreview(previewBytes);
  interceptBody(req, (chunk) => {
    fact.bytes += chunk.length;
    if (fact.preview.length < previewBytes) fact.preview = extendPreview(chunk);
    fact.truncated = fact.bytes > fact.preview.length;
    return true;
  });
  return fact;
}

/** Lets the whole body arrive in the stream's buffer, unread, for later readers; resolves when it is complete, or never will be. */
export function bufferBody(req: IncomingMessage): Promise<void> {
  if (req.complete || req.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const push = req.push.bind(req);
    const done = (): void => {
      req.off('close', done).off('error', done);
      resolve();
    };
    req.on('close', done).on('error', done);
    setMethod(req, 'push', (chunk: unknown, encoding?: BufferEncoding) => {
      push(chunk, encoding);
      if (chunk === null) done();
      // Returning false would stop the socket at the stream's high-water mark.
      return true;
    });
  });
}

/** Reads a body that nobody else reads, so that limits and preview apply; resolves at its end, or after `idleMs` without a byte. */
export function readRest(req: IncomingMessage, { idleMs }: { idleMs: number }): Promise<void> {
  if (announcedBytes(req) === 0 || req.readableEnded || req.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(done, idleMs);
    const bump = (): void => {
      timer.refresh();
    };
    function done(): void {
      clearTimeout(timer);
      req.off('data', bump).off('end', done).off('close', done).off('error', done);
      resolve();
    }
    req.on('end', done).on('close', done).on('error', done);
    req.on('data', bump);
    req.resume();
  });
}
