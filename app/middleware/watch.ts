/**
 * First in line: opens the context of a request, sets the token headers, notes what comes in and goes out, and runs
 * everything after it inside AsyncLocalStorage.
 *
 * The response is observed, never changed: `writeHead`, `write` and `end` are wrapped on this one object, counted and
 * passed on with their arguments as they are. Emitters are bound because body and finish events otherwise fire outside
 * the request's context (multer 1, `req.on('end')`). Works on node:http objects; Express is not needed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, ContextTracker } from '../profiler/context.ts';
import type { BodyFact, RequestOrigin, ResponseFact, UploadedFile } from '../profiler/facts.ts';
import type { Recorder } from '../profiler/recorder.ts';
import type { Sampler } from '../profiler/sampling.ts';
import { isProfilerPath, urls } from '../urls.ts';
import { tapBody } from './body-tap.ts';

/** Where a request came from, as the service or the host works it out. */
export interface RequestSource {
  origin: RequestOrigin;
  requestId: string;
  receivedRequestId: string | null;
}

export interface WatchOptions {
  recorder: Recorder;
  tracker: ContextTracker;
  sourceOf: (req: IncomingMessage) => RequestSource;
  /** Bytes of a body kept as preview. */
  previewBytes: number;
  /** Whether a request is recorded in full; default: all are. */
  takes?: Sampler['takes'];
  /** Called once per request, inside its context: observers that add facts beside it. */
  onRequest?: readonly ((context: Context) => void)[];
}

export interface Watch {
  (req: IncomingMessage, res: ServerResponse, next: () => void): void;
  /** The context that `watch` opened for a request, also outside its async context. */
  contextOf(req: IncomingMessage): Context | undefined;
}

type Emit = IncomingMessage['emit'];

/** Request target as sent, also below a mount. */
function targetOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { originalUrl?: unknown };
  return typeof originalUrl === 'string' ? originalUrl : (req.url ?? '');
}

/** Path of a request target: without the query, and without the origin of an absolute form. */
function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  const path = end === -1 ? target : target.slice(0, end);
  return path.startsWith('/') ? path : path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '') || '/';
}

function bindEmit(
  emitter: IncomingMessage | ServerResponse,
  context: Context,
  tracker: ContextTracker,
): void {
  const emit = emitter.emit as Emit;
  emitter.emit = function boundEmit(this: unknown, ...args: Parameters<Emit>): boolean {
    if (tracker.current() === context) return Reflect.apply(emit, this, args);
    return tracker.run(context, () => Reflect.apply(emit, this, args));
  } as Emit;
}

