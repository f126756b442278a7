/**
 * The queue between the recorder and the storage: bounded in bytes, written in batches, never waited for by an answer.
 *
 * A document becomes bytes when it comes and leaves the heap; a batch stays where it is until it is stored. It goes out
 * when it is full, or after a linger: under load that is at once, at a few requests per second it saves a transaction
 * for each. A failed write is tried again with growing, jittered pauses while the queue fills. When it is full, the
 * oldest profiles of kind `profiler` go, then the oldest others lose their detail (panels and findings; what lists show
 * stays), and only then whole ones are dropped. All of it is counted by reason.
 */
import { createArena, createChunkPool } from './arena.ts';
import { settledWithin, sleep } from './patience.ts';
import { createSharedKeeper } from './shared-keeper.ts';
import type { ProfileStorage, QueuedProfile, SharedPart, StoredProfile } from './storage.ts';
import { createLine } from './waiting-line.ts';
import { Waiting } from './waiting-profile.ts';

export interface WriterOptions {
  storage: ProfileStorage;
  /** Bytes held at most, index rows included. */
  maxBytes?: number;
  /** Milliseconds to wait for company before a batch is written. */
  lingerMs?: number;
  warn: (sentence: string) => void;
}

export interface WriterCounters {
  written: number;
  /** Dropped profiles by reason: `queue full`, `shut down`, `unconfirmed at shut down` (the last batch got no answer). */
  dropped: Record<string, number>;
  /** Profiles stored without their detail, by reason: `queue full`. */
  shed: Record<string, number>;
  failedWrites: number;
  pending: number;
  pendingBytes: number;
}

export interface Writer {
  /** Takes a profile and what it refers to; sets the `bytes` of its index. */
  enqueue(profile: StoredProfile, shared?: readonly SharedPart[]): void;
  /** A profile that waits or is being written. Its document is to be read at once: when it is stored, it is gone. */
  peek(token: string): QueuedProfile | undefined;
  pending(): Iterable<QueuedProfile>;
  /** Resolves when all that waits now is stored, or after `timeoutMs`; true when it is. */
  flush(timeoutMs: number): Promise<boolean>;
  /** True while the storage fails or has not answered for a while: waiting for it would be in vain. */
  stalled(): boolean;
  counters(): WriterCounters;
  /** Stores what is left within `timeoutMs`; the rest is counted as dropped. */
  close(timeoutMs: number): Promise<void>;
}

/** A batch goes out at once when so many wait, and takes all that wait meanwhile up to its limits. */
const FULL_BATCH = 100;
const BATCH_COUNT = 500;
const BATCH_BYTES = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** Of a full queue the newest part that keeps its detail: somebody may be looking at it. */
const DETAIL_SHARE = 1 / 4;
/** Room made at once where whole profiles are dropped, so that not each newcomer searches for the next. */
const DROP_SHARE = 1 / 64;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1500;
/** Milliseconds without an answer after which a storage counts as stalled. */
const STALLED_AFTER = 300;
/** Milliseconds between two warnings of the same kind. */
const WARN_EVERY = 60_000;

