/**
 * A response as it is observed, never changed: `writeHead`, `write`, `end` and `emit` are replaced, for all responses of an
 * Express application at once or on one object of node:http, by functions that pass their arguments on as they are and note
 * what went by. Emitting is bound, because finish and close otherwise fire outside the request's context. What is noted is made
 * readable only when it is read: a request that is sampled out is mostly never read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, ContextTracker } from '../profiler/context.ts';
import type { ResponseFact } from '../profiler/facts.ts';
import { createSharedMethods } from './shared-methods.ts';

export interface ResponseWatchOptions {
  tracker: ContextTracker;
  /** Bytes of a body kept as preview. */
  previewBytes: number;
  /** The headers are out; called once. */
  onHeaders: (context: Context) => void;
  /** The answer is over, or its client has gone. */
  onClose: (context: Context, req: IncomingMessage) => void;
}

/**
 * A piece of a body that was kept: text as it was given, anything else byte by byte as latin1. Copies of bytes as
 * strings cost half of what Buffers do, and most are read as text.
 */
interface Piece {
  text: string;
  encoding: 'utf8' | 'latin1';
}

const NOTHING = Buffer.alloc(0);

/** The header block as it goes to the socket -> name, value … in order and case. */
function readBlock(block: string): string[] {
  const headers: string[] = [];
  let start = block.indexOf('\r\n') + 2;
  while (start > 1) {
    const end = block.indexOf('\r\n', start);
    const last = end === -1 ? block.length : end;
    const colon = block.indexOf(':', start);
    if (colon > start && colon < last)
      headers.push(block.slice(start, colon), block.slice(colon + 1, last).trim());
    start = end + 2;
  }
  return headers;
}

/** Where no block of text is known, as under HTTP/2. */
function readTable(res: ServerResponse): string[] {
  return res
    .getHeaderNames()
    .flatMap((name) => [res.getHeader(name) ?? ''].flat().flatMap((value) => [name, String(value)]));
}

function isAscii({ text }: Piece): boolean {
  return Buffer.byteLength(text, 'utf8') === text.length;
}

class WatchedResponse implements ResponseFact {
  status = 0;
  statusMessage = '';
  headersAtMs: number | null = null;
  bodyBytes = 0;
  truncated = false;
  outcome: ResponseFact['outcome'] = 'running';
  readonly #previewBytes: number;
  #sent: string | string[] = [];
  readonly #pieces: Piece[] = [];
  #kept = 0;

  constructor(previewBytes: number) {
    this.#previewBytes = previewBytes;
  }

  get rawHeaders(): readonly string[] {
    if (typeof this.#sent === 'string') this.#sent = readBlock(this.#sent);
    return this.#sent;
  }

  get preview(): Buffer {
    const pieces = this.#pieces.map(({ text, encoding }) => Buffer.from(text, encoding));
    return pieces.length === 1 ? (pieces[0] ?? NOTHING) : Buffer.concat(pieces);
  }

  get previewAscii(): string | null {
    const pieces = this.#pieces;
    return pieces.every(isAscii) ? pieces.map(({ text }) => text).join('') : null;
  }

  noteHeaders(res: ServerResponse, atMs: number): void {
    this.headersAtMs = atMs;
    this.status = res.statusCode;
    this.statusMessage = res.statusMessage;
    const block: unknown = (res as ServerResponse & { _header?: unknown })._header;
    this.#sent = typeof block === 'string' ? block : readTable(res);
  }

  noteChunk(chunk: unknown, given: unknown): void {
    if (typeof chunk === 'string') {
      const encoding = typeof given === 'string' ? (given as BufferEncoding) : 'utf8';
      const bytes = Buffer.byteLength(chunk, encoding);
      const room = this.#count(bytes);
      // A text that is cut would keep the whole of it alive.
      if (bytes <= room && bytes > 0 && encoding === 'utf8') this.#keep(chunk, 'utf8', bytes);
      else if (room > 0) this.#keepBytes(Buffer.from(chunk, encoding), room);
    } else if (chunk instanceof Uint8Array) {
      const room = this.#count(chunk.byteLength);
      if (room > 0)
        this.#keepBytes(
          Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength),
          room,
        );
    }
  }

  #keepBytes(bytes: Buffer, room: number): void {
    const count = Math.min(bytes.length, room);
    this.#keep(bytes.toString('latin1', 0, count), 'latin1', count);
  }

  #keep(text: string, encoding: Piece['encoding'], bytes: number): void {
    this.#pieces.push({ text, encoding });
    this.#kept += bytes;
  }

  /** Counts what goes by; gives the bytes that may still be kept of it. */
  #count(bytes: number): number {
    this.bodyBytes += bytes;
    const room = this.#previewBytes - this.#kept;
    if (bytes > room) this.truncated = true;
    return bytes === 0 ? 0 : room;
  }
}

