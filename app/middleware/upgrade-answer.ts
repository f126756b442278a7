/**
 * What goes out first on a connection that was upgraded: the host writes the head of its answer to the socket itself, `101` or a
 * refusal. `write` and `end` are looked at until that head is whole, and are then what they were.
 */
import type { Duplex } from 'node:stream';
import type { ResponseFact } from '../profiler/facts.ts';

interface AnswerOptions {
  /** Bytes of a refusal's body kept as preview. */
  previewBytes: number;
  /** Milliseconds since the request began. */
  elapsedMs: () => number;
  readBlock: (block: string) => string[];
  /** The head of the answer is out; called once, if ever. */
  onHead: () => void;
}

export interface UpgradeAnswer {
  fact: ResponseFact;
  /** The connection is closed. */
  ended(hadError: boolean): void;
  /** Takes its hands off the socket. */
  release(): void;
}

/** Longer heads are no heads, those of interim answers before them among them. */
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

/** Calls `look` with what goes by; returns what ends that. What somebody has put on top since stays, and goes through. */
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
        // Told of less; the host's bytes go out all the same.
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
    // The last one first: V8 then takes the object back to the shape that it had.
    for (const work of undo.reverse()) work();
  }
  return stop;
}

export function watchUpgradeAnswer(socket: Duplex, options: AnswerOptions): UpgradeAnswer {
  const { previewBytes, elapsedMs, readBlock, onHead } = options;
  const written = (): number => (socket as { bytesWritten?: number }).bytesWritten ?? 0;
  const writtenBefore = written();
  let head = '';
  let headBytes = 0;
  // Replaced at the end: who holds the fact must not hold the socket.
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

  /** Where the answer itself begins: behind `100 Continue`, `103 Early Hints` and their like. */
  function answerStart(): number {
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
      rawHeaders: readBlock(head.slice(start, end + 2)),
      headersAtMs: elapsedMs(),
      preview: isRefusal ? rest.subarray(0, previewBytes) : NOTHING,
      truncated: isRefusal && rest.length > previewBytes,
    });
    onHead();
  }

  const release = watchWrites(socket, (chunk, encoding) => {
    const bytes = bytesOf(chunk, encoding);
    if (bytes === null) return;
    // Of one piece no more than can matter: it may be the whole of what a host has to say.
    head += bytes.subarray(0, LONGEST_HEAD + previewBytes + 1).toString('latin1');
    const start = answerStart();
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
