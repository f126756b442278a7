/**
 * State tables that tell whether a text may contain a secret name, so that the expensive rules by name (addresses, forms, markup,
 * JSON) run only on such texts. False positives are possible, false negatives are not: every secret name in a text contains
 *
 * - one of `words` between two boundaries (a character that is not a letter or digit, an end, or the case change of `userToken`),
 * - one of `patterns`, in which `|` is such a boundary, or
 * - the letters of one of `joined` in order, with any other characters between them: `api-key`, `a.p.i.key`.
 *
 * Two Aho-Corasick automata: one over words with boundaries, one over letters and digits only. Escaped names (`pass%77ord`) are not
 * recognised here; the caller checks for escapes.
 */

/** Character classes, the columns of a table: letters, digits, and everything else. */
export const CLASSES = 64;
export const OTHER = 0;
/** Characters that become an ASCII letter in lower case. They count as a match, whatever surrounds them. */
export const TREACHEROUS = 63;
/** The characters of classes 1 to 62. */
export const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const LETTERS = 26;
/** The first class of each kind. */
const CAPITALS = 27;
const DIGITS = 53;
const BOUNDARY = '|';
/** Marks a match in a table, in place of the next state. */
export const FOUND = -1;

interface Node {
  /** Index of its row, or of the first of its rows. */
  state: number;
  next: Map<string, Node>;
  /** The node of the longest suffix that begins another pattern. */
  fallback: Node | null;
  /** A pattern ends here. */
  found: boolean;
}

/** `rows`: number of rows per node. */
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

/** A node for each prefix of the patterns, shorter ones first; the first is the empty prefix. */
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

/** Class of a lower-case letter or a digit. */
function classOf(character: string): number {
  return ALPHABET.indexOf(character) + 1;
}

/** Class of the upper-case letter; for a digit, its own class. */
function capitalOf(character: string): number {
  return classOf(character.toUpperCase());
}

/**
 * Two rows per node; the second applies after a lower-case letter or digit, where a capital begins a word. A row is a copy of its
 * fallback's row plus the node's own transitions. A boundary at the beginning of a pattern starts a word, and one at its end is always a
 * match.
 */
function createWordTable({ words, patterns }: SecretNames): { words: Int32Array; start: number } {
  const [root, ...nodes] = createNodes(
    [...words.map((word) => `${BOUNDARY}${word}${BOUNDARY}`), ...patterns],
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
  for (const [character, { state }] of root.next) {
    if (character === BOUNDARY) continue;
    table[classOf(character)] = table[CLASSES + classOf(character)] = state + CLASSES;
    table[capitalOf(character)] = table[CLASSES + capitalOf(character)] = state;
  }
  for (const [character, { state }] of start.next) {
    if (capitalOf(character) < DIGITS) table[CLASSES + capitalOf(character)] = state;
  }
  for (const { state, next, fallback } of nodes) {
    const from = fallback?.state ?? 0;
    const second = state + CLASSES;
    table.copyWithin(state, from, from + 2 * CLASSES);
    for (const [character, { state: target, found }] of next) {
      if (character === BOUNDARY) {
        table[state + OTHER] = table[second + OTHER] = FOUND;
        table.fill(FOUND, second + CAPITALS, second + CAPITALS + LETTERS);
        continue;
      }
      table[state + capitalOf(character)] = found ? FOUND : target;
      table[state + classOf(character)] = table[second + classOf(character)] = found
        ? FOUND
        : target + CLASSES;
    }
  }
  return { words: table, start: start.state };
}

/** Skips characters that are not letters or digits. */
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
  /** All in lower case, letters and digits only. */
  words: readonly string[];
  joined: readonly string[];
  /** Parts of words, with `|` where a word begins or ends. */
  patterns: readonly string[];
}

/** A state is the index of its row. The row contains the next state for each character class. */
export interface NameTables {
  words: Int32Array;
  /** Initial state of `words`; that of `joined` is 0. The caller adds OTHER after the last character. */
  start: number;
  joined: Int32Array;
}

/** Words with other characters are omitted, because no name contains them. */
export function createNameTables(names: SecretNames): NameTables {
  const words = names.words.filter((word) => /^[a-z0-9]+$/.test(word));
  return { ...createWordTable({ ...names, words }), joined: createJoinedTable(names.joined) };
}
