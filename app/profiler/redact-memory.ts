/**
 * Caches that masking uses across requests, so that it does not repeat work. They exist in the memory of the process only, and are
 * bounded in entries and bytes.
 */

const LATIN1_ONLY = /^[\0-\xff]*$/;
/** V8 copies shorter substrings anyway. */
const SHORTEST_PART = 13;

/** Copies a text, because a cached substring would keep the whole string alive. */
export function copyText(text: string): string {
  if (text.length < SHORTEST_PART) return text;
  const encoding = LATIN1_ONLY.test(text) ? 'latin1' : 'utf16le';
  return Buffer.from(text, encoding).toString(encoding);
}

export interface Memory<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}

/** Two generations of `most` entries: an entry that is read again survives when the older generation is evicted. */
export function createMemory<V>(most: number): Memory<V> {
  let young = new Map<string, V>();
  let old = new Map<string, V>();
  function set(key: string, value: V): void {
    if (young.size >= most) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  }
  return {
    get(key) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    set(key, value) {
      set(copyText(key), value);
    },
  };
}

export interface TextMemory {
  has(text: string): boolean;
  /** Stores a text when it is added for the second time, because most texts occur only once. */
  add(text: string): void;
  /** Size of the stored texts. */
  readonly bytes: number;
}

const SLOTS = 8192;
const MOST_BYTES = 4 * 1024 * 1024;
/** Longer texts are not stored: an upload is not sent twice. */
const LONGEST_TEXT = 16_500;
const BYTES_PER_CHARACTER = 2;
/** Most texts up to this length differ at their ends. */
const SHORT_TEXT = 64;

/** Hashes a few characters only, because hashing a whole page costs as much as scanning it. */
function hashOf(text: string): number {
  const samples = text.length <= SHORT_TEXT ? 8 : 16;
  const step = (text.length - 1) / (samples - 1);
  let hash = text.length;
  for (let sample = 0; sample < samples; sample++) {
    hash = Math.imul(hash ^ text.charCodeAt((sample * step) | 0), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  return hash;
}

/**
 * A table with one slot per hash: a lookup is one comparison, and no untrusted text can make it more. At the byte limit, slots are
 * evicted in turn.
 */
export function createTextMemory(): TextMemory {
  const texts = new Array<string | null>(SLOTS).fill(null);
  const seen = new Int32Array(SLOTS);
  let bytes = 0;
  let hand = 0;

  function put(slot: number, text: string | null): void {
    bytes += ((text?.length ?? 0) - (texts[slot]?.length ?? 0)) * BYTES_PER_CHARACTER;
    texts[slot] = text;
  }

  return {
    has: (text) => texts[hashOf(text) & (SLOTS - 1)] === text,
    add(text) {
      if (text.length > LONGEST_TEXT) return;
      const hash = hashOf(text);
      const slot = hash & (SLOTS - 1);
      if (seen[slot] !== hash) {
        seen[slot] = hash;
        return;
      }
      put(slot, copyText(text));
      while (bytes > MOST_BYTES) {
        put(hand, null);
        hand = (hand + 1) % SLOTS;
      }
    },
    get bytes() {
      return bytes;
    },
  };
}
