/**
 * Profilers of one process that have to know of each other, so module state would not do: one that the code makes takes the place of the
 * one that `express-hindsight/register` makes, whichever copy of this package (ES module, CommonJS) either comes from.
 */
interface ProcessProfilers {
  /** Those that the code made, while they are open. */
  made: number;
  /** Ends the one of `register`. */
  stepAside: (() => void) | null;
}

const KEY = Symbol.for('express-hindsight.profilers');

export function processProfilers(): ProcessProfilers {
  const holder = globalThis as { [KEY]?: ProcessProfilers };
  return (holder[KEY] ??= { made: 0, stepAside: null });
}

/** Notes a profiler that the code makes; returns what notes its end. */
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
