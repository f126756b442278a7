/**
 * SQL -> tokens, for colours, names of bindings and statements that compare equal. One pass, linear, never throws;
 * knows PostgreSQL's quoting and what other dialects share with it. No parser: it needs no grammar to colour.
 */

/** Class as in the style sheet (`k` keyword, `s` string, `d` number or placeholder, `c` comment, empty: the rest) and text. */
export type SqlToken = readonly [kind: '' | 'k' | 's' | 'd' | 'c', text: string];

const KEYWORDS = new Set(
  (
    'add all alter analyze and any array as asc begin between by cascade case cast check column commit conflict ' +
    'constraint create cross current_date current_timestamp database default delete desc distinct do drop else end ' +
    'except exists explain false fetch filter following for foreign from full function group having if ilike in index ' +
    'inner insert intersect interval into is isolation join key lateral left level like limit lock natural not ' +
    'nothing null nulls offset on only or order outer over partition preceding primary read recursive references ' +
    'release returning right rollback row rows savepoint schema select set similar skip some start table temporary ' +
    'then to transaction trigger true truncate union unique update using values view when where window with work write'
  ).split(' '),
);

/** Alternatives by first character; each is linear, what is not closed runs to the end. */
const TOKEN = new RegExp(
  [
    String.raw`--[^\n]*`,
    String.raw`/\*(?:[^*]|\*(?!/))*(?:\*/)?`,
    String.raw`[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)`,
    String.raw`'(?:[^']|'')*(?:'|$)`,
    String.raw`"(?:[^"]|"")*(?:"|$)`,
    '`[^`]*(?:`|$)',
    String.raw`\$(?:[A-Za-z_]\w*)?\$`,
    String.raw`\$\d+|\?\d*|:[A-Za-z_]\w*(?!:)`,
    String.raw`\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b`,
    String.raw`[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*`,
    String.raw`\s+`,
    String.raw`::|<=|>=|<>|!=|[\s\S]`,
  ].join('|'),
  'g',
);
const LONGEST = 20_000;

function kindOf(text: string): SqlToken[0] {
  const first = text[0] ?? '';
  if (text.startsWith('--') || text.startsWith('/*')) return 'c';
  if (first === "'" || /^[eE]'/.test(text)) return 's';
  if (/^(?:\$\d|\?|:[A-Za-z_]|\d)/.test(text)) return 'd';
  return /^[A-Za-z_]/.test(first) && KEYWORDS.has(text.toLowerCase()) ? 'k' : '';
}

export function sqlTokens(sql: string): SqlToken[] {
  const text = sql.slice(0, LONGEST);
  const tokens: SqlToken[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const [word] = match;
    if (/^\$\w*\$$/.test(word) && !/^\$\d/.test(word)) {
      // A dollar-quoted text ends with the tag that it began with.
      const close = text.indexOf(word, match.index + word.length);
      const end = close === -1 ? text.length : close + word.length;
      tokens.push(['s', text.slice(match.index, end)]);
      TOKEN.lastIndex = end;
      if (end >= text.length) break;
      continue;
    }
    tokens.push([kindOf(word), word]);
    if (TOKEN.lastIndex >= text.length) break;
  }
  TOKEN.lastIndex = 0;
  return tokens;
}

/** Neighbours of one class joined, so that a page needs few elements. */
export function joinTokens(tokens: readonly SqlToken[]): SqlToken[] {
  const joined: SqlToken[] = [];
  for (const [kind, text] of tokens) {
    const last = joined.at(-1);
    const isSpace = text.trim() === '';
    if (last !== undefined && (last[0] === kind || (isSpace && last[0] !== 'c')))
      joined[joined.length - 1] = [last[0], last[1] + text];
    else joined.push([kind, text]);
  }
  return joined;
}

/** Words that begin a line of a formatted statement. */
const CLAUSES = new Set(
  'select from where group order having limit offset set values returning union left inner join and insert update delete with on'.split(
    ' ',
  ),
);
const NEVER_AFTER = new Set(['left', 'inner', 'between', 'for', 'delete', 'conflict', 'key', 'nulls']);

function indentOf(word: string): string {
  return word === 'and' || word === 'on' || word === 'set' ? '  ' : '';
}

/** Clauses on lines of their own, at the outermost level only; texts and comments stay as they are. */
export function sqlLines(sql: string): SqlToken[][] {
  const lines: SqlToken[][] = [[]];
  let depth = 0;
  let before = '';
  let between = false;
  for (const [kind, text] of sqlTokens(sql)) {
    const word = text.toLowerCase();
    if (text === '(') depth++;
    if (text === ')') depth = Math.max(0, depth - 1);
    const breaks =
      kind === 'k' &&
      depth === 0 &&
      CLAUSES.has(word) &&
      !NEVER_AFTER.has(before) &&
      before !== '' &&
      !(between && word === 'and');
    if (depth === 0 && (word === 'between' || word === 'and')) between = word === 'between';
    if (breaks) lines.push(indentOf(word) === '' ? [] : [['', indentOf(word)]]);
    const isSpace = text.trim() === '';
    if (!isSpace) before = word;
    const current = lines.at(-1) ?? [];
    if (isSpace && (current.length === 0 || breaks)) continue;
    current.push([kind, isSpace ? ' ' : text]);
  }
  return lines.map((line) => joinTokens(trimEnd(line))).filter((line) => line.length > 0);
}

function trimEnd(line: SqlToken[]): SqlToken[] {
  while (line.at(-1)?.[1].trim() === '') line.pop();
  return line;
}
