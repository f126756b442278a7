/**
 * Texts that wait, kept as UTF-8 outside the heap: in chunks of shared memory, which a thread reads without a copy and the
 * garbage collector never moves. A chunk is used again when everything in it has been let go.
 */

/** A text in the arena. */
export interface Slot {
  readonly chunk: Chunk;
  readonly offset: number;
  readonly length: number;
}

interface Chunk {
  readonly memory: Buffer;
  /** Where the next text begins. */
  end: number;
  /** Texts in it that are still held. */
  held: number;
}

export interface Arena {
  put(text: string): Slot;
  /** The text's memory is used again from here on. */
  free(slot: Slot): void;
  /** Bytes of the chunks that hold something. */
  readonly bytes: number;
}

/** Empty chunks that are kept for what comes next, by one arena or several. */
export interface ChunkPool {
  readonly chunkBytes: number;
  take(): Chunk | undefined;
  /** Kept where there is room for it. */
  give(chunk: Chunk): void;
}

/** Bytes of empty chunks that are kept. */
const SPARE_BYTES = 2 * 1024 * 1024;

const encoder = new TextEncoder();

/** A view on the text's bytes, in shared memory. */
export function bytesOf({ chunk, offset, length }: Slot): Buffer {
  return chunk.memory.subarray(offset, offset + length);
}

export function textOf({ chunk, offset, length }: Slot): string {
  return chunk.memory.toString('utf8', offset, offset + length);
}

export function createChunkPool(chunkBytes: number): ChunkPool {
  const spare: Chunk[] = [];
  return {
    chunkBytes,
    take: () => spare.pop(),
    give(chunk) {
      if ((spare.length + 1) * chunkBytes <= SPARE_BYTES) spare.push(chunk);
    },
  };
}

/** A text longer than `chunkBytes` gets a chunk of its own. */
export function createArena(pool: ChunkPool): Arena {
  const { chunkBytes } = pool;
  let current: Chunk | null = null;
  let bytes = 0;

  function open(size: number): Chunk {
    const chunk = size === chunkBytes ? pool.take() : undefined;
    return chunk ?? { memory: Buffer.from(new SharedArrayBuffer(size)), end: 0, held: 0 };
  }

  /** Null where the text does not fit any more. */
  function append(chunk: Chunk, text: string): Slot | null {
    const { end: offset, memory } = chunk;
    if (memory.length - offset < text.length) return null;
    const { read, written } = encoder.encodeInto(text, memory.subarray(offset));
    if (read < text.length) return null;
    if (chunk.held === 0) bytes += memory.length;
    chunk.held++;
    chunk.end = offset + written;
    return { chunk, offset, length: written };
  }

  return {
    get bytes() {
      return bytes;
    },
    put(text) {
      const slot = current === null ? null : append(current, text);
      if (slot !== null) return slot;
      const needed = Buffer.byteLength(text);
      const chunk = open(Math.max(chunkBytes, needed));
      // What has a chunk of its own leaves the current one for those that fit.
      if (needed <= chunkBytes) current = chunk;
      const placed = append(chunk, text);
      if (placed === null)
        throw new Error(`A text of ${needed} bytes does not fit into ${chunk.memory.length}.`);
      return placed;
    },
    free({ chunk }) {
      chunk.held--;
      if (chunk.held > 0) return;
      bytes -= chunk.memory.length;
      chunk.end = 0;
      if (chunk !== current && chunk.memory.length === chunkBytes) pool.give(chunk);
    },
  };
}
