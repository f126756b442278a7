/**
 * The response on an upgraded connection: the host writes its head to the socket itself, `101` or a refusal. `write` and `end` are
 * observed until the head is complete, and then restored.
 */
import type { Duplex } from 'node:stream';
import type { ResponseFact } from '../profiler/facts.ts';
import { readHeaderBlock } from './header-block.ts';

interface ResponseOptions {
  /** Bytes of a refusal's body stored as preview. */
  previewBytes: number;
  /** Milliseconds since the request began. */
  elapsedMs: () => number;
  /** The head of the response was sent; called at most once. */
  onHead: () => void;
}

export interface UpgradeResponse {
  fact: ResponseFact;
  /** The connection is closed. */
  ended(hadError: boolean): void;
  /** Restores the socket. */
  release(): void;
}

/** Anything longer is not a head, including interim responses before it. */
const LONGEST_HEAD = 16_384;
const FIRST_LINE = /^HTTP\/\d\.\d (\d{3})(?: ([^\r\n]*))?\r\n/;
const HEAD_END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);
const SWITCHING = 101;
const OK = 200;

type Write = (...args: unknown[]) => unknown;

function bytesOf(chunk: unknown, encoding: unknown): Buffer | null {
  if (typeof chunk === 'string')
    return Buffer.from(
      chunk,
      typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8',
    );
  if (!(chunk instanceof Uint8Array)) return null;
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/**
 * Calls `look` with each write; returns the function that stops it. A wrapper that somebody has added since stays, and passes
 * through.
 */
function watchWrites(socket: Duplex, look: (chunk: unknown, encoding: unknown) => void): () => void {
  let on = true;
  const holder = socket as unknown as Record<'write' | 'end', Write>;
  const undo = (['write', 'end'] as const).map((name) => {
    const own = Object.getOwnPropertyDescriptor(socket, name);
    const before = holder[name];
    function observed(this: unknown, ...args: unknown[]): unknown {
      try {
        if (on) look(args[0], args[1]);
      } catch {
        // Less is recorded; the host's bytes are sent all the same.
        stop();
      }
      return Reflect.apply(before, this, args);
    }
    Object.defineProperty(socket, name, {
      value: observed,
      writable: true,
      enumerable: false,
      configurable: true,
    });
    return () => {
      if (holder[name] !== observed) return;
      if (own === undefined) Reflect.deleteProperty(socket, name);
      else Object.defineProperty(socket, name, own);
    };
  });
  function stop(): void {
    if (!on) return;
    on = false;
    // In reverse order, so that V8 returns the object to its former hidden class.
    for (const work of undo.reverse()) work();
  }
  return stop;
}

export function watchUpgradeResponse(socket: Duplex, options: ResponseOptions): UpgradeResponse {
  const { previewBytes, elapsedMs, onHead } = options;
  const written = (): number => (socket as { bytesWritten?: number }).bytesWritten ?? 0;
  const writtenBefore = written();
  let head = '';
  let headBytes = 0;
  // Replaced at the end, so that the fact does not keep the socket alive.
  let count = (): number => (headBytes === 0 ? 0 : Math.max(0, written() - writtenBefore - headBytes));
  const fact: ResponseFact = {
    status: 0,
    statusMessage: '',
    rawHeaders: [],
    headersAtMs: null,
    get bodyBytes() {
      return count();
    },
    preview: NOTHING,
    truncated: false,
    outcome: 'running',
  };

  /** Where the final response begins: after `100 Continue`, `103 Early Hints` and the like. */
  function responseStart(): number {
    for (let at = 0; ;) {
      const status = Number(FIRST_LINE.exec(head.slice(at))?.[1]);
      const end = head.indexOf(HEAD_END, at);
      if (!(status < OK) || status === SWITCHING || end === -1) return at;
      at = end + HEAD_END.length;
    }
  }

  function takeHead(start: number, end: number): void {
    const [, status, phrase = ''] = FIRST_LINE.exec(head.slice(start)) ?? [];
    if (status === undefined) return;
    headBytes = end + HEAD_END.length;
    const rest = Buffer.from(head.slice(headBytes), 'latin1');
    const isRefusal = Number(status) !== SWITCHING;
    Object.assign(fact, {
      status: Number(status),
      statusMessage: phrase,
      rawHeaders: readHeaderBlock(head.slice(start, end + 2)),
      headersAtMs: elapsedMs(),
      preview: isRefusal ? rest.subarray(0, previewBytes) : NOTHING,
      truncated: isRefusal && rest.length > previewBytes,
    });
    onHead();
  }

  const release = watchWrites(socket, (chunk, encoding) => {
    const bytes = bytesOf(chunk, encoding);
    if (bytes === null) return;
    // Read no more of one piece than can matter: it may be the host's whole response.
    head += bytes.subarray(0, LONGEST_HEAD + previewBytes + 1).toString('latin1');
    const start = responseStart();
    const end = head.indexOf(HEAD_END, start);
    if (end === -1 && head.length < LONGEST_HEAD) return;
    release();
    if (end !== -1) takeHead(start, end);
    head = '';
  });

  return {
    fact,
    release,
    ended(hadError) {
      release();
      const bytes = count();
      count = () => bytes;
      fact.outcome = hadError || fact.headersAtMs === null ? 'aborted' : 'finished';
    },
  };
}
