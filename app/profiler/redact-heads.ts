/**
 * Does one of these texts begin somewhere in a text? The cheap question before the expensive one: each three characters in
 * a row are looked up in a small table, and only where that hits the beginnings are compared.
 *
 * A beginning that is cut off, by the end of the text or by the mark of a cut, counts from three characters on.
 */

/** What marks a cut, in `cutText` and everywhere else. */
export const CUT = '…';
/** Least characters of a value at a cut that are looked for. */
export const SHORTEST_HEAD = 3;
/** Characters compared; what begins alike is alike enough for this question. */
const COMPARED = 8;
/** Of the sum over three characters, each shifted by five more than the next: the fourth falls off by itself. */
const SUM = (1 << 13) - 1;
const CUT_CODE = CUT.charCodeAt(0);

/** Heads of one sum that are compared. */
const MOST_ALIKE = 12;
/** Instead of more: stands everywhere. */
const ANY = '';

export interface Heads {
  /** By sum: whether three characters of it begin one of the texts. */
  isSum: Uint8Array;
  /** The sum that ends with a character. */
  nextSum: (sum: number, code: number) => number;
  /** Whether one of the texts stands where the characters of `sum` begin, which end at `at`. */
  standsAt: (text: string, at: number, sum: number) => boolean;
}

/** Where the next of the texts may begin, from `from` on; -1: nowhere. */
export type HeadScan = (text: string, from?: number) => number;

/** Whether `head` stands at `from`, perhaps cut off. */
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

/** `texts`: of three characters or more. */
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
