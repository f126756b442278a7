/** A statement in a line: for rows and cards. Of a long one, conditions, order and limit stay, because they decide what it returns. */
import { plainName, type SqlToken, sqlTokens } from '../shared/sql-tokens.ts';
import { type Binding, indexesOf, valuesInPlace } from '../shared/sql-values.ts';

const LINE_LENGTH = 240;
/** Of a line that is cut, how much of its end stays; the rest of its length is its beginning. */
const END_LENGTH = 80;
const TEXT_LENGTH = 60;
/** Tokens before a marked value: the name that it is compared with. */
const BEFORE_MARK = 7;
const VALUE_LENGTH = 32;
const VALUES_LENGTH = 160;
const MOST_READ = 4000;

/** Characters of a list of columns that stay if the line would be too long. */
const COLUMNS_LENGTH = 40;

const PLACEHOLDER = /^[?$:@]/;
const IS_JOIN = /^join$/i;
/** Tables of joins that are left out of the line. */
const MOST_JOINED = 6;
const BEFORE_TABLE = /^[\s(]*$|^(?:lateral|only)$/i;
const AFTER_TABLE = /^[\s();]/;
const IS_QUERY = /^(?:select|with|values)$/i;
const JOIN = /^(?:left|right|full|inner|cross|natural|join)$/i;
const AFTER_TABLES = /^(?:where|group|having|order|limit|offset|fetch|union|intersect|except|for|window)$/i;

/** What is left out of the line: it begins behind the token that `starts` and ends before the first token that `ends` matches. */
interface Part {
  starts: (text: string, tokens: readonly SqlToken[], at: number) => boolean;
  ends: (text: string) => boolean;
  /** What of it stays. */
  shown: (inside: readonly SqlToken[]) => readonly SqlToken[];
}

function firstColumns(inside: readonly SqlToken[]): SqlToken[] {
  let length = 0;
  return inside.filter(([, text]) => (length += text.length) <= COLUMNS_LENGTH);
}

/** `JOIN people, labels`: the tables decide how many rows there are. */
function joinedTables(inside: readonly SqlToken[]): SqlToken[] {
  const names = new Set<string>();
  for (const [at, [, text]] of inside.entries()) {
    if (!IS_JOIN.test(text)) continue;
    const start = inside.findIndex((token, index) => index > at && !BEFORE_TABLE.test(token[1]));
    const end = inside.findIndex((token, index) => index > start && AFTER_TABLE.test(token[1]));
    const name = inside.slice(start, end === -1 ? undefined : end).map((token) => plainName(token[1]));
    if (start !== -1 && !IS_QUERY.test(name[0] ?? '')) names.add(name.join(''));
  }
  const shown = [...names].slice(0, MOST_JOINED).join(', ');
  return shown === '' ? [] : [['', `JOIN ${shown}`]];
}

const COLUMNS: Part = {
  starts: (text) => /^select$/i.test(text),
  ends: (text) => /^from$/i.test(text),
  shown: firstColumns,
};
const CONDITIONS: Part = {
  starts: (text, tokens, at) =>
    /^on$/i.test(text) && !/^(?:conflict|duplicate)$/i.test(tokens[at + 2]?.[1] ?? ''),
  ends: (text) => JOIN.test(text) || AFTER_TABLES.test(text),
  shown: () => [],
};
const JOINS: Part = {
  starts: (_text, tokens, at) => JOIN.test(tokens[at + 1]?.[1] ?? ''),
  ends: (text) => AFTER_TABLES.test(text),
  shown: joinedTables,
};

/** Index of the token that ends a part, at the same depth of brackets; -1: none does. */
function endOfPart(tokens: readonly SqlToken[], from: number, { ends }: Part): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    const text = tokens[at]?.[1] ?? '';
    if (text === '(') depth++;
    if (text === ')' && --depth < 0) return at;
    if (depth === 0 && ends(text)) return at;
  }
  return -1;
}

