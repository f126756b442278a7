/**
 * Which requests are recorded in full. The others keep an outline (line, headers, status, layers, what was thrown),
 * without following their asynchronous work; it is stored only when the request failed or was slow.
 */

export interface Sampling {
  /** Share of requests recorded in full, 0 to 1. */
  rate: number;
  /** Milliseconds from which a request counts as slow and its outline is kept. */
  slowMs: number;
}

/** A request that asks for it is recorded in full whatever the rate: any value but `0` and empty. */
const ASKING_HEADER = 'x-debug-profile';

/** Why an outline was kept; null for a request recorded in full. */
export type KeptOutline = 'failed' | 'slow' | null;

export interface Sampler {
  isPaused(): boolean;
  /** Whether this request is recorded in full. */
  takes(headers: Readonly<Record<string, string | string[] | undefined>>): boolean;
  /** Why the outline of a request that was not taken is worth keeping; null where it is not. */
  keeps(outcome: { status: number; thrown: boolean; durationMs: number }): KeptOutline;
}

/** `isPaused`: nothing is recorded for now, whoever asks for it and whatever happens. */
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
    keeps({ status, thrown, durationMs }) {
      if (isPaused()) return null;
      if (thrown || status >= 500) return 'failed';
      return durationMs >= slowMs ? 'slow' : null;
    },
  };
}
