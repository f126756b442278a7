/**
 * What is noted of a response while it goes by, made readable only when it is read: a request that is sampled out is mostly
 * never read.
 */
import type { ServerResponse } from 'node:http';
import type { HeaderWrite, RefusedWrite, ResponseFact } from '../profiler/facts.ts';
import type { HeaderNotes } from './header-writes.ts';

/**
 * A piece of a body that was kept: text as it was given, anything else byte by byte as latin1. Copies of bytes as
 * strings cost half of what Buffers do, and most are read as text.
 */
interface Piece {
  text: string;
  encoding: 'utf8' | 'latin1';
}

const NOTHING = Buffer.alloc(0);

/** Where no block of text is known, as under HTTP/2. */
function readTable(res: ServerResponse): string[] {
  return res
    .getHeaderNames()
    .flatMap((name) => [res.getHeader(name) ?? ''].flat().flatMap((value) => [name, String(value)]));
}

function isAscii({ text }: Piece): boolean {
  return Buffer.byteLength(text, 'utf8') === text.length;
}

interface ResponseNotesOptions {
  previewBytes: number;
  readBlock: (block: string) => string[];
}

export class WatchedResponse implements ResponseFact {
  status = 0;
  statusMessage = '';
  headersAtMs: number | null = null;
  bodyBytes = 0;
  truncated = false;
  isSent = false;
  outcome: ResponseFact['outcome'] = 'running';
  /** null where the request is sampled out, and where no layers run. */
  headerNotes: HeaderNotes | null = null;
  readonly #previewBytes: number;
  readonly #readBlock: (block: string) => string[];
  #sent: string | string[] = [];
  readonly #pieces: Piece[] = [];
  #kept = 0;

  constructor({ previewBytes, readBlock }: ResponseNotesOptions) {
    this.#previewBytes = previewBytes;
    this.#readBlock = readBlock;
  }

  get headerWrites(): readonly HeaderWrite[] | undefined {
    return this.headerNotes?.writes;
  }

  get refused(): readonly RefusedWrite[] | undefined {
    return this.headerNotes?.refused;
  }

  get rawHeaders(): readonly string[] {
    if (typeof this.#sent === 'string') this.#sent = this.#readBlock(this.#sent);
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
      // An unknown one is Node's to refuse, which it does only when the bytes go out.
      const encoding = typeof given === 'string' && Buffer.isEncoding(given) ? given : 'utf8';
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
