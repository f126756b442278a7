/**
 * One pass over a text that tells which kinds of secrets it may contain. Most texts contain none, so no rule has to run on them.
 * False positives are possible, false negatives are not.
 */
import { createHeads } from './redact-heads.ts';
import {
  ALPHABET,
  CLASSES,
  createNameTables,
  FOUND,
  OTHER,
  type SecretNames,
  TREACHEROUS,
} from './redact-names.ts';
import { SHORTEST_DIGITS } from './redact-numbers.ts';

/** What a text contains, as bits. */
export const HOLDS = {
  /** `%`, a backslash or `&`: something may be escaped. */
  escape: 0x40,
  /** `@`, which ends a password in an address. */
  at: 0x80,
  /** `=`, `:` or `<`: a name may have a value. */
  pair: 0x100,
  tag: 0x200,
  /** The beginning of a known value or of a shape. */
  head: 0x400,
  name: 0x800,
  /** A number that is long enough for a payment card or a bank account. */
  digits: 0x1000,
} as const;

const CLASS = CLASSES - 1;
/** Marks of characters, beside the bits of HOLDS: a digit, and what may stand between two digits of one number. */
const DIGIT = 0x2000;
const GAP = 0x4000;
/** `İ` and the Kelvin sign. */
const TREACHEROUS_CODES = [0x130, 0x212a];

/** The class of each character, and the bits that it sets. */
function createCharacters(): Uint16Array {
  const characters = new Uint16Array(0x10000).fill(OTHER);
  const add = (code: number, bit: number): void => {
    characters[code] = (characters[code] ?? OTHER) | bit;
  };
  const mark = (text: string, bit: number): void => {
    for (const character of text) add(character.charCodeAt(0), bit);
  };
  Array.from(ALPHABET).forEach((character, index) => {
    characters[character.charCodeAt(0)] = index + 1;
  });
  for (const code of TREACHEROUS_CODES) characters[code] = TREACHEROUS;
  mark('%\\&', HOLDS.escape);
  mark('0123456789', DIGIT);
  mark(' -+%', GAP);
  mark('@', HOLDS.at);
  mark('=:', HOLDS.pair);
  mark('<', HOLDS.pair | HOLDS.tag);
  return characters;
}

const CHARACTERS = createCharacters();

/** `heads`: strings of at least three characters whose beginnings are searched for. */
export function createScan(names: SecretNames, heads: readonly string[]): (text: string) => number {
  const { words, start, joined } = createNameTables(names);
  const { isSum, nextSum, standsAt } = createHeads(heads);
  return (text) => {
    let seen = 0;
    let sum = 0;
    let word = start;
    let row = 0;
    let digits = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const character = CHARACTERS[code] ?? TREACHEROUS;
      seen |= character;
      word = words[word + (character & CLASS)] ?? FOUND;
      row = joined[row + (character & CLASS)] ?? FOUND;
      if ((word | row) < 0) {
        seen |= HOLDS.name;
        word = start;
        row = 0;
      }
      if ((character & DIGIT) !== 0) {
        if (++digits === SHORTEST_DIGITS) seen |= HOLDS.digits;
      } else if ((character & GAP) === 0) digits = 0;
      sum = nextSum(sum, code);
      if (isSum[sum] === 1 && standsAt(text, at, sum)) seen |= HOLDS.head;
    }
    if (words[word + OTHER] === FOUND) seen |= HOLDS.name;
    return seen & ~(CLASS | DIGIT | GAP);
  };
}
