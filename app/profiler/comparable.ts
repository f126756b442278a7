/**
 * What a panel gives two profiles to be compared by: figures, work that was done so many times, and named values. Which
 * of it differs is worked out for all panels alike (app/controllers/profiler/compare-model.ts).
 */

export interface ComparedFigure {
  /** The same in both profiles: `Queries`. */
  label: string;
  value: number;
  unit: 'ms' | 'bytes' | 'count';
  /** Less of it is better, and coloured so. */
  cost?: true;
  /** Missing in one of them, it was not measured there; default: there was none of it. */
  measured?: true;
}

/** Something that may have run more than once. */
export interface ComparedWork {
  /** Heading of its table, such as `Statements`. */
  section: string;
  /** Alike for what is the same in both profiles. */
  key: string;
  label: string;
  /** The label in colours: class (as `CodeToken`) and text. */
  tokens?: readonly (readonly [string, string])[];
  times: number;
  /** null where it has no duration. */
  ms: number | null;
  /** Badge, such as `N+1`. */
  mark?: string;
}

export interface ComparedValue {
  /** What kind of name it is, such as `response header`. */
  section: string;
  name: string;
  value: string;
}

export interface Comparable {
  figures?: readonly ComparedFigure[];
  work?: readonly ComparedWork[];
  values?: readonly ComparedValue[];
}

/** Work by its key: times and milliseconds added up, in the order of the first. What is given is changed. */
export function addUpWork(given: Iterable<ComparedWork>): ComparedWork[] {
  const sums = new Map<string, ComparedWork>();
  for (const work of given) {
    const sum = sums.get(work.key);
    if (sum === undefined) {
      sums.set(work.key, work);
      continue;
    }
    sum.times += work.times;
    if (work.ms !== null) sum.ms = (sum.ms ?? 0) + work.ms;
    if (work.mark !== undefined) sum.mark ??= work.mark;
  }
  return [...sums.values()];
}