export function createWriter({
  storage,
  maxBytes = 12 * 1024 * 1024,
  lingerMs = 150,
  warn,
}: WriterOptions): Writer {
  const pool = createChunkPool(Math.min(CHUNK_BYTES, Math.ceil(maxBytes / 64)));
  const arenas = { documents: createArena(pool), rows: createArena(pool) };
  const { documents, rows } = arenas;
  const parts = createSharedKeeper(storage);
  /** In the order of arrival; what is being written stays until it is stored. */
  const line = createLine<Waiting>();
  /** All before this place have no detail, or keep it: they are being written, or are the profiler's own. */
  let shedFrom = 0;
  /** How many of the profiler's own wait. */
  let own = 0;
  let writing: readonly Waiting[] = [];
  /** Bytes that all in the queue take on the heap. */
  let heapBytes = 0;
  /** Those of the latest profile: mostly the next one has the same. */
  let latestShared: readonly SharedPart[] = [];
  let active: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let pause = 0;
  let batchStartedAt = 0;
  let warnedAt = -Infinity;
  const fullSaidAt = new Map<string, number>();
  let closed = false;
  const counters = {
    written: 0,
    failedWrites: 0,
    dropped: {} as Record<string, number>,
    shed: {} as Record<string, number>,
  };

  const used = (): number => documents.bytes + rows.bytes + heapBytes;

  function count(what: 'dropped' | 'shed', reason: string): void {
    counters[what][reason] = (counters[what][reason] ?? 0) + 1;
  }

  /** Takes a profile out of the queue; its bytes stay while they are being written. */
  function remove(profile: Waiting): void {
    if (line.get(profile.token) !== profile) return;
    line.remove(profile);
    if (profile.isOwn) own--;
    heapBytes -= profile.heapBytes;
    if (!profile.writing) profile.release(arenas);
  }

  function add(profile: Waiting): void {
    const before = line.get(profile.token);
    if (before !== undefined) remove(before);
    line.add(profile);
    if (profile.isOwn) own++;
    heapBytes += profile.heapBytes;
  }

  function sharedOf(given: readonly SharedPart[]): readonly SharedPart[] {
    const isSame =
      given.length === latestShared.length && given.every((part, at) => part === latestShared[at]);
    if (!isSame) latestShared = [...given];
    return latestShared;
  }

  function drop(profile: Waiting, reason: string): void {
    remove(profile);
    count('dropped', reason);
    if (reason === 'queue full') sayFull('are lost');
  }

  /** Requests come faster than the storage takes their profiles. */
  function sayFull(what: string): void {
    if (performance.now() - (fullSaidAt.get(what) ?? -Infinity) < WARN_EVERY) return;
    fullSaidAt.set(what, performance.now());
    warn(`Profiles ${what}: more come than the storage takes, and ${line.size} wait in memory already.`);
  }

  /** Keeps of a profile what lists show. Its place in the queue stays. */
  function shed(profile: Waiting): void {
    heapBytes -= profile.heapBytes;
    profile.shed(arenas);
    heapBytes += profile.heapBytes;
    count('shed', 'queue full');
    sayFull('lose their detail');
  }

  /** Until there is room; of the profiler's own. */
  function dropOwn(): void {
    for (let at = line.next(); at !== undefined && used() > maxBytes; at = line.next(at.place + 1))
      if (at.isOwn && !at.writing) drop(at, 'queue full');
  }

  /** Until there is room, or only the newest have their detail. */
  function shedOldest(): void {
    while (used() > maxBytes && documents.bytes > maxBytes * DETAIL_SHARE) {
      const profile = line.next(shedFrom);
      if (profile === undefined) return;
      shedFrom = profile.place + 1;
      if (profile.hasDetail && !profile.writing && !profile.isOwn) shed(profile);
    }
  }

  function dropOldest(): void {
    const enough = maxBytes * (1 - DROP_SHARE);
    for (let at = line.next(); at !== undefined && used() > enough; at = line.next(at.place + 1))
      if (!at.writing) drop(at, 'queue full');
  }

  function makeRoom(): void {
    if (used() <= maxBytes) return;
    if (own > 0) dropOwn();
    shedOldest();
    if (used() > maxBytes) dropOldest();
  }

  function takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let bytes = 0;
    for (const profile of line.values()) {
      if (batch.length >= BATCH_COUNT || (bytes > 0 && bytes + profile.length > BATCH_BYTES)) break;
      bytes += profile.length;
      batch.push(profile);
    }
    for (const profile of batch) profile.begin(arenas);
    return batch;
  }

  /** What could not be stored waits again, in its place. */
  function giveBack(batch: readonly Waiting[]): void {
    for (const profile of batch) {
      profile.end(arenas);
      if (line.get(profile.token) !== profile) profile.release(arenas);
    }
    shedFrom = 0;
    makeRoom();
  }

  function letGo(batch: readonly Waiting[]): void {
    for (const profile of batch) {
      remove(profile);
      profile.release(arenas);
    }
  }

  function complain(error: unknown): void {
    if (performance.now() - warnedAt < WARN_EVERY) return;
    warnedAt = performance.now();
    const reason = error instanceof Error ? error.message : String(error);
    warn(`Profiles can't be stored for now (${reason}); ${line.size} wait in memory.`);
  }

  async function writeBatch(): Promise<void> {
    const batch = takeBatch();
    batchStartedAt = performance.now();
    writing = batch;
    try {
      await parts.keep(batch);
      await storage.write(batch);
      counters.written += batch.length;
      pause = 0;
      letGo(batch);
    } catch (error) {
      counters.failedWrites++;
      pause = Math.min(LONGEST_PAUSE, Math.max(FIRST_PAUSE, pause * 2));
      parts.forget();
      giveBack(batch);
      complain(error);
    }
    writing = [];
  }

  function isFull(): boolean {
    return line.size >= FULL_BATCH || documents.bytes >= BATCH_BYTES;
  }

  function schedule(): void {
    if (active !== null || line.size === 0) return;
    // The first one of a process goes at once: somebody has just started it and looks.
    const atOnce = pause === 0 && (closed || isFull() || counters.written === 0);
    if (timer !== null && !atOnce) return;
    if (timer !== null) clearTimeout(timer);
    const delay = pause > 0 ? pause * (0.5 + Math.random()) : atOnce ? 0 : lingerMs;
    timer = setTimeout(start, delay);
    timer.unref();
  }

  function start(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (active !== null || line.size === 0) return;
    active = writeBatch().finally(() => {
      active = null;
      schedule();
    });
  }

  async function flush(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    const { last } = line;
    const waits = (): boolean => (line.next()?.place ?? Infinity) <= last;
    while (waits()) {
      const left = deadline - performance.now();
      if (left <= 0) return false;
      if (pause === 0) start();
      else schedule();
      await settledWithin(active ?? sleep(Math.min(left, 20)), left);
    }
    return true;
  }

  return {
    enqueue(profile, shared = []) {
      if (closed) {
        count('dropped', 'shut down');
        return;
      }
      const { index, document } = profile;
      add(new Waiting({ index, document, shared: sharedOf(shared) }, arenas));
      makeRoom();
      schedule();
    },
    peek: (token) => line.get(token),
    pending: () => line.values(),
    flush,
    stalled: () => pause > 0 || (active !== null && performance.now() - batchStartedAt > STALLED_AFTER),
    counters: () => ({
      ...counters,
      dropped: { ...counters.dropped },
      shed: { ...counters.shed },
      pending: line.size,
      pendingBytes: used(),
    }),
    async close(timeoutMs) {
      if (closed) return;
      closed = true;
      await flush(timeoutMs);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      for (const profile of [...line.values()]) if (!profile.writing) drop(profile, 'shut down');
      if (writing.length > 0) counters.dropped['unconfirmed at shut down'] = writing.length;
    },
  };
}
