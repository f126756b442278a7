/**
 * Profiles that wait to be stored, oldest first, bounded in bytes: where there is no room, the oldest are dropped. A list, because a
 * Map whose entries come and go keeps them alive until the next major collection.
 */
import type { ProfileIndex } from './profile-index.ts';
import type { QueuedProfile, SharedPart, StoredProfile } from './storage.ts';

/** About what an index row takes on the heap, beside its long texts. */
const ROW_BYTES = 700;
/** Room made at once, so that not each newcomer moves the whole list. */
const DROP_SHARE = 1 / 64;

export class Waiting implements QueuedProfile {
  readonly index: ProfileIndex;
  readonly shared: readonly SharedPart[];
  /** The document, outside the heap. */
  readonly bytes: Buffer;
  /** Counts up with each profile that comes. */
  readonly number: number;

  /** Sets the `bytes` of its index. */
  constructor({ index, document }: StoredProfile, shared: readonly SharedPart[], number: number) {
    this.bytes = Buffer.from(document);
    index.bytes = this.bytes.length;
    this.index = index;
    this.shared = shared;
    this.number = number;
  }

  get document(): string {
    return this.bytes.toString();
  }

  /** About what it takes in memory. */
  get size(): number {
    return ROW_BYTES + this.index.url.length + (this.index.error?.length ?? 0) + this.bytes.length;
  }
}

export interface WaitingQueue {
  readonly size: number;
  /** How many of them are being written. */
  readonly writing: number;
  /** Bytes that all in it take. */
  readonly bytes: number;
  /** The number of the profile that came last. */
  readonly last: number;
  /** One of the same token stays before it, as an earlier version. */
  add(profile: StoredProfile, shared: readonly SharedPart[]): void;
  /** The latest version. */
  get(token: string): Waiting | undefined;
  values(): Iterable<Waiting>;
  /** Whether one waits that has this number or a lower one. */
  waitsUntil(number: number): boolean;
  /** The oldest, to be written: they stay in the queue until it is told how that went. */
  take(most: { count: number; bytes: number }): readonly Waiting[];
  stored(): void;
  failed(): void;
  clear(): void;
}

export function createWaitingQueue(maxBytes: number, onDropped: () => void): WaitingQueue {
  /** Those that are being written come first. */
  const waiting: Waiting[] = [];
  let writing = 0;
  let bytes = 0;
  let last = 0;

  function remove(from: number, count: number): void {
    for (const { size } of waiting.splice(from, count)) bytes -= size;
  }

  function makeRoom(): void {
    if (bytes <= maxBytes) return;
    let left = bytes;
    let until = writing;
    while (until < waiting.length && left > maxBytes * (1 - DROP_SHARE)) {
      left -= waiting[until++]?.size ?? 0;
      onDropped();
    }
    remove(writing, until - writing);
  }

  return {
    get size() {
      return waiting.length;
    },
    get writing() {
      return writing;
    },
    get bytes() {
      return bytes;
    },
    get last() {
      return last;
    },
    add(profile, shared) {
      const newest = new Waiting(profile, shared, ++last);
      waiting.push(newest);
      bytes += newest.size;
      makeRoom();
    },
    get: (token) => waiting.findLast(({ index }) => index.token === token),
    values: () => waiting.values(),
    waitsUntil: (number) => (waiting[0]?.number ?? Infinity) <= number,
    take(most) {
      let taken = 0;
      const end = waiting.findIndex((profile, place) => {
        taken += profile.bytes.length;
        return place === most.count || (place > 0 && taken > most.bytes);
      });
      const batch = waiting.slice(0, end === -1 ? waiting.length : end);
      writing = batch.length;
      return batch;
    },
    stored() {
      remove(0, writing);
      writing = 0;
    },
    failed() {
      writing = 0;
      makeRoom();
    },
    clear() {
      remove(0, waiting.length);
      writing = 0;
    },
  };
}
