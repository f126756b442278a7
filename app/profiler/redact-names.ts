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
const LETTERS = 26;
/** The first class of each kind. */
const CAPITALS = 27;
const DIGITS = 53;
const BOUNDARY = '|';
/** In a table instead of the next state: found. */
export const FOUND = -1;

interface Node {
  /** Place of its row, or of the first of its rows. */
  state: number;
  next: Map<string, Node>;
  /** Where the longest end of what was read begins another pattern. */
  fallback: Node | null;
  /** A pattern ends here. */
  found: boolean;
}

/** `rows`: per node. */
function createNode(count: number, rows: number): Node {
  return { state: count * rows * CLASSES, next: new Map(), fallback: null, found: false };
}

function follow(from: Node | null, character: string): Node | undefined {
  for (let node = from; node !== null; node = node.fallback) {
    const next = node.next.get(character);
    if (next !== undefined) return next;
  }
  return undefined;
}

/** A node for each beginning of the patterns, shorter ones first: the first is that of nothing. */
function createNodes(patterns: readonly string[], rows: number): [Node, ...Node[]] {
  const root = createNode(0, rows);
  let count = 1;
  for (const pattern of patterns) {
    let node = root;
    for (const character of pattern) {
      const next = node.next.get(character) ?? createNode(count++, rows);
      node.next.set(character, next);
      node = next;
    }
    node.found = true;
  }
  const nodes: [Node, ...Node[]] = [root];
  for (const node of nodes) {
    for (const [character, next] of node.next) {
      next.fallback = follow(node.fallback, character) ?? root;
      next.found ||= next.fallback.found;
      nodes.push(next);
    }
  }
  return nodes;
}

/** Class of a small letter or a digit. */
function classOf(character: string): number {
  return ALPHABET.indexOf(character) + 1;
}

/** Class of its capital; that of a digit itself. */
function capitalOf(character: string): number {
  return classOf(character.toUpperCase());
}

/**
 * Two rows per node, the second for after a small letter or digit, where a capital begins a word. A row is that of the
 * fallback, save for what goes on from its own node. Every pattern begins and ends with a boundary: the node behind the
 * first is where each word starts, and a second one is always an end.
 */
function createWordTable(words: readonly string[]): { words: Int32Array; start: number } {
  const [root, ...nodes] = createNodes(
    words.map((word) => `${BOUNDARY}${word}${BOUNDARY}`),
    2,
  );
  const start = follow(root, BOUNDARY) ?? root;
  const table = new Int32Array((nodes.length + 1) * 2 * CLASSES);
  for (const row of [0, CLASSES]) {
    table.fill(CLASSES, row, row + CLASSES);
    table.fill(0, row + CAPITALS, row + CAPITALS + LETTERS);
    table[row + OTHER] = start.state;
    table[row + TREACHEROUS] = FOUND;
  }
  for (const [character, { state }] of start.next) {
    if (capitalOf(character) < DIGITS) table[CLASSES + capitalOf(character)] = state;
  }
  for (const { state, next, fallback } of nodes) {
    const from = fallback?.state ?? 0;
    const second = state + CLASSES;
    table.copyWithin(state, from, from + 2 * CLASSES);
    for (const [character, { state: target }] of next) {
      if (character === BOUNDARY) {
        table[state + OTHER] = table[second + OTHER] = FOUND;
        table.fill(FOUND, second + CAPITALS, second + CAPITALS + LETTERS);
        continue;
      }
      table[state + capitalOf(character)] = target;
      table[state + classOf(character)] = table[second + classOf(character)] = target + CLASSES;
    }
  }
  return { words: table, start: start.state };
}

/** What is no letter or digit is passed over. */
function createJoinedTable(joined: readonly string[]): Int32Array {
  const nodes = createNodes(joined, 1);
  const table = new Int32Array(nodes.length * CLASSES);
  table[TREACHEROUS] = FOUND;
  for (const { state, fallback, next } of nodes) {
    if (fallback !== null) table.copyWithin(state, fallback.state, fallback.state + CLASSES);
    table[state + OTHER] = state;
    for (const [character, { state: target, found }] of next) {
      table[state + classOf(character)] = table[state + capitalOf(character)] = found ? FOUND : target;
    }
  }
  return table;
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

/** Words of other characters are in no name, and left out. */
export function createNameTables({ words, joined }: SecretNames): NameTables {
  const possible = words.filter((word) => /^[a-z0-9]+$/.test(word));
  return { ...createWordTable(possible), joined: createJoinedTable(joined) };
}
