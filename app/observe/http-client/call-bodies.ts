/**
 * The first bytes of the bodies of outgoing calls, as they pass: undici publishes its chunks (undici 7.12 and Node.js 24 and later), or
 * they are seen where it hands them to its request; node:http's in `write`, `end` and `push` of the one request or response, before any reader. Nothing is consumed, and nothing
 * is copied of a type that is no text.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { type Context, createSlot } from '../../profiler/record/context.ts';
import { isTextType } from '../../profiler/http-text.ts';
import { createPreview } from '../../profiler/record/preview.ts';
import { rawHeader } from '../../profiler/record/raw-headers.ts';

export interface CallBody {
  bytes: number;
  preview: Buffer;
}

const MOST_BYTES = 256 * 1024;

const room = createSlot<{ left: number }>('bodies of calls');

export type TakeChunk = (chunk: unknown, encoding?: unknown) => void;

/** What collects one body; null if it is not text. */
function collectBody(
  context: Context,
  { headers, limit, keep }: { headers: readonly string[]; limit: number; keep: (body: CallBody) => void },
): TakeChunk | null {
  if (!isTextType(rawHeader(headers, 'content-type'))) return null;
  const shared = room.get(context) ?? { left: MOST_BYTES };
  room.set(context, shared);
  const most = Math.min(limit, shared.left);
  const body: CallBody = { bytes: 0, preview: Buffer.alloc(0) };
  const extend = createPreview(most);
  keep(body);
  return (chunk, encoding) => {
    const bytes = bytesOf(chunk, encoding);
    body.bytes += bytes.length;
    if (body.preview.length >= most) return;
    const before = body.preview.length;
    body.preview = extend(bytes);
    shared.left -= body.preview.length - before;
  };
}

const NOTHING = Buffer.alloc(0);

function bytesOf(chunk: unknown, encoding: unknown): Buffer {
  if (typeof chunk === 'string')
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
  if (Buffer.isBuffer(chunk)) return chunk;
  return chunk instanceof Uint8Array
    ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    : NOTHING;
}

type Tapped = 'write' | 'end' | 'push' | 'onBodySent' | 'onData';
type ChunkMethod = (chunk?: unknown, encoding?: unknown, done?: unknown) => unknown;

/** Replaces a method of one object; what goes wrong in `note` may not reach the caller. Assigned: a defined property makes the object slow. */
function tap(target: object, name: Tapped, note: TakeChunk): void {
  const methods = target as Record<Tapped, ChunkMethod>;
  const original = methods[name];
  const noting = function (this: unknown, chunk?: unknown, encoding?: unknown, done?: unknown): unknown {
    try {
      note(chunk, encoding);
    } catch {
      // The body is not recorded.
    }
    return original.call(this, chunk, encoding, done);
  };
  methods[name] = noting;
}

export interface BodiesFact {
  requestHeaders: readonly string[];
  responseHeaders: readonly string[];
  requestBody?: CallBody;
  responseBody?: CallBody;
}

type Side = 'request' | 'response';

interface Call {
  context: Context;
  fact: BodiesFact;
}

export function createCallBodies(limit: number) {
  const sides = {
    request: new WeakMap<object, TakeChunk | null>(),
    response: new WeakMap<object, TakeChunk | null>(),
  };
  const written = new WeakMap<object, CallBody>();

  const tapped = new WeakSet<object>();

  function take(side: Side, request: object, { context, fact }: Call, chunk: unknown): void {
    let collect = sides[side].get(request);
    if (collect === undefined) {
      const keep = (body: CallBody): void => {
        fact[`${side}Body`] = body;
      };
      collect = collectBody(context, { headers: fact[`${side}Headers`], limit, keep });
      sides[side].set(request, collect);
    }
    collect?.(chunk);
  }

  return {
    take(side: Side, request: object, call: Call, chunk: unknown): void {
      if (!tapped.has(request)) take(side, request, call, chunk);
    },
    tapUndici(request: object, call: Call): void {
      if (!('onData' in request && 'onBodySent' in request)) return;
      tapped.add(request);
      tap(request, 'onData', (chunk) => {
        take('response', request, call, chunk);
      });
      tap(request, 'onBodySent', (chunk) => {
        take('request', request, call, chunk);
      });
    },
    /** A request of node:http that nothing was written to yet; of GET and HEAD, which have no body, nothing is kept. */
    tapRequest(context: Context, request: ClientRequest): void {
      if (request.method === 'GET' || request.method === 'HEAD') return;
      let collect: TakeChunk | null | undefined;
      const note: TakeChunk = (chunk, encoding) => {
        if (chunk === undefined || chunk === null || typeof chunk === 'function') return;
        if (collect === undefined) {
          const headers = ['content-type', String(request.getHeader('content-type') ?? '')];
          collect = collectBody(context, { headers, limit, keep: (body) => written.set(request, body) });
        }
        collect?.(chunk, encoding);
      };
      tap(request, 'write', note);
      tap(request, 'end', note);
      // A body that is announced but never written counts as one of 0 bytes.
      if (Number(request.getHeader('content-length')) > 0) note('');
    },
    written: (request: ClientRequest) => written.get(request),
    /** A response of node:http whose headers are recorded, and that nothing was read from yet. */
    tapResponse(context: Context, fact: BodiesFact, response: IncomingMessage): void {
      const keep = (body: CallBody): void => {
        fact.responseBody = body;
      };
      const collect = collectBody(context, { headers: fact.responseHeaders, limit, keep });
      if (collect !== null) tap(response, 'push', collect);
    },
  };
}
