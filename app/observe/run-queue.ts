/**
 * How long this thread was ready to run and got no CPU: by Linux's own account (`/proc/thread-self/schedstat`, whose second number is
 * nanoseconds on the run queue). A timer that is late for that reason was not delayed by the process's own code.
 */
import { closeSync, openSync, readSync } from 'node:fs';

const PATH = '/proc/thread-self/schedstat';
/** Three numbers of at most twenty digits. */
const LONGEST = 64;

function openOrNull(): number | null {
  try {
    return openSync(PATH, 'r');
  } catch {
    return null;
  }
}

export function openRunQueue() {
  let file = openOrNull();
  const buffer = Buffer.alloc(LONGEST);
  return {
    waitedMs(): number {
      if (file === null) return 0;
      try {
        const length = readSync(file, buffer, 0, LONGEST, 0);
        const waited = Number(buffer.toString('latin1', 0, length).split(' ')[1]);
        return Number.isFinite(waited) ? waited / 1e6 : 0;
      } catch {
        return 0;
      }
    },
    close(): void {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}
