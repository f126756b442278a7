/** Purges the storage in the background, about every 30 s. */
import type { ProfileStorage } from './storage.ts';
import { messageOf } from '../errors.ts';

export interface Retention {
  /** Milliseconds after which a profile is deleted. */
  ageMs: number;
  /** Profiles stored at most. */
  count: number;
  /** Bytes of documents stored at most. */
  bytes: number;
}

/** Profiles of the profiler's own pages: only the newest are stored. */
const PROFILER_COUNT = 200;
/** Pinned and failed requests and the slowest of each route outlive the rest: so many, for so many times the age; pins never expire. */
const EXCEPTIONS_COUNT = 2000;
const EXCEPTIONS_AGES = 7;
/** Milliseconds between two rounds; jittered, so that processes don't run them at the same moment. */
const EVERY = 30_000;

export interface Housekeeper {
  /** Runs one round now. Never rejects. */
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
        keepExceptions: {
          olderThan: Date.now() - EXCEPTIONS_AGES * retention.ageMs,
          count: EXCEPTIONS_COUNT,
        },
      });
    } catch (error) {
      if (!closed) warn(`Old profiles could not be deleted: ${messageOf(error)}`);
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
