/**
 * Formats the tokens of a statement in lines: each clause on its own line, conditions and subqueries indented, long lists
 * broken at commas, a short `case` on one line. Strings and comments are unchanged; what follows a line comment goes to the next line.
 */
import { joinTokens, type SqlToken, sqlTokens } from './sql-tokens.ts';

const CLAUSES = new Set(
  'select from where group having order limit offset fetch values returning union intersect except insert update delete set with window'.split(
    ' ',
  ),
);
const JOINS = new Set(['join', 'left', 'right', 'full', 'inner', 'cross', 'natural']);
const JOIN_PHRASE = new Set([...JOINS, 'outer']);
const SUBQUERY = new Set(['select', 'with', 'insert', 'update', 'delete']);
/** Longer lines are broken where there is a comma, longer groups of conditions at each. */
const WIDTH = 88;
const LONGEST_GROUP = 64;
const LONGEST_INLINE_QUERY = 32;
/** Deeper ones are not indented further. */
const DEEPEST = 12;

interface Word {
  token: SqlToken;
  text: string;
  spaced: boolean;
  end: number;
  length: number;
  joins: boolean;
}

interface Frame {
  kind: 'query' | 'group' | 'inline' | 'case';
  indent: number;
  clause: string;
}

function wordsOf(tokens: readonly SqlToken[]): Word[] {
  const words: Word[] = [];
  let spaced = false;
  for (const token of tokens) {
    if (token[1].trim() === '') {
      spaced = true;
      continue;
    }
    const isText = token[0] === 's' || token[0] === 'v';
    const text = isText ? '' : token[1].toLowerCase();
    words.push({ token, text, spaced, end: -1, length: 0, joins: false });
    spaced = false;
  }
  return words;
}

/** Finds the end and length of brackets and `case`. */
function measure(words: readonly Word[]): void {
  const open: { word: Word; at: number; comma: { word: Word; at: number } | null }[] = [];
  let top: { word: Word; at: number } | null = null;
  const starts: number[] = [];
  let total = 0;
  let ranges = 0;
  const lengthTo = (from: number, to: number): number => (starts[to] ?? total) - (starts[from] ?? 0);
  const endItem = (item: { word: Word; at: number } | null, at: number): void => {
    if (item === null) return;
    item.word.end = at;
    item.word.length = lengthTo(item.at, at);
  };
  words.forEach((word, at) => {
    starts.push(total);
    total += word.token[1].length + (word.spaced ? 1 : 0);
    const holder = open.at(-1);
    if (word.text === '(' || word.text === 'case') open.push({ word, at, comma: null });
    else if (
      holder !== undefined &&
      ((word.text === ')' && holder.word.text === '(') ||
        (word.text === 'end' && holder.word.text === 'case'))
    ) {
      endItem(holder.comma, at);
      open.pop();
      holder.word.end = at;
      holder.word.length = lengthTo(holder.at, at);
    } else if (word.text === ',' || (word.token[0] === 'k' && CLAUSES.has(word.text))) {
      // An item of a list ends with the next comma, or with the clause.
      endItem(holder === undefined ? top : holder.comma, at);
      const comma = word.text === ',' ? { word, at } : null;
      if (holder === undefined) top = comma;
      else holder.comma = comma;
    } else if (word.text === 'between') ranges++;
    else if (word.text === 'and' && ranges > 0) ranges--;
    else if (holder !== undefined && (word.text === 'and' || word.text === 'or')) holder.word.joins = true;
  });
  starts.push(total);
  endItem(top, words.length);
}

class Lines {
  readonly done: SqlToken[][] = [];
  #current: SqlToken[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add({ token, spaced }: Word): void {
    if (spaced && this.#current.length > 0 && this.#length > 0 && !this.#endsWithSpace())
      this.#push(['', ' ']);
    this.#push(token);
  }

  begin(indent: number): void {
    if (this.#current.some(([, text]) => text.trim() !== '')) this.done.push(joinTokens(this.#current));
    this.#current = [];
    this.#length = 0;
    if (indent > 0) this.#push(['', ' '.repeat(indent)]);
  }

  #push(token: SqlToken): void {
    this.#current.push(token);
    this.#length += token[1].length;
  }

