/**
 * The queue between the recorder and the storage: bounded in bytes, written in batches, never waited for by an answer.
 *
 * A batch goes out when it is full, or after a linger: under load that is at once, at a few requests per second it
 * saves a transaction for each. A failed write is tried again with growing, jittered pauses while the queue fills. When
 * it is full, the oldest profiles of kind `profiler` go, then the oldest others lose their detail (panels and findings;
 * what lists show stays), and only then whole ones are dropped. All of it is counted by reason.
 */
import { withoutDetail } from './profile.ts';
import type { ProfileStorage, StoredProfile } from './storage.ts';

export interface WriterOptions {
  storage: ProfileStorage;
  /** Bytes of documents held at most. */
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
  enqueue(profile: StoredProfile): void;
  /** A profile that waits or is being written. */
  peek(token: string): StoredProfile | undefined;
  pending(): Iterable<StoredProfile>;
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
const BATCH_BYTES = 2 * 1024 * 1024;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1500;
/** Milliseconds without an answer after which a storage counts as stalled. */
const STALLED_AFTER = 300;
/** Milliseconds between two warnings of the same kind. */
const WARN_EVERY = 60_000;

export function createWriter({
  storage,
  maxBytes = 32 * 1024 * 1024,
  lingerMs = 150,
  warn,
}: WriterOptions): Writer {
  const queue = new Map<string, StoredProfile>();
  /** Tokens in the queue whose profile has its detail, oldest first; those of kind `profiler` are apart. */
  const detailed = new Set<string>();
  const own = new Set<string>();
  let writing = new Map<string, StoredProfile>();
  let queuedBytes = 0;
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

  function sizeOf(profile: StoredProfile): number {
    return profile.document.length + 500;
  }

  function remove(token: string): void {
    const profile = queue.get(token);
    if (profile === undefined) return;
    queue.delete(token);
    detailed.delete(token);
    own.delete(token);
    queuedBytes -= sizeOf(profile);
  }

  function add(profile: StoredProfile): void {
    const { token, kind } = profile.index;
    remove(token);
    queue.set(token, profile);
    (kind === 'profiler' ? own : detailed).add(token);
    queuedBytes += sizeOf(profile);
  }

  function drop(token: string, reason: string): void {
    remove(token);
    counters.dropped[reason] = (counters.dropped[reason] ?? 0) + 1;
    if (reason === 'queue full') sayFull('are lost');
  }

  /** Requests come faster than the storage takes their profiles. */
  function sayFull(what: string): void {
    if (performance.now() - (fullSaidAt.get(what) ?? -Infinity) < WARN_EVERY) return;
    fullSaidAt.set(what, performance.now());
    warn(`Profiles ${what}: more come than the storage takes, and ${queue.size} wait in memory already.`);
  }

  /** Keeps of a profile what lists show. Its place in the queue stays. */
  function shed(token: string): void {
    const profile = queue.get(token);
    detailed.delete(token);
    if (profile === undefined) return;
    const short = { index: profile.index, document: JSON.stringify(withoutDetail(profile.index)) };
    if (short.document.length >= profile.document.length) return;
    queue.set(token, short);
    queuedBytes -= sizeOf(profile) - sizeOf(short);
    counters.shed['queue full'] = (counters.shed['queue full'] ?? 0) + 1;
    sayFull('lose their detail');
  }

  function makeRoom(): void {
    for (const token of own) {
      if (queuedBytes <= maxBytes) return;
      drop(token, 'queue full');
    }
    for (const token of detailed) {
      if (queuedBytes <= maxBytes) return;
      shed(token);
    }
    for (const token of queue.keys()) {
      if (queuedBytes <= maxBytes) return;
      drop(token, 'queue full');
    }
  }

  function takeBatch(): StoredProfile[] {
    const batch: StoredProfile[] = [];
    let bytes = 0;
    for (const [token, profile] of queue) {
      if (batch.length >= BATCH_COUNT || (bytes > 0 && bytes + sizeOf(profile) > BATCH_BYTES)) break;
      batch.push(profile);
      bytes += sizeOf(profile);
      remove(token);
    }
    return batch;
  }

  function putBack(batch: readonly StoredProfile[]): void {
    const newer = [...queue.values()];
    queue.clear();
    detailed.clear();
    own.clear();
    queuedBytes = 0;
    for (const profile of [...batch, ...newer]) add(profile);
    makeRoom();
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
    writing = new Map(batch.map((profile) => [profile.index.token, profile]));
    try {
      await storage.write(batch);
      counters.written += batch.length;
      pause = 0;
    } catch (error) {
      counters.failedWrites++;
      pause = Math.min(LONGEST_PAUSE, Math.max(FIRST_PAUSE, pause * 2));
      putBack(batch);
      complain(error);
    }
    writing = new Map();
  }

  function isFull(): boolean {
    return queue.size >= FULL_BATCH || queuedBytes >= BATCH_BYTES;
  }

  function schedule(): void {
    if (active !== null || queue.size === 0) return;
    const atOnce = pause === 0 && (closed || isFull());
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
    const wanted = new Set([...queue.keys(), ...writing.keys()]);
    const waits = (): boolean => [...wanted].some((token) => queue.has(token) || writing.has(token));
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
    enqueue(profile) {
      if (closed) {
        counters.dropped['shut down'] = (counters.dropped['shut down'] ?? 0) + 1;
        return;
      }
      add(profile);
      makeRoom();
      schedule();
    },
    peek: (token) => queue.get(token) ?? writing.get(token),
    pending: () => [...writing.values(), ...queue.values()],
    flush,
    stalled: () => pause > 0 || (active !== null && performance.now() - batchStartedAt > STALLED_AFTER),
    counters: () => ({
      ...counters,
      dropped: { ...counters.dropped },
      shed: { ...counters.shed },
      pending: queue.size + writing.size,
      pendingBytes: queuedBytes,
    }),
    async close(timeoutMs) {
      if (closed) return;
      closed = true;
      await flush(timeoutMs);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      for (const token of [...queue.keys()]) drop(token, 'shut down');
      if (writing.size > 0) counters.dropped['unconfirmed at shut down'] = writing.size;
    },
  };
}

/** Resolves when `work` has settled or the time is over; leaves no timer behind that would keep a process alive. */
function settledWithin(work: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
