/** The recorded part of a response. */
import type { ServerResponse } from 'node:http';
import type { HeaderWrite, RefusedWrite, ResponseFact } from '../profiler/record/facts.ts';
import { beginningOf } from '../profiler/record/plain.ts';
import { createPreview } from '../profiler/record/preview.ts';
import type { HeaderNotes } from './header-writes.ts';

function readHeaderBlock(block: string): string[] {
  const headers: string[] = [];
  for (const line of block.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.push(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}

/** Without a header block, as of a response that an adapter for serverless functions makes. */
function readTable(res: ServerResponse): string[] {
  return res
    .getHeaderNames()
    .flatMap((name) => [res.getHeader(name) ?? ''].flat().flatMap((value) => [name, String(value)]));
}

const NOTHING = Buffer.alloc(0);

/** As many characters of headers as Chrome accepts; Node.js sends more, if an application sets a header to a list of millions. */
const LONGEST_BLOCK = 262_144;

/** Of gzip; a compressor sends it at once, whatever it buffers. */
const HEADER_BYTES = 10;
/** What a compressor of Node.js buffers (`chunkSize`), and then sends without a flush. */
const BUFFER_BYTES = 16_384;

export class WatchedResponse implements ResponseFact {
  status = 0;
  statusMessage = '';
  headersAtMs: number | null = null;
  endedAtMs: number | null = null;
  sentFrom: string | null = null;
  nextFrom: string | null | undefined = undefined;
  bodyBytes = 0;
  preview: Buffer = NOTHING;
  truncated = false;
  isSent = false;
  isErrorPage = false;
  isClosedHere = false;
  pieces = 0;
  outcome: ResponseFact['outcome'] = 'running';
  /** null if the request is sampled out, and outside of routers. */
  headerNotes: HeaderNotes | null = null;
  readonly #previewBytes: number;
  #extendPreview: ((chunk: Buffer) => Buffer) | null = null;
  #sent: string | string[] = [];

  constructor(previewBytes: number) {
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

  noteHeaders(res: ServerResponse, atMs: number): void {
    this.headersAtMs = atMs;
    this.status = res.statusCode;
    const block: unknown = (res as ServerResponse & { _header?: unknown })._header;
    this.statusMessage = res.statusMessage;
    this.#sent = typeof block === 'string' ? beginningOf(block, LONGEST_BLOCK) : readTable(res);
  }

  noteChunk(chunk: unknown, given: unknown): void {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    // Node refuses an unknown encoding itself, when the bytes are sent.
    const encoding = typeof given === 'string' && Buffer.isEncoding(given) ? given : 'utf8';
    const size = Buffer.byteLength(chunk, encoding);
    this.bodyBytes += size;
    if (size > HEADER_BYTES && size < BUFFER_BYTES) this.pieces++;
    if (this.isErrorPage) return;
    if (this.preview.length < this.#previewBytes) {
      const bytes =
        typeof chunk === 'string'
          ? Buffer.from(chunk, encoding)
          : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      this.#extendPreview ??= createPreview(this.#previewBytes);
      this.preview = this.#extendPreview(bytes);
    }
    this.truncated = this.bodyBytes > this.preview.length;
  }
}
