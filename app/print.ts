/**
 * Writing to standard error and standard output. A failed write of `process.stderr` or `process.stdout` is an `error` event, which ends an
 * application that has no reader there any more (a log viewer that ended, `2>&1 | head`) and never writes anything itself.
 */
import { writeSync } from 'node:fs';

const STDERR = 2;

/** At once, or never. */
export function printError(text: string): void {
  try {
    writeSync(STDERR, text);
  } catch {
    // Closed, or full.
  }
}

function ignore(): void {
  // Nobody reads it.
}

/** Failed writes of this process, its libraries included, are no event any more that could end it. */
export function ignoreFailedWrites(stream: NodeJS.WriteStream): void {
  if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore);
}
