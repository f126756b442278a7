/**
 * Stores profiles in batches: a batch is written when it is full or after a short wait, which saves a transaction per request. A failed
 * write is retried after growing, jittered pauses while the queue fills; dropped profiles are counted by reason.
 */
import { settledWithin, sleep } from './timeouts.ts';
import { createSharedPartWriter } from './shared-part-writer.ts';
import type { ProfileStorage, QueuedProfile, SharedPart, StoredProfile } from './storage.ts';
import { createWaitingQueue } from './waiting-queue.ts';

export interface WriterOptions {
  storage: ProfileStorage;
  /** Limit of the queue in bytes, index rows included. */
  maxBytes?: number;
  /** Milliseconds to wait for more profiles before a batch is written. */
  lingerMs?: number;
  warn: (sentence: string) => void;
}

export interface WriterCounters {
  written: number;
  /** Dropped profiles by reason: `queue full`, `shut down`, `unconfirmed at shut down` (the storage did not reply to the last batch). */
  dropped: Record<string, number>;
  failedWrites: number;
  pending: number;
  pendingBytes: number;
}

export interface Writer {
  /** Queues a profile and its shared parts; sets the `bytes` of its index. */
  enqueue(profile: StoredProfile, shared?: readonly SharedPart[]): void;
  /** A queued profile. Read its document immediately: once stored, it is gone. */
  peek(token: string): QueuedProfile | undefined;
  pending(): Iterable<QueuedProfile>;
  /** Resolves with true when everything queued now is stored, with false after `timeoutMs`. */
  flush(timeoutMs: number): Promise<boolean>;
  /** True while the storage fails or has not replied for a while, so that waiting for it is pointless. */
  stalled(): boolean;
  counters(): WriterCounters;
  /** Stores the queue synchronously, if the storage can: the process ends. Never throws. */
  writeSync(withinMs: number): void;
  /** Stores the queue within `timeoutMs`; the rest is counted as dropped. */
  close(timeoutMs: number): Promise<void>;
}

/** So many queued profiles are written immediately, with all others that are queued by then, up to the limits below. */
const FULL_BATCH = 100;
const BATCH_COUNT = 500;
const BATCH_BYTES = 1024 * 1024;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1500;
/** Milliseconds without a reply after which a storage counts as stalled. */
const STALLED_AFTER = 300;
/** Milliseconds between two warnings of the same kind. */
const WARN_EVERY = 60_000;

export function createWriter({
  storage,
  maxBytes = 6 * 1024 * 1024,
  lingerMs = 150,
  warn,
}: WriterOptions): Writer {
  const queue = createWaitingQueue(maxBytes, () => {
    countDropped('queue full');
    sayFull();
  });
  const parts = createSharedPartWriter(storage);
  let active: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  /** `timer` fires immediately: to start it again with each profile would put it off for as long as profiles come. */
  let isUrgent = false;
  let pause = 0;
  let batchStartedAt = 0;
  let warnedAt = -Infinity;
  let fullSaidAt = -Infinity;
  let closed = false;
  /** No batch is started any more. */
  let ended = false;
  const counters = { written: 0, failedWrites: 0, dropped: {} as Record<string, number> };

  function countDropped(reason: string, count = 1): void {
    if (count > 0) counters.dropped[reason] = (counters.dropped[reason] ?? 0) + count;
  }

  function sayFull(): void {
    if (performance.now() - fullSaidAt < WARN_EVERY) return;
    fullSaidAt = performance.now();
    warn(`Profiles are dropped: the storage is too slow, and the queue is full (${queue.size} profiles).`);
  }

  function complain(error: unknown): void {
    if (performance.now() - warnedAt < WARN_EVERY) return;
    warnedAt = performance.now();
    const reason = error instanceof Error ? error.message : String(error);
    warn(`Profiles can't be stored at the moment (${reason}); ${queue.size} are queued in memory.`);
  }

  async function writeBatch(): Promise<void> {
    const batch = queue.take({ count: BATCH_COUNT, bytes: BATCH_BYTES });
    batchStartedAt = performance.now();
    try {
      await parts.store(batch);
      await storage.write(batch);
      counters.written += batch.length;
      pause = 0;
      queue.stored();
    } catch (error) {
      counters.failedWrites++;
      pause = Math.min(LONGEST_PAUSE, Math.max(FIRST_PAUSE, pause * 2));
      parts.forget();
      queue.failed();
      complain(error);
    }
  }

  function isFull(): boolean {
    return queue.size >= FULL_BATCH || queue.bytes >= BATCH_BYTES;
  }

  function schedule(): void {
    if (ended || active !== null || queue.size === 0) return;
    // The first one is written immediately: somebody has just started the process and is looking.
    const atOnce = pause === 0 && (closed || isFull() || counters.written === 0);
    if (timer !== null && (!atOnce || isUrgent)) return;
    if (timer !== null) clearTimeout(timer);
    isUrgent = atOnce;
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

  function isStalled(): boolean {
    return pause > 0 || (active !== null && performance.now() - batchStartedAt > STALLED_AFTER);
  }

  async function flush(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    const { last } = queue;
    while (queue.waitsUntil(last)) {
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
        countDropped('shut down');
        return;
      }
      queue.add(profile, shared);
      schedule();
    },
    peek: (token) => queue.get(token),
    pending: () => queue.values(),
    flush,
    stalled: isStalled,
    counters: () => ({
      ...counters,
      dropped: { ...counters.dropped },
      pending: queue.size,
      pendingBytes: queue.bytes,
    }),
    writeSync(withinMs) {
      // With the batch that is being written: nothing waits for its result any more.
      const profiles = [...queue.values()];
      if (profiles.length === 0) return;
      try {
        storage.writeSync?.(profiles, parts.due(profiles), isStalled() ? STALLED_AFTER : withinMs);
      } catch (error) {
        complain(error);
      }
    },
    async close(timeoutMs) {
      if (closed) return;
      closed = true;
      await flush(timeoutMs);
      ended = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
      countDropped('shut down', queue.size - queue.writing);
      countDropped('unconfirmed at shut down', queue.writing);
      queue.clear();
    },
  };
}
