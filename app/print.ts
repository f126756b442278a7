/**
 * Writing to standard error. A failed write of `process.stderr` is an `error` event, which ends an application that has no reader there any
 * more (a log viewer that ended, `2>&1 | head`) and never writes anything itself; so what we say is written at once, and lost then.
 */
import { writeSync } from 'node:fs';

const STDERR = 2;

export function printError(text: string): void {
  try {
    writeSync(STDERR, text);
  } catch {
    // Closed, or full.
  }
}
