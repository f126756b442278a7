/**
 * Marks in place of masked values: `[masked 3, string]`. Equal values of one record have the same number, so that rules can compare them.
 *
 * While the rules of masking run, a mark is a run of noncharacters of Unicode: no rule takes it for a name, a quote or the end of a value,
 * and no encoding changes it. `print` makes the readable text of it.
 */

/** A mark without a number: of a single text, or of what a panel leaves out by itself. */
export const MASKED = '[masked]';
export const MASK_PATTERN = /\[masked(?: \d+, [a-z]+)?\]/g;
const PRINTED = new RegExp(MASK_PATTERN.source);

export function isMasked(text: string): boolean {
  return PRINTED.test(text);
}

/** `string` of a text that is a mark and nothing else; null of any other value. */
export function maskedType(value: unknown): string | null {
  return typeof value === 'string' ? (/^\[masked \d+, ([a-z]+)\]$/.exec(value)?.[1] ?? null) : null;
}

/** For comparison of records: each has numbers of its own. */
export function withoutNumbers(text: string): string {
  return text.replace(MASK_PATTERN, MASKED);
}

/** The first character of a mark while rules run; ten further ones are its digits. */
const START = '\ufdd0';
const FIRST_DIGIT = 0xfdd1;
const MARK = /\ufdd0([\ufdd1-\ufdda]+)/g;
const MARK_IN_TEXT = /(\ufdd0[\ufdd1-\ufdda]+)/;
const WHOLE_MARK = /^\ufdd0[\ufdd1-\ufdda]+$/;
const RESERVED = /[\ufdd0-\ufdda]/g;
const ENCODED_MARK = /%EF%B7%90(?:%EF%B7%(?:9[1-9]|9A))+/g;

export function isMark(text: string): boolean {
  return WHOLE_MARK.test(text);
}

export function holdsMark(text: string): boolean {
  return text.includes(START);
}

export type Mark = (value: string, type?: 'string' | 'number') => string;

export function encodeAroundMarks(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(ENCODED_MARK, decodeURIComponent);
}

export function base64AroundMarks(text: string): string {
  const parts = text.split(MARK_IN_TEXT);
  return parts.map((part, at) => (at % 2 === 1 ? part : Buffer.from(part).toString('base64'))).join('');
}

export interface Marks {
  mark: Mark;
  /** A recorded text -> a text for the rules. Marks that it has already stay as they are. */
  read(text: string): string;
  print(text: string): string;
  areUsed(): boolean;
}

/** The marks of one record; those of a single text have no numbers. */
export function createMarks({ areNumbered }: { areNumbered: boolean }): Marks {
  const marks = new Map<string, string>();
  const printed: string[] = [];
  let count = 0;

  function markOf(key: string, print: () => string): string {
    const known = marks.get(key);
    if (known !== undefined) return known;
    const digits = Array.from(String(printed.length), (digit) =>
      String.fromCharCode(FIRST_DIGIT + Number(digit)),
    );
    const mark = START + digits.join('');
    marks.set(key, mark);
    printed.push(print());
    return mark;
  }

  return {
    mark(value, type = 'string') {
      if (isMark(value)) return value;
      return markOf(`${type}:${value}`, () => (areNumbered ? `[masked ${++count}, ${type}]` : MASKED));
    },
    read: (text) =>
      text.replace(RESERVED, '\ufffd').replace(MASK_PATTERN, (found) => markOf(`mark:${found}`, () => found)),
    areUsed: () => printed.length > 0,
    print: (text) =>
      text.replace(MARK, (_, digits: string) => {
        const index = Array.from(digits, (digit) => digit.charCodeAt(0) - FIRST_DIGIT).join('');
        return printed[Number(index)] ?? '\ufffd';
      }),
  };
}
