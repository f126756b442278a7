/** Says now and then how far long work has come. */

export interface Progress {
  /** How many there will be, as far as is known. */
  expect: (total: number) => void;
  reach: (count: number) => void;
}

const EVERY_MS = 2000;

function numberText(count: number): string {
  return count.toLocaleString('en-US');
}

export function countText(count: number): string {
  return `${numberText(count)} ${count === 1 ? 'profile' : 'profiles'}`;
}

/** `done`: what was done with them, such as `exported`. */
export function createProgress(note: (sentence: string) => void, done: string): Progress {
  let total: number | null = null;
  let saidAt = performance.now();
  return {
    expect(expected) {
      total = expected;
    },
    reach(count) {
      if (performance.now() - saidAt < EVERY_MS) return;
      saidAt = performance.now();
      const reached = total === null ? countText(count) : `${numberText(count)} of about ${countText(total)}`;
      note(`${reached} ${done} …`);
    },
  };
}
