/**
 * The queue between the recorder and the storage: bounded in bytes, written in batches, never waited for by an answer.
 *
 * A document becomes bytes when it comes and leaves the heap; a batch stays where it is until it is stored. It goes out
 * when it is full, or after a linger: under load that is at once, at a few requests per second it saves a transaction
 * for each. A failed write is tried again with growing, jittered pauses while the queue fills. When it is full, the
 * oldest profiles of kind `profiler` go, then the oldest others lose their detail (panels and findings; what lists show
 * stays), and only then whole ones are dropped. All of it is counted by reason.
 */
import { createArena } from './arena.ts';
import { settledWithin, sleep } from './patience.ts';
import { createSharedKeeper } from './shared-keeper.ts';
import type { ProfileStorage, QueuedProfile, SharedPart, StoredProfile } from './storage.ts';
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
  const arena = createArena({ chunkBytes: Math.min(CHUNK_BYTES, Math.ceil(maxBytes / 64)) });
  const parts = createSharedKeeper(storage);
  /** By token, in the order of arrival; what is being written stays until it is stored. */
  const queue = new Map<string, Waiting>();
  /** Those in the queue that have their detail and are not being written, oldest first; of kind `profiler` apart. */
  const detailed = new Set<Waiting>();
  const own = new Set<Waiting>();
  let writing: readonly Waiting[] = [];
  /** Bytes of the index rows of all in the queue. */
  let indexBytes = 0;
  let number = 0;
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

  const used = (): number => arena.bytes + indexBytes;

  function count(what: 'dropped' | 'shed', reason: string): void {
    counters[what][reason] = (counters[what][reason] ?? 0) + 1;
  }

  function setOf(profile: Waiting): Set<Waiting> {
    return profile.index.kind === 'profiler' ? own : detailed;
  }

  /** Takes a profile out of the queue; its bytes stay while they are being written. */
  function remove(profile: Waiting): void {
    if (queue.get(profile.index.token) !== profile) return;
    queue.delete(profile.index.token);
    setOf(profile).delete(profile);
    indexBytes -= profile.indexBytes;
    if (!profile.writing) profile.release(arena);
  }

  function add(profile: Waiting): void {
    const before = queue.get(profile.index.token);
    if (before !== undefined) remove(before);
    queue.set(profile.index.token, profile);
    setOf(profile).add(profile);
    indexBytes += profile.indexBytes;
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
    warn(`Profiles ${what}: more come than the storage takes, and ${queue.size} wait in memory already.`);
  }

  /** Keeps of a profile what lists show. Its place in the queue stays. */
  function shed(profile: Waiting): void {
    detailed.delete(profile);
    profile.shed(arena);
    count('shed', 'queue full');
    sayFull('lose their detail');
  }

  function makeRoom(): void {
    if (used() <= maxBytes) return;
    for (const profile of own) {
      if (used() <= maxBytes) return;
      drop(profile, 'queue full');
    }
    for (const profile of detailed) {
      if (used() <= maxBytes) return;
      if (arena.bytes <= maxBytes * DETAIL_SHARE) break;
      shed(profile);
    }
    if (used() <= maxBytes) return;
    for (const profile of queue.values()) {
      if (used() <= maxBytes * (1 - DROP_SHARE)) return;
      if (!profile.writing) drop(profile, 'queue full');
    }
  }

  function takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let bytes = 0;
    for (const profile of queue.values()) {
      if (batch.length >= BATCH_COUNT || (bytes > 0 && bytes + profile.length > BATCH_BYTES)) break;
      bytes += profile.length;
      batch.push(profile);
    }
    for (const profile of batch) {
      setOf(profile).delete(profile);
      profile.begin(arena);
    }
    return batch;
  }

  /** What could not be stored waits again, in its place. */
  function giveBack(batch: readonly Waiting[]): void {
    const newer = [...detailed];
    const newerOwn = [...own];
    detailed.clear();
    own.clear();
    for (const profile of batch) {
      profile.end(arena);
      const waits = queue.get(profile.index.token) === profile;
      if (!waits) profile.release(arena);
      else if (profile.hasDetail) setOf(profile).add(profile);
    }
    for (const profile of newer) detailed.add(profile);
    for (const profile of newerOwn) own.add(profile);
    makeRoom();
  }

  function letGo(batch: readonly Waiting[]): void {
    for (const profile of batch) {
      profile.end(arena);
      remove(profile);
      profile.release(arena);
    }
  }

  function complain(error: unknown): void {
    if (performance.now() - warnedAt < WARN_EVERY) return;
    warnedAt = performance.now();
    const reason = error instanceof Error ? error.message : String(error);
    warn(`Profiles can't be stored for now (${reason}); ${queue.size} wait in memory.`);
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
    return queue.size >= FULL_BATCH || arena.bytes >= BATCH_BYTES;
  }

  function schedule(): void {
    if (active !== null || queue.size === 0) return;
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
    if (active !== null || queue.size === 0) return;
    active = writeBatch().finally(() => {
      active = null;
      schedule();
    });
  }

  async function flush(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    const last = number;
    const waits = (): boolean => {
      const [oldest] = queue.values();
      return oldest !== undefined && oldest.number <= last;
    };
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
      add(new Waiting({ ...profile, shared, number: ++number }, arena));
      makeRoom();
      schedule();
    },
    peek: (token) => queue.get(token),
    pending: () => queue.values(),
    flush,
    stalled: () => pause > 0 || (active !== null && performance.now() - batchStartedAt > STALLED_AFTER),
    counters: () => ({
      ...counters,
      dropped: { ...counters.dropped },
      shed: { ...counters.shed },
      pending: queue.size,
      pendingBytes: used(),
    }),
    async close(timeoutMs) {
      if (closed) return;
      closed = true;
      await flush(timeoutMs);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      for (const profile of [...queue.values()]) if (!profile.writing) drop(profile, 'shut down');
      if (writing.length > 0) counters.dropped['unconfirmed at shut down'] = writing.length;
    },
  };
}