  #endsWithSpace(): boolean {
    return this.#current.at(-1)?.[1].endsWith(' ') === true;
  }
}

function breaksBefore(words: readonly Word[], at: number, frame: Frame): boolean {
  const { token, text } = words[at] ?? { token: ['', ''], text: '' };
  if (token[0] !== 'k') return false;
  const before = words[at - 1]?.text ?? '';
  const next = words[at + 1]?.text ?? '';
  if (JOINS.has(text)) return next !== '(' && !JOIN_PHRASE.has(before) && frame.clause !== 'select';
  if (text === 'on') return next === 'conflict';
  if (text === 'for') return next === 'update' || next === 'share' || next === 'no' || next === 'key';
  if (!CLAUSES.has(text)) return false;
  if (text === 'with') return before === '';
  if (text === 'from') return before !== 'delete' && before !== 'distinct';
  if (text === 'update') return before !== 'for' && before !== 'do' && before !== 'key' && before !== 'on';
  if (text === 'delete') return before !== 'on';
  if (text === 'set') return frame.clause === 'update' || frame.clause === 'conflict';
  return true;
}

function opens(words: readonly Word[], at: number, lineIndent: number, depth: number): Frame {
  const word = words[at];
  const next = words[at + 1]?.text ?? '';
  const indent = lineIndent + 2;
  if (depth < DEEPEST && SUBQUERY.has(next) && (word?.length ?? 0) > LONGEST_INLINE_QUERY)
    return { kind: 'query', indent, clause: '' };
  if (depth < DEEPEST && word?.joins === true && word.length > LONGEST_GROUP)
    return { kind: 'group', indent, clause: '' };
  return { kind: 'inline', indent: lineIndent, clause: '' };
}

export function sqlLines(sql: string | readonly SqlToken[]): SqlToken[][] {
  const words = wordsOf(typeof sql === 'string' ? sqlTokens(sql) : sql);
  measure(words);
  const lines = new Lines();
  const frames: Frame[] = [{ kind: 'query', indent: 0, clause: '' }];
  let indent = 0;
  let between = false;
  const begin = (at: number): void => {
    indent = at;
    lines.begin(at);
  };

  words.forEach((word, at) => {
    const frame = frames.at(-1) ?? { kind: 'query', indent: 0, clause: '' };
    const before = words[at - 1];
    const { text } = word;
    if (before?.text.startsWith('--') === true) begin(frame.indent + (frame.kind === 'query' ? 2 : 0));
    if (text === ')' && frames.length > 1) {
      frames.pop();
      if (frame.kind === 'query' || frame.kind === 'group') begin(frame.indent - 2);
    } else if (text === 'end' && frame.kind === 'case') {
      frames.pop();
      begin(frame.indent - 2);
    } else if (frame.kind === 'case' && (text === 'when' || text === 'else')) begin(frame.indent);
    else if ((text === 'and' || text === 'or') && word.token[0] === 'k') {
      const inBetween = between && text === 'and';
      between = false;
      if (!inBetween && frame.kind === 'query' && frame.clause !== 'select') begin(frame.indent + 2);
      if (!inBetween && frame.kind === 'group') begin(frame.indent);
    } else if (frame.kind === 'query' && breaksBefore(words, at, frame)) {
      if (before !== undefined) begin(frame.indent);
      frame.clause = text === 'on' ? 'conflict' : text;
    } else if (frame.kind === 'query' && before?.text === ',') {
      if (frame.clause === 'with') begin(frame.indent);
      else if (lines.length + before.length > WIDTH) begin(frame.indent + 2);
    } else if (frame.kind === 'inline' && before?.text === ',' && lines.length + before.length > WIDTH)
      begin(frame.indent + 4);
    else if (before?.text === ';' && frames.length === 1) begin(0);
    if (text === 'between') between = true;
    lines.add(word);
    if (text === '(') {
      const opened = opens(words, at, indent, frames.length);
      frames.push(opened);
      if (opened.kind !== 'inline') begin(opened.indent);
    } else if (text === 'case' && word.length > LONGEST_GROUP && frames.length < DEEPEST)
      frames.push({ kind: 'case', indent: indent + 2, clause: '' });
  });
  lines.begin(0);
  return lines.done;
}
