/**
 * Finds positions in a text where one of many strings may begin. A hash of each three consecutive characters is looked up in a small
 * table, and strings are compared only on a hit. A string truncated by the end of the text or by CUT counts if three characters are left.
 */

/** Marks truncated text, in `truncateText` and everywhere else. */
export const CUT = '…';
/** Minimum length of a truncated value that is searched for. */
export const SHORTEST_HEAD = 3;
/** Characters compared: enough to say that a value may begin here. */
const COMPARED = 8;
/** Mask of the rolling hash of three characters. Each is shifted by five bits more than the next, so the fourth drops out. */
const SUM = (1 << 13) - 1;
const CUT_CODE = CUT.charCodeAt(0);

/** Maximum number of heads with the same hash that are compared. */
const MOST_ALIKE = 12;
/** Replaces more heads than that: it matches at any position. */
const ANY = '';

export interface Heads {
  /** By hash: whether a string begins with three characters of that hash. */
  isSum: Uint8Array;
  /** The rolling hash after one more character. */
  nextSum: (sum: number, code: number) => number;
  /** Whether one of the strings begins at the three characters that end at `at` and have the hash `sum`. */
  standsAt: (text: string, at: number, sum: number) => boolean;
}

/** The next position, not before `from`, where one of the strings may begin; -1: none. */
export type HeadScan = (text: string, from?: number) => number;

/** Whether `text` has `head` at `from`, perhaps truncated. */
function beginsAt(text: string, from: number, head: string): boolean {
  for (let offset = 0; offset < head.length; offset++) {
    const at = from + offset;
    if (at === text.length) return true;
    const code = text.charCodeAt(at);
    if (code !== head.charCodeAt(offset)) return code === CUT_CODE;
  }
  return true;
}

function nextSum(sum: number, code: number): number {
  return ((sum << 5) ^ code) & SUM;
}

function sumOf(head: string): number {
  let sum = 0;
  for (let at = 0; at < SHORTEST_HEAD; at++) sum = nextSum(sum, head.charCodeAt(at));
  return sum;
}

/** `texts`: at least three characters each. */
export function createHeads(texts: readonly string[]): Heads {
  const isSum = new Uint8Array(SUM + 1);
  const heads = new Map<number, string[]>();
  for (const head of new Set(texts.map((text) => text.slice(0, COMPARED)))) {
    const sum = sumOf(head);
    isSum[sum] = 1;
    const others = heads.get(sum) ?? [];
    heads.set(sum, others.length < MOST_ALIKE ? [...others, head] : [ANY]);
  }
  return {
    isSum,
    nextSum,
    standsAt(text, at, sum) {
      const from = at - SHORTEST_HEAD + 1;
      return from >= 0 && (heads.get(sum)?.some((head) => beginsAt(text, from, head)) ?? false);
    },
  };
}

export function createHeadScan(texts: readonly string[]): HeadScan {
  const { isSum, standsAt } = createHeads(texts);
  return (text, start = 0) => {
    let sum = 0;
    for (let at = start; at < text.length; at++) {
      sum = nextSum(sum, text.charCodeAt(at));
      if (isSum[sum] === 0 || at < start + SHORTEST_HEAD - 1) continue;
      if (standsAt(text, at, sum)) return at - SHORTEST_HEAD + 1;
    }
    return -1;
  };
}
