/**
 * Waiting that does not depend on how busy the machine is: for a condition instead of for a time, and by the processor's
 * clock instead of the wall's where the cost of code is meant.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Ends a hang, and names what is missing: half of the time that a test has. */
export const WITHIN_MS = 120_000;

/** Milliseconds between two looks: the first ones, and the longest. A look is often a request, and takes the CPU from what it waits for. */
const PAUSES = { first: 5, longest: 100 };

/** Resolves as soon as `condition` holds; rejects with `what` where it does not within `withinMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = WITHIN_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (let pause = PAUSES.first; !(await condition()); pause = Math.min(1.5 * pause, PAUSES.longest)) {
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${what}.`);
    await sleep(pause);
  }
}

/** What `work` resolves with, once it does: on a busy machine it may first run into a limit of the product's. Rejects as `until`, with its error. */
export async function eventually<T>(work: () => Promise<T>, what: string): Promise<T> {
  let done: { value: T } | undefined;
  let last: unknown;
  await until(async () => {
    done = await work().then(
      (value) => ({ value }),
      (error: unknown) => {
        last = error;
        return undefined;
      },
    );
    return done !== undefined;
  }, what).catch((cause: unknown) => {
    throw new Error(`${String(cause)} ${String(last)}`, { cause: last });
  });
  return done!.value;
}

/** Milliseconds of processor time, all threads, that synchronous work takes. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
