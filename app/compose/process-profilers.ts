/**
 * A profiler that the code creates replaces the one of `express-hindsight/register`. The state is global, not of this module, because the
 * two may come from different copies of this package (ES module, CommonJS).
 */
interface ProcessProfilers {
  /** Number of open profilers that the code created. */
  made: number;
  /** Closes the profiler of `register`. */
  stepAside: (() => void) | null;
}

const KEY = Symbol.for('express-hindsight.profilers');

export function processProfilers(): ProcessProfilers {
  const holder = globalThis as { [KEY]?: ProcessProfilers };
  return (holder[KEY] ??= { made: 0, stepAside: null });
}

/** Counts a profiler that the code creates; returns the function that reports its end. */
export function noteProfiler(): () => void {
  const profilers = processProfilers();
  let noted = true;
  profilers.made++;
  profilers.stepAside?.();
  return () => {
    if (noted) profilers.made--;
    noted = false;
  };
}
