/**
 * A response as it is observed, never changed: `writeHead`, `write` and `end` are replaced on this one object by functions
 * that all responses share, which pass their arguments on as they are and note what went by. What is noted is made
 * readable only when it is read: a request that is sampled out is mostly never read.
 */
import type { ServerResponse } from 'node:http';
import type { Context } from '../profiler/context.ts';
import type { ResponseFact } from '../profiler/facts.ts';

export interface ResponseWatchOptions {
  /** Bytes of a body kept as preview. */
  previewBytes: number;
  /** The headers are out; called once. */
  onHeaders: (context: Context) => void;
  /** The answer is over, or its client has gone. */
  onClose: (context: Context) => void;
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

/** What is kept beside a watched response: its fact, and the methods as they were. */
interface Watched {
  context: Context;
  fact: WatchedResponse;
  writeHead: ServerResponse['writeHead'];
  write: ServerResponse['write'];
  end: ServerResponse['end'];
}

/** Starts to watch a response; its fact is on the context at once. */
export type WatchResponse = (res: ServerResponse, context: Context) => void;

export function createResponseWatch(options: ResponseWatchOptions): WatchResponse {
  const { previewBytes, onHeaders, onClose } = options;
  const watchedAs = Symbol('watched response');
  interface Target extends Pick<ServerResponse, 'writableEnded' | 'writableFinished' | 'on'> {
    [watchedAs]: Watched;
    _hasBody?: boolean;
    writeHead: unknown;
    write: unknown;
    end: unknown;
  }

  function observedWriteHead(this: Target & ServerResponse, ...args: unknown[]): unknown {
    const { writeHead, fact, context } = this[watchedAs];
    const result: unknown = Reflect.apply(writeHead, this, args);
    if (fact.headersAtMs === null) {
      fact.noteHeaders(this, context.elapsedMs());
      onHeaders(context);
    }
    return result;
  }

  function observedWrite(this: Target, ...args: unknown[]): boolean {
    const { write, fact } = this[watchedAs];
    const result = Reflect.apply(write, this, args) as boolean;
    // A HEAD, 204 or 304 answer sends no body, whatever is handed to it.
    if (this._hasBody !== false) fact.noteChunk(args[0], args[1]);
    return result;
  }

  function observedEnd(this: Target, ...args: unknown[]): unknown {
    const { end, fact } = this[watchedAs];
    const ended = this.writableEnded;
    const result: unknown = Reflect.apply(end, this, args);
    if (!ended && this._hasBody !== false) fact.noteChunk(args[0], args[1]);
    return result;
  }

  function observedClose(this: Target): void {
    const { fact, context } = this[watchedAs];
    if (fact.outcome !== 'running') return;
    fact.outcome = this.writableFinished ? 'finished' : 'aborted';
    onClose(context);
  }

  return (res, context) => {
    const target: Target = res as never;
    const { writeHead, write, end } = res;
    // Our own pages show what is stored already: to mask and store it again would cost more than to show it.
    const fact = new WatchedResponse(context.kind === 'profiler' ? 0 : previewBytes);
    target[watchedAs] = { context, fact, writeHead, write, end };
    context.add('response', fact);
    target.writeHead = observedWriteHead;
    if (!context.outline) {
      target.write = observedWrite;
      target.end = observedEnd;
    }
    target.on('close', observedClose);
  };
}
