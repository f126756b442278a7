/**
 * Prints an error or a warning at once, and counts the same one for a minute: what each request throws must not flood the log.
 * `print` receives whole entries, masked; it escapes them.
 */
import { createHash } from 'node:crypto';
import { field, isObject } from '../profiler/record/safe-read.ts';
import { stackText, textOf } from '../profiler/record/thrown-value.ts';
import { count } from '../view-helpers/numbers.ts';

export interface Clock {
  now(): number;
  after(ms: number, run: () => void): () => void;
}

interface Line {
  at: number;
  first: string;
  more: number;
}

const WINDOW_MS = 60_000;
/** Different errors within a minute; beyond that the oldest is forgotten, and printed again if it comes again. */
const MOST_LINES = 100;
const LONGEST_FIRST = 300;

const FRAME = '\n    at ';
const PLACE = /:\d+:\d+\)?$/;
const FOREIGN = /\bnode:|[\\/]node_modules[\\/]/;

const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => {
      clearTimeout(timer);
    };
  },
};

export function createRepeatedLines({
  what,
  print,
  clock = systemClock,
}: {
  what: 'error' | 'warning';
  print: (entry: string) => void;
  clock?: Clock | undefined;
}) {
  const lines = new Map<string, Line>();
  let cancel: (() => void) | null = null;
  let isClosed = false;

  function forget(key: string, { more, first }: Line): void {
    lines.delete(key);
    if (more === 0) return;
    try {
      print(`the same ${what} ${count(more, 'time')} more within 60 s: ${first}`);
    } catch {
      // A host's `warn` that throws would end the process: this may run in a timer.
    }
  }

  function forgetOld(): void {
    for (const [key, line] of lines) {
      if (clock.now() - line.at < WINDOW_MS) return;
      forget(key, line);
    }
  }

  function wait(): void {
    const [oldest] = lines.values();
    if (cancel !== null || oldest === undefined) return;
    cancel = clock.after(oldest.at + WINDOW_MS - clock.now(), () => {
      cancel = null;
      forgetOld();
      wait();
    });
  }

  function remember(key: string, entry: string): void {
    const [oldest] = lines;
    if (oldest !== undefined && lines.size >= MOST_LINES) forget(...oldest);
    const [first = ''] = entry.split('\n', 1);
    lines.set(key, { at: clock.now(), first: first.slice(0, LONGEST_FIRST), more: 0 });
    wait();
  }

  return {
    /** Prints the entry, unless one with the same text was printed within the last minute. */
    say(text: string, entryOf: () => string): void {
      // A message may be long, and may hold a secret: neither is kept for a minute.
      const key = createHash('sha256').update(text).digest('base64');
      forgetOld();
      const known = lines.get(key);
      if (known !== undefined) {
        known.more++;
        return;
      }
      const entry = entryOf();
      print(entry);
      if (!isClosed) remember(key, entry);
    },
    close(): void {
      isClosed = true;
      cancel?.();
      cancel = null;
      for (const [key, line] of lines) forget(key, line);
    },
  };
}

/** Name, message and the first line of the stack that is neither Node's nor a package's; the whole stack if there is none. */
function keyOf(error: unknown, stack: string): string {
  const message = isObject(error) ? textOf(field(error, 'message')) : null;
  if (message === null || !stack.includes(message)) return stack;
  // Searched behind the message, which may contain what looks like a frame.
  const frames = stack.indexOf(FRAME, stack.indexOf(message) + message.length);
  if (frames === -1) return stack;
  const own = stack
    .slice(frames)
    .split('\n')
    .find((line) => PLACE.test(line) && !FOREIGN.test(line));
  return own === undefined ? stack : `${stack.slice(0, frames)}\n${own}`;
}

export function createErrorLog(options: {
  print: (entry: string) => void;
  redactText: (text: string) => string;
  clock?: Clock;
}): { log: (error: unknown) => void; close: () => void } {
  const lines = createRepeatedLines({ what: 'error', print: options.print, clock: options.clock });
  return {
    log(error) {
      const stack = stackText(error);
      lines.say(keyOf(error, stack), () => options.redactText(stack));
    },
    close: lines.close,
  };
}
