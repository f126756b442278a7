/**
 * Sees the body of a request arrive, without consuming it: bytes counted, first bytes kept, nothing delayed.
 *
 * Node's parser hands each chunk to `req.push`, before any reader and whatever the reader's mode (paused, flowing, piped,
 * iterated), so that is the place to look. A listener for `data` would start the flow and change the host's timing.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyFact } from '../profiler/facts.ts';

export interface TapOptions {
  /** First bytes kept. */
  previewBytes: number;
}

/** Bytes announced; null where the body is chunked, 0 where there is none. */
export function announcedBytes(req: IncomingMessage): number | null {
  if (req.headers['transfer-encoding'] !== undefined) return null;
  return Number(req.headers['content-length'] ?? 0);
}

/** `inspect` sees each chunk before any reader; a false answer swallows it. */
export function interceptBody(req: IncomingMessage, inspect: (chunk: Buffer) => boolean): void {
  const push = req.push.bind(req);
  Object.defineProperty(req, 'push', {
    configurable: true,
    writable: true,
    value: (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (Buffer.isBuffer(chunk) && !inspect(chunk)) return true;
      return push(chunk, encoding);
    },
  });
}

/** Grows a preview up to its limit; the buffer doubles, so that a trickle of single bytes costs no more than one write. */
function createPreview(limit: number): (chunk: Buffer) => Buffer {
  let buffer = Buffer.alloc(0);
  let used = 0;
  return (chunk) => {
    const wanted = Math.min(limit, used + chunk.length);
    if (wanted > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(limit, Math.max(wanted, buffer.length * 2)));
      buffer.copy(larger, 0, 0, used);
      buffer = larger;
    }
    used += chunk.copy(buffer, used, 0, wanted - used);
    return buffer.subarray(0, used);
  };
}

/** Starts the tap and returns the fact that it completes as the body arrives; null where the request has no body. */
export function tapBody(req: IncomingMessage, { previewBytes }: TapOptions): BodyFact | null {
  if (announcedBytes(req) === 0) return null;
  const contentType = req.headers['content-type'] ?? null;
  const fact: BodyFact = { bytes: 0, contentType, preview: Buffer.alloc(0), truncated: false, files: [] };
  const keep = createPreview(previewBytes);
  interceptBody(req, (chunk) => {
    fact.bytes += chunk.length;
    if (fact.preview.length < previewBytes) fact.preview = keep(chunk);
    fact.truncated = fact.bytes > fact.preview.length;
    return true;
  });
  return fact;
}

/**
 * Lets the whole body arrive in the memory of its stream, unread, so that whoever comes next finds it as it would have
 * been; resolves when it is there or will never be.
 */
export function holdBody(req: IncomingMessage): Promise<void> {
  if (req.complete || req.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const push = req.push.bind(req);
    const done = (): void => {
      req.off('close', done).off('error', done);
      resolve();
    };
    req.on('close', done).on('error', done);
    Object.defineProperty(req, 'push', {
      configurable: true,
      writable: true,
      value: (chunk: unknown, encoding?: BufferEncoding): boolean => {
        push(chunk, encoding);
        if (chunk === null) done();
        // A false answer would stop the socket at the stream's high-water mark.
        return true;
      },
    });
  });
}

/**
 * Reads what nobody reads, so that limits and preview see it; resolves at the end of the body, when the client is gone,
 * or after `idleMs` without a byte.
 */
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
