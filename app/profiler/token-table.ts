/**
 * Where those who wait stand, by their token: an open-addressed table of numbers, outside the heap. Thousands wait at once, and an
 * object by token would cost a hundred bytes of the heap for each, of which V8 makes four hundred.
 *
 * It keeps no tokens, only what they come to; whoever asks can tell which one stands at a place.
 */

export interface TokenTable {
  /** The place of a token; -1: it has none. */
  find(token: string): number;
  /** It has none yet. */
  set(token: string, place: number): void;
  /** Nothing happens where it has none. */
  delete(token: string): void;
}

const SMALLEST = 64;

/** FNV-1a over its characters. */
function hashOf(token: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < token.length; at++) hash = Math.imul(hash ^ token.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** `tokenAt`: who stands at a place that was set. */
export function createTokenTable(tokenAt: (place: number) => string): TokenTable {
  let hashes = new Uint32Array(SMALLEST);
  /** Places, and one more: 0 is nobody. A place grows with all that ever came, beyond 32 bits. */
  let places = new Float64Array(SMALLEST);
  let size = 0;

  const next = (at: number): number => (at + 1) & (hashes.length - 1);

  function put(hash: number, place: number): void {
    let at = hash & (hashes.length - 1);
    while (places[at] !== 0) at = next(at);
    hashes[at] = hash;
    places[at] = place;
  }

  function resize(length: number): void {
    const [oldHashes, oldPlaces] = [hashes, places];
    hashes = new Uint32Array(length);
    places = new Float64Array(length);
    for (const [at, place] of oldPlaces.entries()) if (place !== 0) put(oldHashes[at] ?? 0, place);
  }

  /** Where a token stands in the table; -1: nowhere. */
  function indexOf(token: string): number {
    const hash = hashOf(token);
    for (let at = hash & (hashes.length - 1); ; at = next(at)) {
      const place = places[at] ?? 0;
      if (place === 0) return -1;
      if (hashes[at] === hash && tokenAt(place - 1) === token) return at;
    }
  }

  /** Those behind a gap move up, unless they would come before where their search begins. */
  function close(gap: number): void {
    const mask = hashes.length - 1;
    for (let at = next(gap); places[at] !== 0; at = next(at)) {
      const home = (hashes[at] ?? 0) & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      hashes[gap] = hashes[at] ?? 0;
      places[gap] = places[at] ?? 0;
      gap = at;
    }
    places[gap] = 0;
  }

  return {
    find(token) {
      const at = indexOf(token);
      return at === -1 ? -1 : (places[at] ?? 0) - 1;
    },
    set(token, place) {
      if (++size * 2 > hashes.length) resize(hashes.length * 2);
      put(hashOf(token), place + 1);
    },
    delete(token) {
      const at = indexOf(token);
      if (at === -1) return;
      close(at);
      size--;
      if (hashes.length > SMALLEST && size * 8 < hashes.length) resize(hashes.length / 2);
    },
  };
}