/** The header block as it goes to the socket -> name, value … in order and case. */
function sentHeaders(res: ServerResponse): string[] {
  const block: unknown = (res as ServerResponse & { _header?: unknown })._header;
  if (typeof block !== 'string') {
    return res
      .getHeaderNames()
      .flatMap((name) => [res.getHeader(name) ?? ''].flat().flatMap((value) => [name, String(value)]));
  }
  const headers: string[] = [];
  for (const line of block.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.push(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}

function toBuffer(chunk: unknown, encoding: unknown): Buffer | null {
  if (typeof chunk === 'string')
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
  if (chunk instanceof Uint8Array) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return null;
}

/** Counts an outgoing chunk and copies the first bytes of the body. */
function noteChunk(fact: ResponseFact, chunk: unknown, encoding: unknown, previewBytes: number): void {
  const bytes = toBuffer(chunk, encoding);
  if (bytes === null || bytes.length === 0) return;
  const room = previewBytes - fact.preview.length;
  fact.bodyBytes += bytes.length;
  if (room > 0) fact.preview = Buffer.concat([fact.preview, bytes.subarray(0, room)]);
  if (bytes.length > room) fact.truncated = true;
}

/** A file as multer, in its common form, leaves it on the request. */
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

/** Lets the fact tell what a parser, whichever it was, has put on the request by the time it is read. */
function withParsed(fact: BodyFact, req: IncomingMessage): BodyFact {
  const parts = req as IncomingMessage & { body?: unknown; file?: unknown; files?: unknown };
  return Object.defineProperties(fact, {
    parsed: { get: () => parts.body },
    files: {
      get: () =>
        [parts.file, ...(Object.values(parts.files ?? {}).flat() as unknown[])].flatMap(uploadedFile),
    },
  });
}

export function createWatch(options: WatchOptions): Watch {
  const { recorder, tracker, sourceOf, previewBytes, takes = () => true, onRequest = [] } = options;
  const contexts = new WeakMap<IncomingMessage, Context>();

  /** Counts what is sent and keeps the first bytes. */
  function observeBody(res: ServerResponse, fact: ResponseFact): void {
    const { write, end } = res;
    const note = (args: readonly unknown[]): void => {
      // A HEAD, 204 or 304 answer sends no body, whatever is handed to it.
      if ((res as ServerResponse & { _hasBody?: boolean })._hasBody === false) return;
      noteChunk(fact, args[0], args[1], previewBytes);
    };
    res.write = function observedWrite(this: ServerResponse, ...args: unknown[]) {
      const result = Reflect.apply(write, this, args) as boolean;
      note(args);
      return result;
    } as ServerResponse['write'];
    res.end = function observedEnd(this: ServerResponse, ...args: unknown[]) {
      const ended = res.writableEnded;
      const result = Reflect.apply(end, this, args) as ServerResponse;
      if (!ended) note(args);
      return result;
    } as ServerResponse['end'];
  }

  /** Notes when the headers go out, and the end. */
  function observeResponse(res: ServerResponse, context: Context): void {
    const fact: ResponseFact = {
      status: 0,
      statusMessage: '',
      rawHeaders: [],
      headersAtMs: null,
      bodyBytes: 0,
      preview: Buffer.alloc(0),
      truncated: false,
      outcome: 'running',
    };
    context.add('response', fact);
    const { writeHead } = res;
    res.writeHead = function observedWriteHead(this: ServerResponse, ...args: unknown[]) {
      const result: unknown = Reflect.apply(writeHead, this, args);
      if (fact.headersAtMs === null) {
        fact.headersAtMs = context.elapsedMs();
        fact.status = res.statusCode;
        fact.statusMessage = res.statusMessage;
        fact.rawHeaders = sentHeaders(res);
        recorder.headersSent(context);
      }
      return result;
    } as ServerResponse['writeHead'];
    if (!context.outline) observeBody(res, fact);
    res.once('close', () => {
      fact.outcome = res.writableFinished ? 'finished' : 'aborted';
      recorder.finish(context);
    });
  }

  function open(req: IncomingMessage, res: ServerResponse): Context {
    const { origin, requestId, receivedRequestId } = sourceOf(req);
    const target = targetOf(req);
    const own = isProfilerPath(pathOf(target));
    const context =
      own || takes(req.headers) ? recorder.open(own ? 'profiler' : 'request') : recorder.openOutline();
    contexts.set(req, context);
    context.add('request', {
      method: req.method ?? '',
      url: target,
      httpVersion: req.httpVersion,
      rawHeaders: req.rawHeaders,
      remoteAddress: req.socket.remoteAddress ?? '',
      remotePort: req.socket.remotePort ?? 0,
      origin,
      requestId,
      receivedRequestId,
    });
    const body = context.outline ? null : tapBody(req, { previewBytes });
    if (body !== null) context.add('body', withParsed(body, req), previewBytes);
    res.setHeader('x-debug-token', context.token);
    res.setHeader('x-debug-token-link', `${origin.origin ?? ''}${urls.profile(context.token)}`);
    return context;
  }

  function watch(req: IncomingMessage, res: ServerResponse, next: () => void): void {
    if (contexts.has(req)) {
      next();
      return;
    }
    const context = open(req, res);
    observeResponse(res, context);
    if (context.outline) {
      next();
      return;
    }
    if (context.first('body') !== undefined) bindEmit(req, context, tracker);
    bindEmit(res, context, tracker);
    tracker.run(context, () => {
      for (const observe of onRequest) observe(context);
      next();
    });
  }
  return Object.assign(watch, { contextOf: (req: IncomingMessage) => contexts.get(req) });
}
