/**
 * The text of a stack without the profiler's frames, for stacks that we show. A layer of the application has one frame of ours,
 * `hindsightLayer`; its errors themselves stay as they are.
 */
import { isMountingFrame, isProfilerFile } from './caller.ts';

const FRAME = /^\s+at /;
/** Of Node.js, called by ours. */
const RUN = /^\s+at AsyncLocalStorage\.run \(node:/;

export function withoutProfilerFrames(stack: string): string {
  const lines = stack.split('\n');
  const isOurs = lines.map((line) => FRAME.test(line) && (isProfilerFile(line) || isMountingFrame(line)));
  // An error that we made began at the top.
  const top = lines.findIndex((line, index) => FRAME.test(line) && isOurs[index] !== true);
  return lines
    .filter(
      (line, index) =>
        index < top || !(isOurs[index] === true || (RUN.test(line) && isOurs[index + 1] === true)),
    )
    .join('\n');
}
