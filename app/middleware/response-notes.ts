/** The recorded part of a response. It is decoded only when it is read, because sampled-out requests are rarely read. */
import type { ServerResponse } from 'node:http';
import type { HeaderWrite, RefusedWrite, ResponseFact } from '../profiler/facts.ts';
import type { HeaderNotes } from './header-writes.ts';

function readHeaderBlock(block: string): string[] {
  const headers: string[] = [];
  for (const line of block.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.push(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}

/**
 * A stored piece of a body: text as given, anything else byte by byte as latin1. Bytes copied to strings cost half of Buffers, and
 * most are read as text.
 */
interface Piece {
  text: string;
  encoding: 'utf8' | 'latin1';
}

const NOTHING = Buffer.alloc(0);

/** Without a header block, as of a response that an adapter for serverless functions makes. */
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
}

export class WatchedResponse implements ResponseFact {
  status = 0;
  statusMessage = '';
  headersAtMs: number | null = null;
  endedAtMs: number | null = null;
  sentFrom: string | null = null;
  nextFrom: string | null | undefined = undefined;
  bodyBytes = 0;
  truncated = false;
  isSent = false;
  isErrorPage = false;
  outcome: ResponseFact['outcome'] = 'running';
  /** null if the request is sampled out, and outside of routers. */
  headerNotes: HeaderNotes | null = null;
  readonly #previewBytes: number;
  #sent: string | string[] = [];
  readonly #pieces: Piece[] = [];
  #stored = 0;

  constructor({ previewBytes }: ResponseNotesOptions) {
    this.#previewBytes = previewBytes;
  }

  get headerWrites(): readonly HeaderWrite[] | undefined {
    return this.headerNotes?.writes;
  }

  get refused(): readonly RefusedWrite[] | undefined {
    return this.headerNotes?.refused;
  }

  get rawHeaders(): readonly string[] {
    if (typeof this.#sent === 'string') this.#sent = readHeaderBlock(this.#sent);
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
    const block: unknown = (res as ServerResponse & { _header?: unknown })._header;
    this.statusMessage = res.statusMessage;
    this.#sent = typeof block === 'string' ? block : readTable(res);
  }

  noteChunk(chunk: unknown, given: unknown): void {
    if (typeof chunk === 'string') {
      // Node refuses an unknown encoding itself, when the bytes are sent.
      const encoding = typeof given === 'string' && Buffer.isEncoding(given) ? given : 'utf8';
      const bytes = Buffer.byteLength(chunk, encoding);
      const room = this.#count(bytes);
      // A slice of the text would keep the whole text alive.
      if (bytes <= room && bytes > 0 && encoding === 'utf8') this.#store(chunk, 'utf8', bytes);
      else if (room > 0) this.#storeBytes(Buffer.from(chunk, encoding), room);
    } else if (chunk instanceof Uint8Array) {
      const room = this.#count(chunk.byteLength);
      if (room > 0)
        this.#storeBytes(
          Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength),
          room,
        );
    }
  }

  #storeBytes(bytes: Buffer, room: number): void {
    const count = Math.min(bytes.length, room);
    this.#store(bytes.toString('latin1', 0, count), 'latin1', count);
  }

  #store(text: string, encoding: Piece['encoding'], bytes: number): void {
    this.#pieces.push({ text, encoding });
    this.#stored += bytes;
  }

  #count(bytes: number): number {
    this.bodyBytes += bytes;
    if (this.isErrorPage) return 0;
    const room = this.#previewBytes - this.#stored;
    if (bytes > room) this.truncated = true;
    return bytes === 0 ? 0 : room;
  }
}
