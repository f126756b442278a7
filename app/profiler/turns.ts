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

const waiting: (() => void)[] = [];

async function serve(): Promise<void> {
  while (waiting.length > 0) {
    await nextTurn();
    waiting.shift()?.();
  }
}

/** One after another: twenty profiles that are read at once would all take their time in the same turn. */
function ownTurn(): Promise<void> {
  const turn = new Promise<void>((resolve) => waiting.push(resolve));
  if (waiting.length === 1) void serve();
  return turn;
}

/** To be called between two steps: gives up the turn if it has lasted long enough. */
export function createTurns(): () => Promise<void> {
  // Behind those that wait already.
  let began = waiting.length > 0 ? -Infinity : performance.now();
  return async () => {
    if (performance.now() - began < TURN_MS) return;
    await ownTurn();
    began = performance.now();
  };
}

export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  const between = createTurns();
  await between();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await between();
  }
}
