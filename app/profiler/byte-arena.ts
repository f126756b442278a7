/**
 * Documents in a few buffers that are reused. A Buffer per document takes memory from when it is dropped until the next major garbage
 * collection: at thousands per second that is several times of what is in use.
 *
 * What an unusual load takes beyond the usual is given back to the system. A chunk that is freed would stay with malloc, so these chunks
 * are parts of slabs, which are so large that each has pages of its own; pages that were not written to take no memory.
 */

/** About twenty usual documents. */
const CHUNK_BYTES = 256 * 1024;
/** Kept for good: what 2,000 requests per second have waiting at a time. */
const USUAL_CHUNKS = 16;
/** More than the largest block that glibc takes from its heap (M_MMAP_THRESHOLD grows to 32 MiB). */
const SLAB_CHUNKS = 132;
/** A chunk with a smaller share in use is worth emptying. */
const SPARSE = 0.5;

interface Chunk {
  readonly buffer: Buffer;
  /** null: a usual one. */
  readonly slab: Slab | null;
  /** Bytes in use. */
  used: number;
}

interface Slab {
  readonly buffer: Buffer;
  /** Chunks that were cut from it. */
  cut: number;
  /** Those of them that are in use. */
  inUse: number;
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
  /** Usual ones last, to be taken first. */
  let empty: Chunk[] = [];
  let slab: Slab | null = null;
  let usual = 0;
  let current: Chunk | null = null;
  /** Bytes of `current` that were given out, from its beginning. */
  let filled = 0;

  function createChunk(): Chunk {
    if (usual < USUAL_CHUNKS) {
      usual++;
      return { buffer: Buffer.allocUnsafeSlow(CHUNK_BYTES), slab: null, used: 0 };
    }
    if (slab === null || slab.cut === SLAB_CHUNKS)
      slab = { buffer: Buffer.allocUnsafeSlow(SLAB_CHUNKS * CHUNK_BYTES), cut: 0, inUse: 0 };
    const from = CHUNK_BYTES * slab.cut++;
    return { buffer: slab.buffer.subarray(from, from + CHUNK_BYTES), slab, used: 0 };
  }

  function nextChunk(): Chunk {
    if (current?.used === 0) release(current);
    const chunk = empty.pop() ?? createChunk();
    if (chunk.slab !== null) chunk.slab.inUse++;
    chunks.add(chunk);
    filled = 0;
    return (current = chunk);
  }

  function release(chunk: Chunk): void {
    if (chunk.slab === null) {
      empty.push(chunk);
      return;
    }
    empty.unshift(chunk);
    if (--chunk.slab.inUse === 0) dropSlab(chunk.slab);
  }

  function dropSlab(dropped: Slab): void {
    if (slab === dropped) slab = null;
    empty = empty.filter((chunk) => chunk.slab !== dropped);
    for (const chunk of chunks) if (chunk.slab === dropped) chunks.delete(chunk);
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
        if (chunk === current && chunk.slab === null) {
          filled = 0;
          return;
        }
        // What comes next must not keep a slab.
        if (chunk === current) current = null;
        release(chunk);
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
