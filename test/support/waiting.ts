/**
 * Waiting that does not depend on how busy the machine is: for a condition instead of for a time, and by the processor's
 * clock instead of the wall's where the cost of code is meant.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Ends a hang, and names what is missing: half of the time that a test has. */
export const WITHIN_MS = 120_000;

/** Resolves as soon as `condition` holds; rejects with `what` where it does not within `withinMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = WITHIN_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${what}.`);
    await sleep(5);
  }
}

/** Milliseconds of processor time, all threads, that synchronous work takes. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
