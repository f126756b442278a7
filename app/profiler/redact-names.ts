/**
 * Tables for the question whether a text names a secret at all, so that the rules by name, which take addresses, forms,
 * markup and JSON apart, run only over texts in which they could find something. They may say yes where nothing is found;
 * they never say no where something would be: any name that a rule cuts out of a text and that is a secret's holds
 *
 * - one of `words` between two boundaries: a character that is no letter or digit, an end, or the step of `userToken`, or
 * - the letters of one of `joined` in a row, whatever else stands between them: `api-key`, `a.p.i.key`.
 *
 * Two automata of Aho and Corasick: one over words with their boundaries, one over letters and digits alone. Names that
 * are written with escapes (`pass%77ord`) are not known here: whoever asks looks for escapes himself.
 */

/** Classes of characters, the columns of a table: letters, digits, and all else. */
export const CLASSES = 64;
export const OTHER = 0;
/** What turns into a letter when it is put in lower case: taken for a name, whatever stands around it. */
export const TREACHEROUS = 63;
/** Of the classes 1 to 62. */
export const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const BOUNDARY = '|';
/** In a table instead of the next state: found. */
export const FOUND = -1;

/** What patterns are made of, in lower case: the columns of an automaton. */
const SYMBOLS = 'abcdefghijklmnopqrstuvwxyz0123456789|';
const WIDTH = SYMBOLS.length;
const BOUNDARY_SYMBOL = SYMBOLS.indexOf(BOUNDARY);
/** By class. */
const SYMBOL_OF = Uint8Array.from(` ${ALPHABET}`.toLowerCase(), (character) =>
  Math.max(0, SYMBOLS.indexOf(character)),
);

interface Automaton {
  states: number;
  /** Next states by state and symbol. */
  next: Int32Array;
  /** 1: the end of a pattern was read. */
  found: Uint8Array;
}

/** State 0 is the beginning. A pattern with another character is in no name, and left out. */
function createAutomaton(given: readonly string[]): Automaton {
  const patterns = given.filter((pattern) => Array.from(pattern).every((part) => SYMBOLS.includes(part)));
  const most = patterns.reduce((sum, pattern) => sum + pattern.length, 1);
  const next = new Int32Array(most * WIDTH);
  const found = new Uint8Array(most);
  let states = 1;
  for (const pattern of patterns) {
    let state = 0;
    for (const character of pattern) {
      const at = state * WIDTH + SYMBOLS.indexOf(character);
      state = next[at] ||= states++;
    }
    found[state] = 1;
  }
  // Level by level: where the longest end of what was read begins another pattern, and what comes next there.
  const fallback = new Int32Array(states);
  const queue = [0];
  for (const state of queue) {
    const row = state * WIDTH;
    const other = (fallback[state] ?? 0) * WIDTH;
    for (let symbol = 0; symbol < WIDTH; symbol++) {
      const child = next[row + symbol] ?? 0;
      const otherwise = state === 0 ? 0 : (next[other + symbol] ?? 0);
      if (child === 0) next[row + symbol] = otherwise;
      else {
        fallback[child] = otherwise;
        if (found[otherwise] === 1) found[child] = 1;
        queue.push(child);
      }
    }
  }
  return { states, next, found };
}

const isUpper = (index: number): boolean => index > 26 && index <= 52;

/** Next states by state and class; a state is its place in the table. */
function createTable(states: number, next: (state: number, index: number) => number): Int32Array {
  const table = new Int32Array(states * CLASSES);
  for (let state = 0; state < states; state++) {
    table[state * CLASSES + TREACHEROUS] = FOUND;
    for (let index = 0; index < TREACHEROUS; index++) {
      const target = next(state, index);
      table[state * CLASSES + index] = target === FOUND ? FOUND : target * CLASSES;
    }
  }
  return table;
}

/** Two states per state of the automaton: was the character before one after which a capital begins a word? */
function createWordTable(words: readonly string[]): { words: Int32Array; start: number } {
  const { states, next, found } = createAutomaton(words.map((word) => `${BOUNDARY}${word}${BOUNDARY}`));
  const follow = (state: number, symbol: number): number => next[state * WIDTH + symbol] ?? 0;
  const table = createTable(states * 2, (state, index) => {
    let at = state >> 1;
    if (index === OTHER || (isUpper(index) && state % 2 === 1)) {
      at = follow(at, BOUNDARY_SYMBOL);
      if (found[at] === 1) return FOUND;
    }
    if (index === OTHER) return at * 2;
    return follow(at, SYMBOL_OF[index] ?? 0) * 2 + (isUpper(index) ? 0 : 1);
  });
  return { words: table, start: follow(0, BOUNDARY_SYMBOL) * 2 * CLASSES };
}

function createJoinedTable(joined: readonly string[]): Int32Array {
  const { states, next, found } = createAutomaton(joined);
  return createTable(states, (state, index) => {
    if (index === OTHER) return state;
    const at = next[state * WIDTH + (SYMBOL_OF[index] ?? 0)] ?? 0;
    return found[at] === 1 ? FOUND : at;
  });
}

export interface SecretNames {
  /** In lower case, of letters and digits. */
  words: readonly string[];
  joined: readonly string[];
}

/** A state is the place of its row; the next one stands in it under the class of the next character. */
export interface NameTables {
  words: Int32Array;
  /** The state of `words` before the first character; that of `joined` is 0. Behind the last one comes OTHER. */
  start: number;
  joined: Int32Array;
}

export function createNameTables({ words, joined }: SecretNames): NameTables {
  return { ...createWordTable(words), joined: createJoinedTable(joined) };
}
