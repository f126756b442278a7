/**
 * Does one of these texts begin somewhere in a text? The cheap question before the expensive one: each three characters in
 * a row are looked up in a small set of bits, and only where that hits the beginnings are compared.
 *
 * A beginning that is cut off, by the end of the text or by the mark of a cut, counts from three characters on.
 */

/** What marks a cut, in `cutText` and everywhere else. */
export const CUT = '…';
/** Least characters of a value at a cut that are looked for. */
export const SHORTEST_HEAD = 3;
/** Characters compared; what begins alike is alike enough for this question. */
const COMPARED = 8;
/** Bits of the sum over three characters, each shifted by five more than the next: the fourth falls off by itself. */
const SUM_BITS = 15;
const SUM = (1 << SUM_BITS) - 1;
const CUT_CODE = CUT.charCodeAt(0);

/** Where the next of the texts may begin, from `from` on; -1: nowhere. */
export type HeadScan = (text: string, from?: number) => number;

function sumOf(head: string): number {
  let sum = 0;
  for (let at = 0; at < SHORTEST_HEAD; at++) sum = ((sum << 5) ^ head.charCodeAt(at)) & SUM;
  return sum;
}

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

/** `texts`: of three characters or more. */
export function createHeadScan(texts: readonly string[]): HeadScan {
  const bits = new Int32Array((SUM + 1) / 32);
  const heads = new Map<number, string[]>();
  for (const head of new Set(texts.map((text) => text.slice(0, COMPARED)))) {
    const sum = sumOf(head);
    bits[sum >> 5] = (bits[sum >> 5]!) | (1 << (sum & 31));
    const others = heads.get(sum);
    if (others === undefined) heads.set(sum, [head]);
    else others.push(head);
  }
  return (text, start = 0) => {
    let sum = 0;
    for (let at = start; at < text.length; at++) {
      sum = ((sum << 5) ^ text.charCodeAt(at)) & SUM;
      if ((((bits[sum >> 5]!) >> (sum & 31)) & 1) === 0 || at < start + SHORTEST_HEAD - 1) continue;
      const from = at - SHORTEST_HEAD + 1;
      for (const head of heads.get(sum) ?? []) if (beginsAt(text, from, head)) return from;
    }
    return -1;
  };
}
