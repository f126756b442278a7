/** Profiles that wait to be stored, oldest first, bounded in bytes: where there is no room, the oldest are dropped. */
import type { ProfileIndex } from './profile-index.ts';
import type { QueuedProfile, SharedPart, StoredProfile } from './storage.ts';

/** About what an index row takes on the heap, beside its long texts. */
const ROW_BYTES = 700;
/** Room made at once, so that not each newcomer searches for the next one to go. */
const DROP_SHARE = 1 / 64;

export class Waiting implements QueuedProfile {
  readonly index: ProfileIndex;
  readonly shared: readonly SharedPart[];
  /** The document, outside the heap. */
  readonly bytes: Buffer;
  /** Counts up with each profile that comes. */
  readonly number: number;
  isBeingWritten = false;

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
  /** Bytes that all in it take. */
  readonly bytes: number;
  /** The number of the profile that came last. */
  readonly last: number;
  /** Replaces one of the same token. */
  add(profile: StoredProfile, shared: readonly SharedPart[]): void;
  get(token: string): Waiting | undefined;
  values(): Iterable<Waiting>;
  /** Whether one waits that has this number or a lower one. */
  waitsUntil(number: number): boolean;
  /** The oldest, to be written: they stay in the queue until they are stored. */
  take(most: { count: number; bytes: number }): Waiting[];
  /** They wait again, in their places. */
  putBack(batch: readonly Waiting[]): void;
  remove(batch: readonly Waiting[]): void;
  clear(): void;
}

export function createWaitingQueue(maxBytes: number, onDropped: () => void): WaitingQueue {
  /** By token, in the order of arrival. */
  const waiting = new Map<string, Waiting>();
  let bytes = 0;
  let last = 0;

  /** Nothing happens where a later version has taken its place. */
  function removeOne(profile: Waiting): void {
    if (waiting.get(profile.index.token) !== profile) return;
    waiting.delete(profile.index.token);
    bytes -= profile.size;
  }

  function makeRoom(): void {
    if (bytes <= maxBytes) return;
    for (const profile of waiting.values()) {
      if (bytes <= maxBytes * (1 - DROP_SHARE)) return;
      if (profile.isBeingWritten) continue;
      removeOne(profile);
      onDropped();
    }
  }

  return {
    get size() {
      return waiting.size;
    },
    get bytes() {
      return bytes;
    },
    get last() {
      return last;
    },
    add(given, shared) {
      const profile = new Waiting(given, shared, ++last);
      const before = waiting.get(given.index.token);
      if (before !== undefined) removeOne(before);
      waiting.set(given.index.token, profile);
      bytes += profile.size;
      makeRoom();
    },
    get: (token) => waiting.get(token),
    values: () => waiting.values(),
    waitsUntil(number) {
      for (const oldest of waiting.values()) return oldest.number <= number;
      return false;
    },
    take(most) {
      const batch: Waiting[] = [];
      let taken = 0;
      for (const profile of waiting.values()) {
        taken += profile.bytes.length;
        if (batch.length === most.count || (batch.length > 0 && taken > most.bytes)) break;
        profile.isBeingWritten = true;
        batch.push(profile);
      }
      return batch;
    },
    putBack(batch) {
      for (const profile of batch) profile.isBeingWritten = false;
      makeRoom();
    },
    remove(batch) {
      for (const profile of batch) removeOne(profile);
    },
    clear() {
      waiting.clear();
      bytes = 0;
    },
  };
}
