/** Keeps the storage within its retention: in the background, now and then, never inside a request. */
import type { ProfileStorage } from './storage.ts';

export interface Retention {
  /** Milliseconds a profile is kept. */
  ageMs: number;
  /** Profiles kept at most. */
  count: number;
  /** Bytes of documents kept at most. */
  bytes: number;
}

/** Newest profiles of the profiler's own pages that are kept (settled as a small set of their own). */
const PROFILER_COUNT = 200;
/** Pinned, failed and slowest ones outlive the rest: this many, and so many times the age, pins without one. */
const SPARED_COUNT = 2000;
const SPARED_AGES = 7;
/** Milliseconds between two rounds; jittered, so that several processes don't meet. */
const EVERY = 30_000;

export interface Housekeeper {
  /** One round now. Never rejects. */
  run(): Promise<void>;
  close(): void;
}

export function createHousekeeper(options: {
  storage: ProfileStorage;
  retention: Retention;
  warn: (sentence: string) => void;
}): Housekeeper {
  const { storage, retention, warn } = options;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  async function run(): Promise<void> {
    try {
      await storage.purge({
        olderThan: Date.now() - retention.ageMs,
        count: retention.count,
        bytes: retention.bytes,
        profilerCount: PROFILER_COUNT,
        spare: { olderThan: Date.now() - SPARED_AGES * retention.ageMs, count: SPARED_COUNT },
      });
    } catch (error) {
      if (!closed)
        warn(`Old profiles could not be deleted: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  function schedule(): void {
    if (closed) return;
    timer = setTimeout(
      () => {
        void run().then(schedule);
      },
      EVERY * (0.75 + Math.random() / 2),
    );
    timer.unref();
  }

  schedule();
  return {
    run,
    close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