/** Parts with placeholders stay, because values are placed by their order. */
function without(tokens: readonly SqlToken[], part: Part): readonly SqlToken[] {
  const left: SqlToken[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] ?? ['', ''];
    left.push(token);
    if (!part.starts(token[1], tokens, at)) continue;
    const end = endOfPart(tokens, at + 1, part);
    const inside = tokens.slice(at + 1, end);
    if (end === -1 || inside.some(([kind, text]) => kind === 'd' && PLACEHOLDER.test(text))) continue;
    const shown = part.shown(inside);
    if (shown.length === inside.length) continue;
    left.push(...shown, ['', ' '], ['', '… ']);
    at = end - 1;
  }
  return left;
}

function isTooLong(tokens: readonly SqlToken[]): boolean {
  return tokens.reduce((length, [, text]) => length + text.length, 0) > LINE_LENGTH;
}

interface Given {
  bindings?: readonly Binding[];
  /** Names of bindings whose values are marked; a cut leaves them in. */
  marked?: ReadonlySet<string>;
}

/** Without comments and the quotes that Knex puts around every name; of a long line each text is cut first. */
function plainTokens(whole: readonly SqlToken[]): SqlToken[] {
  const longest = isTooLong(whole) ? TEXT_LENGTH : LINE_LENGTH;
  const tokens: SqlToken[] = [];
  for (const [kind, part] of whole) {
    if (kind === 'c') continue;
    const isSpace = part.trim() === '';
    if (isSpace && (tokens.length === 0 || tokens.at(-1)?.[1] === ' ')) continue;
    const text = isSpace ? ' ' : plainName(part);
    tokens.push([
      kind,
      text.length > longest ? `${text.slice(0, longest)}…${text.endsWith("'") ? "'" : ''}` : text,
    ]);
  }
  return tokens;
}

/** Which tokens of a long line stay: its beginning, its end if that was read, both in whole words, and what is marked. */
function keptOf(
  tokens: readonly SqlToken[],
  { isWhole, marks }: { isWhole: boolean; marks: readonly boolean[] },
): boolean[] {
  let total = 0;
  const ends = tokens.map(([, text]) => (total += text.length));
  if (total <= LINE_LENGTH && isWhole) return tokens.map(() => true);
  const isSpace = (at: number): boolean => tokens[at]?.[1] === ' ';
  const longest = LINE_LENGTH - (isWhole ? END_LENGTH : 0);
  const first = ends.findLastIndex((end, at) => end <= longest && isSpace(at + 1));
  const last = isWhole ? ends.findIndex((end, at) => total - end < END_LENGTH && isSpace(at)) : -1;
  return tokens.map(
    (_token, at) =>
      at <= first || (last !== -1 && at >= last) || marks.slice(at, at + BEFORE_MARK).includes(true),
  );
}

export function oneLine(
  sql: string,
  system: string | undefined,
  { bindings = [], marked = new Set() }: Given = {},
): SqlToken[] {
  let whole: readonly SqlToken[] = sqlTokens(sql.slice(0, MOST_READ), system);
  const isWhole = sql.length <= MOST_READ;
  // It may end in the middle of one.
  if (!isWhole) whole = whole.slice(0, -1);
  for (const part of [COLUMNS, CONDITIONS, JOINS]) if (isTooLong(whole)) whole = without(whole, part);
  const tokens = plainTokens(whole);
  const longest = Math.max(VALUE_LENGTH, Math.floor(VALUES_LENGTH / bindings.length));
  const placed = bindings.length === 0 ? tokens : valuesInPlace(tokens, bindings, { system, longest }).tokens;
  const marks =
    marked.size === 0
      ? []
      : indexesOf(tokens, bindings.length).map((at) => at !== null && marked.has(bindings[at]?.name ?? ''));
  const kept = keptOf(tokens, { isWhole, marks });
  return placed.flatMap(([kind, text], at): SqlToken[] => {
    if (kept[at] === true) return [[marks[at] === true ? 'u' : kind, text]];
    if (kept[at - 1] !== true) return [];
    const next = kept.indexOf(true, at);
    const before = tokens[at - 1]?.[1] === ' ' || next === -1 ? '' : ' ';
    return [['', `${before}…${next === -1 || tokens[next]?.[1] === ' ' ? '' : ' '}`]];
  });
}
