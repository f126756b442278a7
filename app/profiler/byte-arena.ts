/**
 * Documents in a few buffers that are reused. A Buffer per document takes memory from when it is dropped until the next major garbage
 * collection: at thousands per second that is several times of what is in use.
 */

/** About twenty usual documents. */
const CHUNK_BYTES = 256 * 1024;
/** A chunk with a smaller share in use is worth emptying. */
const SPARSE = 0.5;

interface Chunk {
  readonly buffer: Buffer;
  /** Bytes in use. */
  used: number;
}

/** The bytes of one document. */
export interface ArenaBytes {
  /** Valid until `free`. */
  readonly bytes: Buffer;
  /** Most of its chunk is unused: to copy it elsewhere makes memory reusable. */
  isSparse(): boolean;
  /** To be called once. */
  free(): void;
}

export interface ByteArena {
  /** Stores a text as UTF-8. */
  write(text: string): ArenaBytes;
  copy(bytes: Uint8Array): ArenaBytes;
  /** Bytes of its chunks that are not in use, except in the chunk that is being filled. */
  unused(): number;
}

export function createByteArena(): ByteArena {
  const chunks = new Set<Chunk>();
  const empty: Chunk[] = [];
  let current: Chunk | null = null;
  /** Bytes of `current` that were given out, from its beginning. */
  let filled = 0;

  function nextChunk(): Chunk {
    if (current?.used === 0) empty.push(current);
    const chunk = empty.pop() ?? { buffer: Buffer.allocUnsafeSlow(CHUNK_BYTES), used: 0 };
    chunks.add(chunk);
    filled = 0;
    return (current = chunk);
  }

  function allocate(length: number): ArenaBytes {
    // A large one would leave most of a chunk unused.
    if (length > CHUNK_BYTES / 4)
      return { bytes: Buffer.allocUnsafeSlow(length), isSparse: () => false, free: () => undefined };
    const chunk = current === null || filled + length > CHUNK_BYTES ? nextChunk() : current;
    const at = filled;
    filled += length;
    chunk.used += length;
    return {
      bytes: chunk.buffer.subarray(at, at + length),
      isSparse: () => chunk !== current && chunk.used < CHUNK_BYTES * SPARSE,
      free() {
        chunk.used -= length;
        if (chunk.used > 0) return;
        if (chunk === current) filled = 0;
        else empty.push(chunk);
      },
    };
  }

  return {
    write(text) {
      const stored = allocate(Buffer.byteLength(text));
      stored.bytes.write(text);
      return stored;
    },
    copy(bytes) {
      const stored = allocate(bytes.length);
      stored.bytes.set(bytes);
      return stored;
    },
    unused() {
      let bytes = 0;
      for (const chunk of chunks) if (chunk !== current) bytes += CHUNK_BYTES - chunk.used;
      return bytes;
    },
  };
}
