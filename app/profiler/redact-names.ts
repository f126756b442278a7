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

interface Node {
  id: number;
  next: Map<string, Node>;
  /** Where the longest end of what was read begins another pattern. */
  fallback: Node | null;
  found: boolean;
}

function createNodes(patterns: readonly string[]): Node[] {
  const nodes: Node[] = [];
  const create = (): Node => {
    const node = { id: nodes.length, next: new Map<string, Node>(), fallback: null, found: false };
    nodes.push(node);
    return node;
  };
  const root = create();
  for (const pattern of patterns) {
    let node = root;
    for (const character of pattern) {
      const next = node.next.get(character) ?? create();
      node.next.set(character, next);
      node = next;
    }
    node.found = true;
  }
  const queue = [root];
  for (const node of queue) {
    for (const [character, next] of node.next) {
      next.fallback = node.fallback === null ? root : follow(node.fallback, character);
      next.found ||= next.fallback.found;
      queue.push(next);
    }
  }
  return nodes;
}

function follow(from: Node, character: string): Node {
  for (let node: Node | null = from; node !== null; node = node.fallback) {
    const next = node.next.get(character);
    if (next !== undefined) return next;
    if (node.fallback === null) return node;
  }
  return from;
}

const letterOf = (index: number): string => ALPHABET.charAt(index - 1).toLowerCase();
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

/** Two states per node: was the character before one after which a capital begins a word? */
function createWordTable(words: readonly string[]): { words: Int32Array; start: number } {
  const nodes = createNodes(words.map((word) => `${BOUNDARY}${word}${BOUNDARY}`));
  const [root] = nodes as [Node];
  const table = createTable(nodes.length * 2, (state, index) => {
    let node = nodes[state >> 1] ?? root;
    if (index === OTHER || (isUpper(index) && state % 2 === 1)) {
      node = follow(node, BOUNDARY);
      if (node.found) return FOUND;
    }
    if (index === OTHER) return node.id * 2;
    return follow(node, letterOf(index)).id * 2 + (isUpper(index) ? 0 : 1);
  });
  return { words: table, start: follow(root, BOUNDARY).id * 2 * CLASSES };
}

function createJoinedTable(joined: readonly string[]): Int32Array {
  const nodes = createNodes(joined);
  const [root] = nodes as [Node];
  return createTable(nodes.length, (state, index) => {
    if (index === OTHER) return state;
    const node = follow(nodes[state] ?? root, letterOf(index));
    return node.found ? FOUND : node.id;
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
