/**
 * Takes the profiler's frames out of the stack of an error that comes by, before the host sees it: those of its own middleware, and of
 * the emitters that it binds to a request. Errors that a host catches before keep them (docs/architecture.md).
 */
import { field, isError, isObject } from '../profiler/thrown-value.ts';
import { isMountingFrame, isProfilerFile, profilerFolders } from './caller.ts';

const LONGEST_CHAIN = 5;
/** Enough to reach from where an error comes by to where the event loop called. */
const ALL_FRAMES = 200;
const FRAME = /^\s+at /;
/** Of Node.js, called by ours. */
const RUN = /^\s+at AsyncLocalStorage\.run \(node:/;
/** What the emitter of a request with a body, which is bound to its context, runs. */
const EMIT = /^\s+at IncomingMessage\.emit \(node:/;
const BOUND_EMIT = /\n\s+at IncomingMessage\.emit \(node:.*\n\s+at AsyncLocalStorage\.run \(node:/;

/** Without our frames, but for those at the top: an error that we made began there. */
function withoutOurs(stack: string): string {
  const lines = stack.split('\n');
  const isOurs = lines.map((line) => FRAME.test(line) && (isProfilerFile(line) || isMountingFrame(line)));
  const top = lines.findIndex((line, index) => FRAME.test(line) && isOurs[index] !== true);
  const isHidden = (index: number): boolean =>
    isOurs[index] === true ||
    (RUN.test(lines[index] ?? '') && (isOurs[index + 1] !== false || EMIT.test(lines[index - 1] ?? '')));
  return lines.filter((_line, index) => index < top || !isHidden(index)).join('\n');
}

/** The stack that calls now. */
function currentStack(): string {
  const { stackTraceLimit } = Error;
  Reflect.set(Error, 'stackTraceLimit', ALL_FRAMES);
  const { stack = '' } = new Error();
  Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  return stack;
}

/**
 * An error captures ten frames, so ours have taken the place of others further out. While the call that it was created in has not
 * returned, these can still be read.
 */
function filledUp(cleaned: string, removed: number): string {
  const last = cleaned.slice(cleaned.lastIndexOf('\n'));
  const current = withoutOurs(currentStack());
  const at = current.lastIndexOf(`${last}\n`);
  if (!FRAME.test(last) || at === -1) return cleaned;
  const outer = current.slice(at + last.length + 1).split('\n');
  return [cleaned, ...outer.slice(0, removed)].join('\n');
}

/** Never throws; an error that can't be changed stays as it is. */
export function hideProfilerFrames(error: unknown): void {
  const folders = profilerFolders();
  let at = error;
  for (let depth = 0; depth < LONGEST_CHAIN && isObject(at) && isError(at); depth++) {
    const stack = field(at, 'stack');
    if (
      typeof stack === 'string' &&
      (folders.some((folder) => stack.includes(folder)) || BOUND_EMIT.test(stack))
    ) {
      const cleaned = withoutOurs(stack);
      const removed = stack.split('\n').length - cleaned.split('\n').length;
      try {
        if (removed > 0) Reflect.set(at, 'stack', filledUp(cleaned, removed));
      } catch {
        // Frozen, or a proxy.
      }
    }
    at = field(at, 'cause');
  }
}
