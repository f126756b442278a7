/**
 * Profiles that wait to be stored, bounded in bytes, oldest first.
 *
 * A profile is an object while it has its detail or is being written; else it is the text of its index row, and its place in
 * the line a number. When the queue is full, the oldest profiles of kind `profiler` go, then the oldest others lose their
 * detail (panels and findings; what lists show stays), and only then whole ones are dropped.
 */
import { createArena, createChunkPool, type Slot } from './arena.ts';
import type { QueuedProfile, SharedPart, StoredProfile } from './storage.ts';
import { createLine } from './waiting-line.ts';
import { Outline, packRow, tokenOfRow, Waiting } from './waiting-profile.ts';

export interface WaitingQueue {
  readonly size: number;
  /** Bytes that all in it take. */
  readonly bytes: number;
  /** Those of documents alone. */
  readonly documentBytes: number;
  /** The place of the last one that came. */
  readonly last: number;
  /** Replaces one of the same token; sets the `bytes` of its index. */
  add(profile: StoredProfile, shared: readonly SharedPart[]): void;
  get(token: string): QueuedProfile | undefined;
  values(): Iterable<QueuedProfile>;
  /** Whether one waits at this place or before it. */
  waitsUntil(place: number): boolean;
  /** The oldest, to be written: they stay, and their bytes are left alone, until they are given back or let go. */
  take(most: { count: number; bytes: number }): Waiting[];
  /** What could not be stored waits again, in its place. */
  giveBack(batch: readonly Waiting[]): void;
  letGo(batch: readonly Waiting[]): void;
  /** All that is not being written goes. */
  dropAll(): void;
}

export interface QueueOptions {
  maxBytes: number;
  /** One has lost its detail, as there was no room. */
  onShed: () => void;
  onDropped: (why: 'queue full' | 'shut down') => void;
}

const CHUNK_BYTES = 256 * 1024;
/** Of a full queue the newest part that keeps its detail: somebody may be looking at it. */
const DETAIL_SHARE = 1 / 2;
/** Room made at once where whole profiles are dropped, so that not each newcomer searches for the next. */
const DROP_SHARE = 1 / 64;
/** Of one that waits as text: its place in the line and in the table of tokens. */
const PLACE_BYTES = 40;

