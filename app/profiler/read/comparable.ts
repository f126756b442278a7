/**
 * The compared parts of two profiles: figures, work that can repeat, and named values. app/controllers/profiler/compare/compare-profiles.ts
 * compares them for all panels.
 */

export interface ComparedFigure {
  label: string;
  value: number;
  unit: 'ms' | 'bytes' | 'count';
  /** Less is better; changes are coloured. */
  cost?: true;
  /** If one profile lacks it, it was not measured there; default: it counts as 0. */
  measured?: true;
}

export interface ComparedWork {
  /** Heading of its table, such as `Statements`. */
  section: string;
  key: string;
  label: string;
  /** The label for highlighting: class (as in `CodeToken`) and text. */
  tokens?: readonly (readonly [string, string])[];
  times: number;
  ms: number | null;
  /** Badge, such as `N+1`. */
  mark?: string;
}

export interface ComparedValue {
  /** Kind of value, such as `response header`. */
  section: string;
  name: string;
  value: string;
}

export interface Comparable {
  figures?: readonly ComparedFigure[];
  work?: readonly ComparedWork[];
  values?: readonly ComparedValue[];
}

/** Adds up times and milliseconds by key, in order of first occurrence. Changes the given objects. */
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
