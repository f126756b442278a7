/**
 * Records on their way to the database: written in batches, at most some 100 ms after they came. A batch that fails is tried again after
 * growing pauses. If the database stays away, what waits goes to `onUnavailable`, and so does what comes until the database is back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreItem } from '../../profiler/store/store.ts';
import { codeOf, isError } from '../../errors.ts';
import { settledWithin } from '../../profiler/timeouts.ts';

export interface WriteQueueOptions {
  write: (items: readonly StoreItem[]) => Promise<ReadonlySet<string>>;
  probe: () => Promise<unknown>;
  /** Takes what the database can't take; absent: it waits in the queue, and the oldest are dropped when that is full. */
  onUnavailable?: ((items: readonly StoreItem[]) => void) | undefined;
  onAvailable?: (() => void) | undefined;
  maxBytes?: number;
}

export interface WriteQueue {
  readonly state: {
    pending: number;
    pendingBytes: number;
    maxPendingBytes: number;
    failed: number;
    failing: boolean;
  };
  add(items: readonly StoreItem[]): void;
  get(token: string): StoreItem | undefined;
  handedOn(token: string): StoreItem | undefined;
  flush(): Promise<void>;
  takeAll(): StoreItem[];
  close(timeoutMs: number): Promise<void>;
}

interface Entry {
  item: StoreItem;
  settled: NonNullable<StoreItem['settled']>[];
  bytes: number;
}

const MAX_BYTES = 16 * 1024 * 1024;
const ROW_BYTES = 500;
const LINGER_MS = 100;
const FULL_BATCH = 100;
const BATCH_COUNT = 500;
const BATCH_BYTES = 1024 * 1024;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1500;
/** Milliseconds of failing after which the database counts as away. */
const AWAY_AFTER_MS = 500;
const LATE_MS = 300;
/** Class of SQLSTATE of values that can't be stored: a batch with one of them is written one by one. */
const BAD_VALUE = '22';

function isBadValue(error: unknown): boolean {
  return codeOf(error).startsWith(BAD_VALUE);
}

