/** What the samples of a soak say: whether anything grows, and whether the service's own counts add up. */

import { type Counts, uncounted } from '../faults/books.ts';

/** At rest, after a round of traffic with a flood in it. */
export interface Sample {
  rssBytes: number;
  /** After garbage collection. */
  heapBytes: number;
  /** Sockets, servers, timers and the like that keep the process alive. */
  handles: number;
  descriptors: number;
  application: Counts;
  profiler: Counts;
}

const MEGABYTE = 1024 * 1024;
/** What may grow, as a share and in units: whatever is more. A loaded machine needs room for both. */
const LIMITS = {
  rssBytes: { name: 'RSS', share: 0.15, atLeast: 32 * MEGABYTE, unit: MEGABYTE },
  heapBytes: { name: 'the heap', share: 0.15, atLeast: 8 * MEGABYTE, unit: MEGABYTE },
  handles: { name: 'the number of handles', share: 0, atLeast: 5, unit: 1 },
  descriptors: { name: 'the number of file descriptors', share: 0, atLeast: 5, unit: 1 },
} as const;

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The first and the last third of what is left after the first quarter, in which caches fill and code is compiled. */
function ends<T>(samples: readonly T[]): [T[], T[]] {
  const settled = samples.slice(Math.max(1, Math.floor(samples.length / 4)));
  const third = Math.max(1, Math.floor(settled.length / 3));
  return [settled.slice(0, third), settled.slice(-third)];
}

/** Sentences; none if nothing grows and all counts add up. Growth needs three samples. */
export function problemsOf(samples: readonly Sample[]): string[] {
  const [first, last] = ends(samples);
  const grown = Object.entries(LIMITS).flatMap(([key, { name, share, atLeast, unit }]) => {
    const [before, after] = [first, last].map((some) =>
      mean(some.map((sample) => sample[key as keyof typeof LIMITS])),
    );
    if (before === undefined || after === undefined || !(after > before + Math.max(before * share, atLeast)))
      return [];
    return [
      `Grows: ${name}, from ${(before / unit).toFixed(0)} to ${(after / unit).toFixed(0)}${unit === 1 ? '' : ' MB'}.`,
    ];
  });
  const wrong = samples.flatMap((sample, index) =>
    (['application', 'profiler'] as const).flatMap((part) =>
      uncounted(sample[part]) === 0
        ? []
        : [
            `Round ${index + 1}: ${uncounted(sample[part])} of ${sample[part].tokens} tokens (${part}) are in no count.`,
          ],
    ),
  );
  return [...(samples.length < 3 ? [] : grown), ...wrong];
}
