/** Deletes what the store keeps beyond its limits, in the background, about every 30 s. */
import { messageOf } from '../../errors.ts';
import type { Store } from './store.ts';

export interface Retention {
  ageMs: number;
  count: number;
  bytes: number;
}

const PROFILER_COUNT = 200;
const SUMMARY_COUNT = 50_000;
const SUMMARY_BYTES = 32 * 1024 * 1024;
/** Pinned and failed requests and the slowest of each route outlive the rest: so many, for so many times the age; pins never expire. */
const EXCEPTIONS_COUNT = 2000;
const EXCEPTIONS_BYTES = 32 * 1024 * 1024;
const EXCEPTIONS_AGES = 7;
/** Milliseconds between two rounds; jittered, so that processes don't run them at the same moment. */
const EVERY = 30_000;

export interface Housekeeper {
  run(): Promise<void>;
  close(): void;
}

export function createHousekeeper(options: {
  store: Store;
  retention: Retention;
  warn: (sentence: string) => void;
}): Housekeeper {
  const { store, retention, warn } = options;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  async function run(): Promise<void> {
    try {
      await store.purge({
        maxAgeMs: retention.ageMs,
        count: retention.count,
        bytes: retention.bytes,
        profilerCount: PROFILER_COUNT,
        summaryCount: SUMMARY_COUNT,
        summaryBytes: SUMMARY_BYTES,
        exceptions: {
          maxAgeMs: EXCEPTIONS_AGES * retention.ageMs,
          count: EXCEPTIONS_COUNT,
          bytes: EXCEPTIONS_BYTES,
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
