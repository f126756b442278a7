/**
 * SQL -> tokens, for colours, names of bindings and the comparison of statements. One linear pass that never throws; knows
 * PostgreSQL's quoting and what other dialects share with it. Not a parser: colours need no grammar.
 */

/**
 * Class as in the style sheet (`k` keyword, `s` string, `d` number or placeholder, `c` comment, `v` a value in place of
 * its placeholder, `u` a marked one, empty: everything else) and text.
 */
export type SqlToken = readonly [kind: '' | 'k' | 's' | 'd' | 'c' | 'v' | 'u', text: string];

const KEYWORDS = new Set(
  (
    'add all alter analyze and any array as asc begin between by cascade case cast check column commit conflict ' +
    'constraint create cross current_date current_timestamp database default delete desc distinct do drop else end ' +
    'except exists explain false fetch filter following for foreign from full function group having if ilike in index ' +
    'inner insert intersect interval into is isolation join key lateral left level like limit lock materialized natural not ' +
    'nothing null nulls offset on only or order outer over partition preceding primary read recursive references ' +
    'release returning right rollback row rows savepoint schema select set similar skip some start table temporary ' +
    'then to transaction trigger true truncate union unique update using values view when where window with within work write'
  ).split(' '),
);

/** Alternatives by first character; each is linear, and an unclosed one extends to the end. */
const COMMENTS = [String.raw`--[^\n]*`, String.raw`/\*`];
const QUOTED = [
  String.raw`[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)`,
  String.raw`(?:[bBnNxX]|[uU]&)?'(?:[^']|'')*(?:'|$)`,
  String.raw`(?:[uU]&)?"(?:[^"]|"")*(?:"|$)`,
];
/** Of MySQL, whose `"…"` is a text, too, unless `ANSI_QUOTES` is set; `??` stands for a name. */
const QUOTED_BY_MYSQL = [
  String.raw`#[^\n]*`,
  String.raw`(?:[bBnNxX]|_\w+ ?)?'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)`,
  String.raw`"(?:[^"\\]|\\[\s\S]|"")*(?:"|$)`,
  String.raw`\?\?`,
];
const REST = [
  '`[^`]*(?:`|$)',
  String.raw`\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$`,
  String.raw`\$\d+|[:@$][A-Za-z_]\w*(?!:)`,
  String.raw`0[xX][\da-fA-F_]+\b|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b`,
  String.raw`[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*`,
  String.raw`\s+`,
  String.raw`::|->>|->|#>>|#>|@>|<@|\|\||\?\||\?&|@\?|@@|&&|!~\*|!~|~\*|=>|:=|<=>|<=|>=|<>|!=|\?\d*|[\s\S]`,
];
const TOKEN = new RegExp([...COMMENTS, ...QUOTED, ...REST].join('|'), 'g');
const MYSQL_TOKEN = new RegExp([...COMMENTS, ...QUOTED_BY_MYSQL, ...REST].join('|'), 'g');
const COMMENT_EDGE = /\/\*|\*\//g;
const LONGEST = 20_000;

function kindOf(text: string, isMysql: boolean): SqlToken[0] {
  const first = text[0] ?? '';
  if (text.startsWith('--') || text.startsWith('/*')) return 'c';
  if (isMysql && first === '#') return 'c';
  if (
    first === "'" ||
    (isMysql && (first === '"' || /^_\w+ ?'/.test(text))) ||
    /^(?:[eEbBnNxX]|[uU]&)'/.test(text)
  )
    return 's';
  if (/^(?:\$\d|\?\??\d*$|[:@$][A-Za-z_]|\d)/.test(text)) return 'd';
  return /^[A-Za-z_]/.test(first) && KEYWORDS.has(text.toLowerCase()) ? 'k' : '';
}

function commentEnd(text: string, from: number): number {
  let depth = 0;
  COMMENT_EDGE.lastIndex = from;
  for (let edge = COMMENT_EDGE.exec(text); edge !== null; edge = COMMENT_EDGE.exec(text)) {
    depth += edge[0] === '/*' ? 1 : -1;
    if (depth === 0) return COMMENT_EDGE.lastIndex;
  }
  return text.length;
}

/** A dollar-quoted text ends with the tag that it began with. */
function quoteEnd(text: string, from: number, tag: string): number {
  const close = text.indexOf(tag, from + tag.length);
  return close === -1 ? text.length : close + tag.length;
}

export function sqlTokens(sql: string, system?: string): SqlToken[] {
  const isMysql = system === 'mysql';
  const token = isMysql ? MYSQL_TOKEN : TOKEN;
  const text = sql.slice(0, LONGEST);
  const tokens: SqlToken[] = [];
  token.lastIndex = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [word] = match;
    let end = token.lastIndex;
    if (word === '/*') end = commentEnd(text, match.index);
    else if (word.length > 1 && word.startsWith('$') && word.endsWith('$'))
      end = quoteEnd(text, match.index, word);
    const isLonger = end !== token.lastIndex;
    const whole = isLonger ? text.slice(match.index, end) : word;
    tokens.push([
      word.startsWith('$') && word.endsWith('$') && word !== '$' ? 's' : kindOf(whole, isMysql),
      whole,
    ]);
    token.lastIndex = end;
    if (end >= text.length) break;
  }
  token.lastIndex = 0;
  return tokens;
}

/** Joins adjacent tokens of one class, so that a page needs few elements. Values stay separate. */
export function joinTokens(tokens: readonly SqlToken[]): SqlToken[] {
  const joined: SqlToken[] = [];
  for (const [kind, text] of tokens) {
    const last = joined.at(-1);
    const isSpace = text.trim() === '';
    const isValue = last?.[0] === 'v' || last?.[0] === 'u';
    if (last !== undefined && !isValue && (last[0] === kind || (isSpace && last[0] !== 'c')))
      joined[joined.length - 1] = [last[0], last[1] + text];
    else joined.push(isSpace ? ['', text] : [kind, text]);
  }
  return joined;
}

/** Without the unnecessary quotes that query builders put around every name; for text that is read, not run. */
export function plainNames(tokens: readonly SqlToken[]): SqlToken[] {
  return tokens.map(([kind, text]): SqlToken => [kind, plainName(text)]);
}

export function plainName(text: string): string {
  const name = /^(["`])([a-z_][a-z0-9_]*)\1$/.exec(text)?.[2];
  return name === undefined || KEYWORDS.has(name) ? text : name;
}

export function significant(tokens: readonly SqlToken[]): SqlToken[] {
  return tokens.filter(([kind, text]) => kind !== 'c' && text.trim() !== '');
}
