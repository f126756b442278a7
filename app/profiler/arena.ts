/**
 * Texts that wait, kept as UTF-8 outside the heap: in chunks of shared memory, which a thread reads without a copy and the
 * garbage collector never moves. A chunk is used again when everything in it has been let go.
 *
 * A text is known by a number, not by an object: thousands wait at once, and V8 lets the heap grow to four times what lives.
 */

/** Where a text lies in its arena: the number of its chunk, times the size of a chunk, plus where it begins there. */
export type Slot = number;

interface Chunk {
  readonly memory: Buffer;
  /** Where the next text begins. */
  end: number;
  /** Texts in it that are still held. */
  held: number;
}

export interface Arena {
  put(text: string): Slot;
  /** A view on the text's bytes, in shared memory. */
  bytesOf(slot: Slot): Buffer;
  textOf(slot: Slot): string;
  /** In bytes. */
  lengthOf(slot: Slot): number;
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
/** Before each text: its length. */
const LENGTH_BYTES = 4;

const encoder = new TextEncoder();

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
  /** By number; those of chunks that were let go are given again. */
  const chunks: (Chunk | null)[] = [];
  let current = -1;
  let bytes = 0;

  function open(size: number): number {
    const spare = size === chunkBytes ? pool.take() : undefined;
    const chunk = spare ?? { memory: Buffer.from(new SharedArrayBuffer(size)), end: 0, held: 0 };
    const unused = chunks.indexOf(null);
    if (unused === -1) return chunks.push(chunk) - 1;
    chunks[unused] = chunk;
    return unused;
  }

  /** -1 where the text does not fit any more. */
  function append(number: number, text: string): Slot {
    const chunk = chunks[number];
    if (chunk === null || chunk === undefined) return -1;
    const { end, memory } = chunk;
    const begin = end + LENGTH_BYTES;
    if (memory.length - begin < text.length) return -1;
    const { read, written } = encoder.encodeInto(text, memory.subarray(begin));
    if (read < text.length) return -1;
    memory.writeUInt32LE(written, end);
    if (chunk.held === 0) bytes += memory.length;
    chunk.held++;
    chunk.end = begin + written;
    return number * chunkBytes + end;
  }

  function chunkOf(slot: Slot): Chunk {
    const chunk = chunks[Math.floor(slot / chunkBytes)];
    if (chunk === null || chunk === undefined) throw new Error('A text that was let go can not be read.');
    return chunk;
  }

  return {
    get bytes() {
      return bytes;
    },
    put(text) {
      const slot = append(current, text);
      if (slot !== -1) return slot;
      const needed = Buffer.byteLength(text) + LENGTH_BYTES;
      const number = open(Math.max(chunkBytes, needed));
      // What has a chunk of its own leaves the current one for those that fit.
      if (needed <= chunkBytes) current = number;
      const placed = append(number, text);
      if (placed === -1) throw new Error(`A text of ${needed} bytes does not fit into its chunk.`);
      return placed;
    },
    bytesOf(slot) {
      const { memory } = chunkOf(slot);
      const at = slot % chunkBytes;
      return memory.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + memory.readUInt32LE(at));
    },
    textOf(slot) {
      const { memory } = chunkOf(slot);
      const at = slot % chunkBytes;
      return memory.toString('utf8', at + LENGTH_BYTES, at + LENGTH_BYTES + memory.readUInt32LE(at));
    },
    lengthOf: (slot) => chunkOf(slot).memory.readUInt32LE(slot % chunkBytes),
    free(slot) {
      const chunk = chunkOf(slot);
      chunk.held--;
      if (chunk.held > 0) return;
      bytes -= chunk.memory.length;
      chunk.end = 0;
      const number = Math.floor(slot / chunkBytes);
      if (number === current) return;
      chunks[number] = null;
      if (chunk.memory.length === chunkBytes) pool.give(chunk);
    },
  };
}
