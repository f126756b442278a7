/**
 * Stores profiles in batches: a batch is written when it is full or after a short wait, which saves a transaction per request. A failed
 * write is retried after growing, jittered pauses while the queue fills; dropped profiles are counted by reason.
 */
import type { BlackBox } from './black-box.ts';
import { createLedger, type Fate, type Ledger } from './ledger.ts';
import { settledWithin, sleep } from './timeouts.ts';
import { createSharedPartWriter } from './shared-part-writer.ts';
import type { ProfileStorage, QueuedProfile, SharedPart, StoredProfile } from './storage.ts';
import { createWaitingQueue, type Waiting } from './waiting-queue.ts';

export interface WriterOptions {
  storage: ProfileStorage;
  /** Limit of the queue in bytes, index rows included. */
  maxBytes?: number;
  /** Milliseconds to wait for more profiles before a batch is written. */
  lingerMs?: number;
  /** Default: one of its own. */
  ledger?: Ledger;
  /** Takes what waits while the storage fails, and what is left at the end. */
  blackBox?: Pick<BlackBox, 'add' | 'empty'> | undefined;
  warn: (sentence: string) => void;
}

export interface WriterCounters {
  written: number;
  /**
   * Requests and jobs whose profile is lost, by reason: `queue full`, `shut down`, `unconfirmed at shut down` (the storage did not reply
   * to the last batch).
   */
  dropped: Record<string, number>;
  /** Those that the next start stores. */
  left: number;
  failedWrites: number;
  /** Queued versions of profiles. */
  pending: number;
  pendingBytes: number;
  maxBytes: number;
}

export interface Writer {
  /** Queues a profile and its shared parts; sets the `bytes` of its index. */
  enqueue(profile: StoredProfile, shared?: readonly SharedPart[], fate?: Fate): void;
  /** A queued profile. Read its document immediately: once stored, it is gone. */
  peek(token: string): (QueuedProfile & { readonly shared: readonly SharedPart[] }) | undefined;
  pending(): Iterable<QueuedProfile>;
  /** Resolves with true when everything queued now is stored, with false after `timeoutMs`. */
  flush(timeoutMs: number): Promise<boolean>;
  /** True while the storage fails or has not replied for a while, so that waiting for it is pointless. */
  stalled(): boolean;
  counters(): WriterCounters;
  /** Adds what is queued to the black box, synchronously. */
  leave(): void;
  /** Stores the queue within `timeoutMs`; the rest is left in the black box, or counted as dropped. */
  close(timeoutMs: number): Promise<void>;
}

/** So many queued profiles are written immediately, with all others that are queued by then, up to the limits below. */
const FULL_BATCH = 100;
const BATCH_COUNT = 500;
const BATCH_BYTES = 1024 * 1024;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1500;
/** A database that restarts for a minute at 60 requests per second costs nothing: 3,600 profiles of 12 KB. Outside of the heap. */
const QUEUE_BYTES = 48 * 1024 * 1024;
/** Milliseconds between two additions to the black box while the storage fails: what SIGKILL costs then. */
const LEAVE_EVERY = 200;
/** So many profiles are added at once, further ones some milliseconds later: those of a flood would hold up every request. */
const LEFT_AT_ONCE = 50;
const LEAVE_MORE_AFTER = 10;
/** Milliseconds without a reply after which what waits is worth a place in it. */
const LATE_AFTER = 100;
/** Milliseconds without a reply after which a storage counts as stalled. */
const STALLED_AFTER = 300;
/** Milliseconds between two warnings of the same kind. */
const WARN_EVERY = 60_000;

export function createWriter({
  storage,
  maxBytes = QUEUE_BYTES,
  lingerMs = 150,
  ledger = createLedger(),
  blackBox,
  warn,
}: WriterOptions): Writer {
  const queue = createWaitingQueue(maxBytes, ({ fate }) => {
    ledger.dropped(fate, 'queue full');
    if (fate.part !== 'profiler') sayFull();
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
  const counters = { written: 0, failedWrites: 0 };
  /** Number of the newest profile in the black box. */
  let leftUntil = 0;
  let leaveTimer: NodeJS.Timeout | null = null;

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
      for (const { fate } of batch) ledger.stored(fate);
      queue.stored();
      if (leftUntil > 0 && !queue.waitsUntil(leftUntil)) {
        leftUntil = 0;
        blackBox?.empty();
      }
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

  function notLeft(): Waiting[] {
    return [...queue.values()].filter(({ number }) => number > leftUntil);
  }

  /** Adds the oldest `most` to the black box. False if it can't take them. */
  function leave(most = Infinity): boolean {
    const profiles = notLeft().slice(0, most);
    const last = profiles.at(-1);
    if (last === undefined) return true;
    if (blackBox?.add(profiles) !== true) return false;
    leftUntil = last.number;
    return true;
  }

  /** One timer while anything waits. */
  function leaveIfLate(): void {
    leaveTimer = null;
    const isLate = pause > 0 || (active !== null && performance.now() - batchStartedAt > LATE_AFTER);
    const hasMore = isLate && leave(LEFT_AT_ONCE) && leftUntil < queue.last;
    if (queue.size > 0) leaveSoon(hasMore ? LEAVE_MORE_AFTER : LEAVE_EVERY);
  }

  function leaveSoon(afterMs = LEAVE_EVERY): void {
    if (blackBox === undefined || leaveTimer !== null || closed) return;
    leaveTimer = setTimeout(leaveIfLate, afterMs).unref();
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
    enqueue(profile, shared = [], fate = ledger.open('application')) {
      ledger.queued(fate);
      if (closed) {
        ledger.dropped(fate, 'shut down');
        return;
      }
      queue.add(profile, shared, fate);
      schedule();
      leaveSoon();
    },
    peek: (token) => queue.get(token),
    pending: () => queue.values(),
    flush,
    stalled: isStalled,
    counters: () => ({
      ...counters,
      dropped: ledger.counts('application').dropped,
      left: ledger.counts('application').left,
      pending: queue.size,
      pendingBytes: queue.bytes,
      maxBytes,
    }),
    leave: () => void leave(),
    async close(timeoutMs) {
      if (closed) return;
      closed = true;
      await flush(timeoutMs);
      ended = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
      if (leaveTimer !== null) clearTimeout(leaveTimer);
      const isLeft = blackBox !== undefined && leave();
      for (const [place, { fate, number }] of [...queue.values()].entries())
        if (isLeft || number <= leftUntil) ledger.left(fate);
        else ledger.dropped(fate, place < queue.writing ? 'unconfirmed at shut down' : 'shut down');
      queue.clear();
    },
  };
}
