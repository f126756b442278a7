/** Long work in steps, between which requests of the host run. */
import { setImmediate as nextTurn } from 'node:timers/promises';

const TURN_MS = 5;

/** Returns T, and yields wherever it can be interrupted. */
export type Steps<T> = Generator<undefined, T>;

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** To be called between two steps: gives up the turn if it has lasted long enough. */
export function createTurns(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < TURN_MS) return;
    await nextTurn();
    began = performance.now();
  };
}

export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  const between = createTurns();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await between();
  }
}