/** The methods of a response that are replaced, as they were. */
export interface ResponseMethods {
  writeHead: ServerResponse['writeHead'];
  write: ServerResponse['write'];
  end: ServerResponse['end'];
  emit: ServerResponse['emit'];
}

/** What is known of a response that is watched. */
interface Watched {
  context: Context;
  fact: WatchedResponse;
  /** Those that note what goes by are wrapped round these: of several wrapped round each other, one notes. */
  methods: ResponseMethods;
}

type Observed = ServerResponse & { _hasBody?: boolean };

export interface ResponseWatch {
  /** Starts to watch a response; its fact is on the context at once. */
  watch(res: ServerResponse, context: Context): void;
  /** Ends those that can never end by themselves: their client left before their turn on its connection came. */
  sweep(): void;
  /** Takes back what was replaced for all responses of an application. */
  close(): void;
}

export function createResponseWatch(options: ResponseWatchOptions): ResponseWatch {
  const { previewBytes, onHeaders, onClose, tracker } = options;
  /** A property of its own would make each response of Express a hidden class of its own, which costs 3 µs apiece. */
  const watched = new Map<ServerResponse, Watched>();

  /** The methods that note what goes by, and pass everything on to `methods` as it came. */
  function observe(methods: ResponseMethods): ResponseMethods {
    const find = (res: ServerResponse): Watched | undefined => {
      const found = watched.get(res);
      return found?.methods === methods ? found : undefined;
    };
    /** A HEAD, 204 or 304 answer sends no body, whatever is handed to it. */
    const findBody = (res: Observed): WatchedResponse | undefined => {
      const found = res._hasBody === false ? undefined : find(res);
      return found?.context.outline === false ? found.fact : undefined;
    };
    return {
      writeHead: function observedWriteHead(this: Observed, ...args: unknown[]): unknown {
        const result: unknown = Reflect.apply(methods.writeHead, this, args);
        const known = find(this);
        if (known?.fact.headersAtMs === null) {
          known.fact.noteHeaders(this, known.context.elapsedMs());
          onHeaders(known.context);
        }
        return result;
      } as ServerResponse['writeHead'],
      write: function observedWrite(this: Observed, ...args: unknown[]): boolean {
        const result = Reflect.apply(methods.write, this, args) as boolean;
        findBody(this)?.noteChunk(args[0], args[1]);
        return result;
      } as ServerResponse['write'],
      end: function observedEnd(this: Observed, ...args: unknown[]): unknown {
        const { writableEnded } = this;
        const result: unknown = Reflect.apply(methods.end, this, args);
        if (!writableEnded) findBody(this)?.noteChunk(args[0], args[1]);
        return result;
      } as ServerResponse['end'],
      emit: function boundEmit(this: Observed, ...args: Parameters<ServerResponse['emit']>): boolean {
        const context = find(this)?.context;
        if (context === undefined || context.outline || tracker.current() === context)
          return Reflect.apply(methods.emit, this, args);
        return tracker.run(context, () => Reflect.apply(methods.emit, this, args));
      } as ServerResponse['emit'],
    };
  }

  const shared = createSharedMethods(observe);

  function ended(res: ServerResponse, known: Watched): void {
    if (known.fact.outcome !== 'running') return;
    known.fact.outcome = res.writableFinished ? 'finished' : 'aborted';
    onClose(known.context, res.req);
  }

  function observedClose(this: ServerResponse): void {
    const known = watched.get(this);
    if (known === undefined) return;
    ended(this, known);
    watched.delete(this);
  }

  return {
    watch(res, context) {
      // Our own pages show what is stored already: to mask and store it again would cost more than to show it.
      const fact = new WatchedResponse(context.kind === 'profiler' ? 0 : previewBytes);
      context.add('response', fact);
      let methods = shared.of(res);
      if (methods === null) {
        const { writeHead, write, end, emit } = res;
        methods = { writeHead, write, end, emit };
        Object.assign(res, observe(methods));
      }
      watched.set(res, { context, fact, methods });
      res.on('close', observedClose);
    },
    sweep() {
      for (const [res, known] of watched) {
        if (!res.req.destroyed || res.socket !== null || res.headersSent) continue;
        ended(res, known);
        watched.delete(res);
      }
    },
    close() {
      shared.restore();
    },
  };
}