export function createWaitingQueue({ maxBytes, onShed, onDropped }: QueueOptions): WaitingQueue {
  const pool = createChunkPool(Math.min(CHUNK_BYTES, Math.ceil(maxBytes / 64)));
  const documents = createArena(pool);
  /** Index rows of those whose detail was shed. */
  const rows = createArena(pool);
  /** In the order of arrival; what is being written stays until it is stored. */
  const line = createLine<Waiting | Slot>((item) =>
    typeof item === 'number' ? tokenOfRow(rows.textOf(item)) : item.index.token,
  );
  /** All before this place have no detail, or keep it: they are being written, or are the profiler's own. */
  let shedFrom = 0;
  /** How many of the profiler's own wait. */
  let own = 0;
  /** Bytes that all in the line take beside the arenas. */
  let placeBytes = 0;
  /** Those of the latest profile: mostly the next one has the same. */
  let latestShared: readonly SharedPart[] = [];

  const used = (): number => documents.bytes + rows.bytes + placeBytes;
  const isWriting = (item: Waiting | Slot): boolean => typeof item !== 'number' && item.writing;

  /** Takes a profile out of the line; its bytes stay while they are being written. */
  function remove(place: number, item: Waiting | Slot): void {
    line.remove(place);
    if (typeof item === 'number') {
      placeBytes -= PLACE_BYTES;
      rows.free(item);
      return;
    }
    if (item.isOwn) own--;
    placeBytes -= item.heapBytes;
    if (!item.writing) item.release();
  }

  function sharedOf(given: readonly SharedPart[]): readonly SharedPart[] {
    const isSame =
      given.length === latestShared.length && given.every((part, at) => part === latestShared[at]);
    if (!isSame) latestShared = [...given];
    return latestShared;
  }

  /** Keeps of a profile what lists show, in its place. */
  function pack(waiting: Waiting): void {
    const row = packRow(waiting.index);
    waiting.release();
    line.replace(waiting.place, rows.put(row));
    placeBytes += PLACE_BYTES - waiting.heapBytes;
  }

  /** The profile that a row is stored as, in its place. */
  function unpack(place: number, slot: Slot): Waiting {
    const waiting = new Waiting(new Outline(rows.textOf(slot)), documents);
    waiting.place = place;
    rows.free(slot);
    line.replace(place, waiting);
    placeBytes += waiting.heapBytes - PLACE_BYTES;
    return waiting;
  }

  /** The next one at this place or behind it, and where it stands. */
  function* from(place = 0): Generator<[place: number, item: Waiting | Slot]> {
    for (let at = line.next(place); at !== -1; at = line.next(at + 1)) {
      const item = line.at(at);
      if (item !== undefined) yield [at, item];
    }
  }

  function drop(place: number, item: Waiting | Slot): void {
    remove(place, item);
    onDropped('queue full');
  }

  /** Until there is room; of the profiler's own. */
  function dropOwn(): void {
    for (const [place, item] of from()) {
      if (used() <= maxBytes) return;
      if (typeof item !== 'number' && item.isOwn && !item.writing) drop(place, item);
    }
  }

  /** Until there is room, or only the newest have their detail. */
  function shedOldest(): void {
    for (const [place, item] of from(shedFrom)) {
      if (used() <= maxBytes || documents.bytes <= maxBytes * DETAIL_SHARE) return;
      shedFrom = place + 1;
      if (typeof item === 'number' || item.writing || item.isOwn) continue;
      pack(item);
      onShed();
    }
  }

  function dropOldest(): void {
    const enough = maxBytes * (1 - DROP_SHARE);
    for (const [place, item] of from()) {
      if (used() <= enough) return;
      if (!isWriting(item)) drop(place, item);
    }
  }

  function makeRoom(): void {
    if (used() <= maxBytes) return;
    if (own > 0) dropOwn();
    shedOldest();
    if (used() > maxBytes) dropOldest();
  }

  return {
    get size() {
      return line.size;
    },
    get bytes() {
      return used();
    },
    get documentBytes() {
      return documents.bytes;
    },
    get last() {
      return line.last;
    },
    add({ index, document }, shared) {
      const before = line.find(index.token);
      const older = before === -1 ? undefined : line.at(before);
      if (older !== undefined) remove(before, older);
      const given = { index, document, shared: sharedOf(shared), hasDetail: true };
      const waiting = new Waiting(given, documents);
      waiting.place = line.add(waiting, index.token);
      if (waiting.isOwn) own++;
      placeBytes += waiting.heapBytes;
      makeRoom();
    },
    get(token) {
      const item = line.at(line.find(token));
      return typeof item === 'number' ? new Outline(rows.textOf(item)) : item;
    },
    *values() {
      for (const [, item] of from()) yield typeof item === 'number' ? new Outline(rows.textOf(item)) : item;
    },
    waitsUntil(place) {
      const next = line.next();
      return next !== -1 && next <= place;
    },
    take(most) {
      const batch: Waiting[] = [];
      let bytes = 0;
      for (const [place, item] of from()) {
        const more = typeof item === 'number' ? rows.lengthOf(item) : item.index.bytes;
        if (batch.length >= most.count || (bytes > 0 && bytes + more > most.bytes)) break;
        const waiting = typeof item === 'number' ? unpack(place, item) : item;
        waiting.writing = true;
        batch.push(waiting);
        bytes += more;
      }
      return batch;
    },
    giveBack(batch) {
      for (const waiting of batch) {
        waiting.writing = false;
        if (line.at(waiting.place) !== waiting) waiting.release();
        else if (!waiting.hasDetail) pack(waiting);
      }
      shedFrom = 0;
      makeRoom();
    },
    letGo(batch) {
      for (const waiting of batch) {
        waiting.writing = false;
        if (line.at(waiting.place) === waiting) remove(waiting.place, waiting);
        else waiting.release();
      }
    },
    dropAll() {
      for (const [place, item] of from()) {
        if (isWriting(item)) continue;
        remove(place, item);
        onDropped('shut down');
      }
    },
  };
}
