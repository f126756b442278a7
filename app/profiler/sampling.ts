/**
 * Which requests are recorded in full. Of the others only a summary is recorded (line, headers, status, middleware, the thrown error),
 * and stored only if the request failed or was slow.
 */

export interface Sampling {
  /** Share of requests recorded in full, 0 to 1. */
  rate: number;
  /** Milliseconds from which a request counts as slow, so that its summary is stored. */
  slowMs: number;
}

/** With this header a request is recorded in full at any rate; values `0` and empty have no effect. */
const ASKING_HEADER = 'x-debug-profile';

/** Why a summary was stored; null for a request recorded in full. `busy`: too many requests failed at once. */
export type StoredBecause = 'failed' | 'slow' | 'busy' | null;

export interface Sampler {
  isPaused(): boolean;
  /** Whether this request is recorded in full. */
  takes(headers: Readonly<Record<string, string | string[] | undefined>>): boolean;
  /** Why the summary of a request that was not sampled is stored; null if it is not. */
  whyStored(outcome: { status: number; thrown: boolean; durationMs: number }): StoredBecause;
}

/** While `isPaused`, nothing is recorded, whatever the header says and whatever happens. */
export function createSampler(
  { rate, slowMs, isPaused = () => false }: Sampling & { isPaused?: () => boolean },
  random: () => number = Math.random,
): Sampler {
  return {
    isPaused,
    takes(headers) {
      if (isPaused()) return false;
      if (rate >= 1) return true;
      const asked = headers[ASKING_HEADER];
      return (typeof asked === 'string' && asked !== '' && asked !== '0') || random() < rate;
    },
    whyStored({ status, thrown, durationMs }) {
      if (isPaused()) return null;
      if (thrown || status >= 500) return 'failed';
      return durationMs >= slowMs ? 'slow' : null;
    },
  };
}
