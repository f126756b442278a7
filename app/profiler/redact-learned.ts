/**
 * Masks for the secret values that requests contained, cached because creating one costs as much as masking a whole profile, and
 * every request of a session sends the same cookie. The cache exists in the memory of the process only.
 */
import { createMemory } from './redact-memory.ts';
import { createValueMask, type ValueMask } from './redact-values.ts';

const MOST_MASKS = 32;
/** Characters of all values together; a mask takes about fifty times as many bytes. */
const LONGEST_REMEMBERED = 1000;

/** Unique per set of values, because each value is preceded by its length. */
function keyOf(values: readonly string[]): string {
  return values.map((value) => `${value.length}:${value}`).join('');
}

export interface LearnedMasks {
  /** null if there is nothing to mask. */
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
