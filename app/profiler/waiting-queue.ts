/**
 * The queue of profiles to store, oldest first, limited in bytes: when it is full, the oldest are dropped. A list, because a Map keeps
 * deleted entries alive until the next major garbage collection.
 */
import { type ArenaBytes, createByteArena } from './byte-arena.ts';
import type { Fate } from './ledger.ts';
import type { ProfileIndex } from './profile-index.ts';
import type { QueuedProfile, SharedPart, StoredProfile } from './storage.ts';

/** About the heap size of an index row without its long texts. */
const ROW_BYTES = 700;
/** Share that is dropped at once, so that not every new profile moves the whole list. */
const DROP_SHARE = 1 / 64;

export class Waiting implements QueuedProfile {
  readonly index: ProfileIndex;
  readonly shared: readonly SharedPart[];
  readonly stored: ArenaBytes;
  readonly fate: Fate;
  /** Increases by one with each profile. */
  readonly number: number;

  /** `stored`: the document. Sets the `bytes` of its index. */
  constructor(
    { index, shared, fate }: { index: ProfileIndex; shared: readonly SharedPart[]; fate: Fate },
    stored: ArenaBytes,
    number: number,
  ) {
    this.stored = stored;
    this.fate = fate;
    index.bytes = stored.bytes.length;
    this.index = index;
    this.shared = shared;
    this.number = number;
  }

  get bytes(): Buffer {
    return this.stored.bytes;
  }

  get document(): string {
    return this.bytes.toString();
  }

  /** About its size in memory. */
  get size(): number {
    return ROW_BYTES + this.index.url.length + (this.index.error?.length ?? 0) + this.bytes.length;
  }
}

export interface WaitingQueue {
  readonly size: number;
  /** Number of profiles that are being written. */
  readonly writing: number;
  /** Size of all profiles. */
  readonly bytes: number;
  /** Number of the newest profile. */
  readonly last: number;
  /** An earlier version of the same profile stays in the queue before it. */
  add(profile: StoredProfile, shared: readonly SharedPart[], fate: Fate): void;
  /** The latest version. */
  get(token: string): Waiting | undefined;
  values(): Iterable<Waiting>;
  /** Whether a profile with this number or a lower one is queued. */
  waitsUntil(number: number): boolean;
  /** The oldest, to be written: they stay in the queue until `stored` or `failed` is called. */
  take(most: { count: number; bytes: number }): readonly Waiting[];
  stored(): void;
  failed(): void;
  clear(): void;
}

export function createWaitingQueue(maxBytes: number, onDropped: (profile: Waiting) => void): WaitingQueue {
  const arena = createByteArena();
  /** Profiles that are being written come first. */
  const waiting: Waiting[] = [];
  let writing = 0;
  let bytes = 0;
  let last = 0;

  function remove(from: number, count: number): void {
    for (const { size, stored } of waiting.splice(from, count)) {
      bytes -= size;
      stored.free();
    }
  }

  function makeRoom(): void {
    if (bytes <= maxBytes) return;
    let left = bytes;
    let until = writing;
    while (until < waiting.length && left > maxBytes * (1 - DROP_SHARE)) {
      const dropped = waiting[until++];
      if (dropped === undefined) break;
      left -= dropped.size;
      onDropped(dropped);
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
    add({ index, document }, shared, fate) {
      const newest = new Waiting({ index, shared, fate }, arena.write(document), ++last);
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
