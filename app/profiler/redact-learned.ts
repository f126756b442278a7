/**
 * The masks of what requests gave as secrets. Making one costs as much as using it on a whole profile, and the same cookie
 * comes with every request of a session: the masks last used are kept, in the memory of the process and nowhere else.
 */
import { createMemory } from './redact-memory.ts';
import { createValueMask, type ValueMask } from './redact-values.ts';

const MOST_MASKS = 32;
/** Characters of all values together; a mask takes some fifty times as many bytes. */
const LONGEST_REMEMBERED = 1000;

/** No two sets of values have the same: each value stands behind its length. */
function keyOf(values: readonly string[]): string {
  return values.map((value) => `${value.length}:${value}`).join('');
}

export interface LearnedMasks {
  /** null where there is nothing to mask. */
  maskOf(values: ReadonlySet<string>): ValueMask | null;
}

export function createLearnedMasks(): LearnedMasks {
  const masks = createMemory<ValueMask>(MOST_MASKS);
  return {
    maskOf(learned) {
      if (learned.size === 0) return null;
      const values = [...learned];
      const key = keyOf(values);
      const known = masks.get(key);
      if (known !== undefined) return known;
      const mask = createValueMask(values)?.mask ?? null;
      if (mask !== null && key.length <= LONGEST_REMEMBERED) masks.set(key, mask);
      return mask;
    },
  };
}