export function createWriteQueue(options: WriteQueueOptions): WriteQueue {
  const { write, probe, onUnavailable, onAvailable, maxBytes = MAX_BYTES } = options;
  let entries = new Map<string, Entry>();
  let pendingBytes = 0;
  const handed = new Map<string, StoreItem>();
  let handedBytes = 0;
  let failed = 0;
  let active: Promise<void> | null = null;
  let startedAt = 0;
  let timer: NodeJS.Timeout | null = null;
  /** `timer` fires immediately: to start it again with each record would put it off for as long as records come. */
  let isUrgent = false;
  let pauseMs = 0;
  let failingSince: number | null = null;
  let failure: Error | null = null;
  let isAway = false;
  let isKnown = false;
  let closed = false;

  function settle(token: string, entry: Entry, dropped: string | null): void {
    // A newer version may have replaced it while it was written.
    if (entries.get(token) === entry) {
      entries.delete(token);
      pendingBytes -= entry.bytes;
    }
    for (const done of entry.settled.splice(0)) done(dropped);
  }

  function forget(token: string): void {
    const item = handed.get(token);
    if (item === undefined) return;
    handedBytes -= item.row.bytes + ROW_BYTES;
    handed.delete(token);
  }

  /** It stays readable here, up to the limit of the queue. */
  function handOn(items: readonly StoreItem[]): void {
    onUnavailable?.(items);
    for (const { row, text } of items) {
      forget(row.token);
      handed.set(row.token, { row, text });
      handedBytes += row.bytes + ROW_BYTES;
    }
    for (const token of handed.keys()) {
      if (handedBytes <= maxBytes) return;
      forget(token);
    }
  }

  function put(item: StoreItem): void {
    const { row, text, settled } = item;
    forget(row.token);
    const before = entries.get(row.token);
    const isSame = before?.item.row.process === row.process && before.item.row.startedAt === row.startedAt;
    if (before !== undefined && !isSame) settled?.('token in use');
    else if (before !== undefined && row.state === 'running') settled?.(null);
    else {
      row.bytes = Buffer.byteLength(text);
      const bytes = row.bytes + ROW_BYTES;
      const all = [...(before?.settled.splice(0) ?? []), ...(settled === undefined ? [] : [settled])];
      entries.delete(row.token);
      entries.set(row.token, { item, settled: all, bytes });
      pendingBytes += bytes - (before?.bytes ?? 0);
    }
  }

  function takeAll(): StoreItem[] {
    const taken = [...entries.values()];
    entries.clear();
    pendingBytes = 0;
    return taken.map(({ item: { row, text }, settled }) => ({
      row,
      text,
      settled: (dropped) => {
        for (const done of settled) done(dropped);
      },
    }));
  }

  /** What is too much goes to `onUnavailable`, or is dropped, oldest first. */
  function relieve(): void {
    if (onUnavailable !== undefined && (isAway || pendingBytes > maxBytes)) {
      if (entries.size > 0) handOn(takeAll());
      return;
    }
    for (const [token, entry] of entries) {
      if (pendingBytes <= maxBytes) return;
      settle(token, entry, 'queue full');
    }
  }

  function nextBatch(): [string, Entry][] {
    const batch: [string, Entry][] = [];
    let bytes = 0;
    for (const one of entries) {
      bytes += one[1].bytes;
      if (batch.length > 0 && (batch.length === BATCH_COUNT || bytes > BATCH_BYTES)) break;
      batch.push(one);
    }
    return batch;
  }

  async function writeOneByOne(batch: readonly [string, Entry][]): Promise<void> {
    for (const [token, entry] of batch) {
      try {
        const clashes = await write([entry.item]);
        settle(token, entry, clashes.has(token) ? 'token in use' : null);
      } catch (error) {
        if (!isBadValue(error)) throw error;
        settle(token, entry, 'refused by the database');
      }
    }
  }

  async function writeBatch(batch: readonly [string, Entry][]): Promise<void> {
    try {
      const clashes = await write(batch.map(([, { item }]) => item));
      for (const [token, entry] of batch) settle(token, entry, clashes.has(token) ? 'token in use' : null);
    } catch (error) {
      if (!isBadValue(error)) throw error;
      await writeOneByOne(batch);
    }
  }

  function hasWorked(): void {
    const isNews = isAway || !isKnown;
    isKnown = true;
    pauseMs = 0;
    failingSince = null;
    failure = null;
    isAway = false;
    if (isNews) onAvailable?.();
  }

  function hasFailed(error: unknown): void {
    failed += 1;
    failure = isError(error) ? error : new Error(String(error));
    failingSince ??= startedAt;
    pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, pauseMs * 2));
    isAway ||= performance.now() - failingSince > AWAY_AFTER_MS;
    relieve();
  }

  async function work(): Promise<void> {
    startedAt = performance.now();
    try {
      const batch = nextBatch();
      await (batch.length === 0 ? probe() : writeBatch(batch));
      // Leaves the tables behind that V8 would link to all later ones (open-list.ts).
      entries = new Map(entries);
      hasWorked();
    } catch (error) {
      hasFailed(error);
    }
  }

  function start(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (active !== null || (entries.size === 0 && !isAway)) return;
    active = work().finally(() => {
      active = null;
      schedule();
    });
  }

  function schedule(): void {
    if (active !== null || closed || (entries.size === 0 && !isAway)) return;
    const isFull = pauseMs === 0 && (entries.size >= FULL_BATCH || pendingBytes >= BATCH_BYTES);
    if (timer !== null && (!isFull || isUrgent)) return;
    if (timer !== null) clearTimeout(timer);
    isUrgent = isFull;
    const delay = pauseMs > 0 ? pauseMs * (0.5 + Math.random()) : isFull ? 0 : LINGER_MS;
    timer = setTimeout(start, delay);
    timer.unref();
  }

  async function flush(): Promise<void> {
    const waiting = new Set(entries.values());
    const isWaiting = (): boolean => [...entries.values()].some((entry) => waiting.has(entry));
    while (isWaiting()) {
      // A batch that began before may succeed: only one that is tried now says that the database is away.
      if (active !== null) await active;
      if (!isWaiting()) return;
      start();
      await active;
      if (failure !== null) throw failure;
    }
  }

  return {
    get state() {
      const isLate = active !== null && performance.now() - startedAt > LATE_MS;
      return {
        pending: entries.size,
        pendingBytes,
        maxPendingBytes: maxBytes,
        failed,
        failing: failure !== null || isLate,
      };
    },
    add(items) {
      for (const item of items) {
        if (closed) item.settled?.('shut down');
        else put(item);
      }
      if (pendingBytes > maxBytes || isAway) relieve();
      schedule();
    },
    get: (token) => entries.get(token)?.item,
    handedOn: (token) => handed.get(token),
    flush,
    takeAll,
    async close(timeoutMs) {
      closed = true;
      const until = performance.now() + timeoutMs;
      const leftMs = (): number => until - performance.now();
      while (entries.size > 0 && leftMs() > 0) {
        start();
        await settledWithin(active ?? sleep(1), leftMs());
        if (failure !== null && leftMs() > 0) await sleep(Math.min(FIRST_PAUSE_MS, leftMs()));
      }
      if (timer !== null) clearTimeout(timer);
    },
  };
}
