/**
 * Source excerpts on a page: a small tokenizer for JavaScript and TypeScript. It works line by line on pieces of files, so
 * it guesses where a line stands (a comment or template literal that began above is not known) and never fails.
 * Written here rather than taken from a library: five classes are all that is shown, and a highlighter is a
 * megabyte of grammars.
 */
import type { SourceExcerpt } from '../profiler/thrown.ts';
import type { CodeLine, CodeToken } from './code.ts';

const KEYWORDS = new Set([
  'abstract', 'as', 'async', 'await', 'break', 'case', 'catch', 'class', 'const', 'continue', 'debugger', 'declare', 'default',
  'delete', 'do', 'else', 'enum', 'export', 'extends', 'false', 'finally', 'for', 'from', 'function', 'get', 'if', 'implements',
  'import', 'in', 'instanceof', 'interface', 'let', 'new', 'null', 'of', 'private', 'protected', 'public', 'readonly', 'return',
  'satisfies', 'set', 'static', 'super', 'switch', 'this', 'throw', 'true', 'try', 'type', 'typeof', 'undefined', 'var', 'void',
  'while', 'with', 'yield',
]); // prettier-ignore

/** Comment, string, number, word; what lies between is plain. Each alternative is linear. */
const TOKEN =
  /(\/\/.*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?)|('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|`(?:[^`\\]|\\.)*`?)|(?<![\w$])(\d[\w.]*)|([\p{L}_$][\p{L}\p{N}_$]*)/gu;

const CALL = /^\s*(?:<[\w\s,[\]]*>)?\(/;
const CALL_BEGINS = /[\s<(]/;

/** What is open at the end of a line. */
type Open = 'comment' | 'template' | null;

/** Class of the word that stands from `from` to `to`. */
function wordClass(word: string, line: string, from: number, to: number): string {
  const isProperty = line[from - 1] === '.' && line[from - 2] !== '.';
  if (KEYWORDS.has(word) && !isProperty) return 'k';
  return CALL_BEGINS.test(line[to] ?? '') && CALL.test(line.slice(to, to + 80)) ? 'f' : '';
}

function openAfter(text: string): Open {
  if (text.startsWith('/*') && !text.endsWith('*/')) return 'comment';
  return text.startsWith('`') && (text.length === 1 || !text.endsWith('`')) ? 'template' : null;
}

function tokenizeLine(line: string, open: Open): { tokens: CodeToken[]; open: Open } {
  const tokens: CodeToken[] = [];
  let at = 0;
  let state = open;
  if (state !== null) {
    const close = state === 'comment' ? '*/' : '`';
    const end = line.indexOf(close);
    const kind = state === 'comment' ? 'c' : 's';
    if (end === -1) return { tokens: [[kind, line]], open };
    at = end + close.length;
    tokens.push([kind, line.slice(0, at)]);
    state = null;
  }
  TOKEN.lastIndex = at;
  for (let match = TOKEN.exec(line); match !== null; match = TOKEN.exec(line)) {
    const [text, comment, string, number] = match;
    if (match.index > at) tokens.push(['', line.slice(at, match.index)]);
    at = match.index + text.length;
    if (comment !== undefined) tokens.push(['c', text]);
    else if (string !== undefined) tokens.push(['s', text]);
    else if (number !== undefined) tokens.push(['d', text]);
    else tokens.push([wordClass(text, line, match.index, at), text]);
    state = openAfter(text);
  }
  if (at < line.length) tokens.push(['', line.slice(at)]);
  return { tokens: mergePlain(tokens), open: state };
}

/** Neighbours of one class as one token: a page has hundreds of them. */
function mergePlain(tokens: readonly CodeToken[]): CodeToken[] {
  const merged: [string, string][] = [];
  for (const [kind, text] of tokens) {
    const last = merged.at(-1);
    if (last?.[0] === kind) last[1] += text;
    else merged.push([kind, text]);
  }
  return merged;
}

/** The part of a line that a column points at: a word, `new` with what it makes, or one character. */
function pointedAt(line: string, column: number): [number, number] | null {
  const from = column - 1;
  if (from < 0 || from >= line.length || /\s/.test(line[from] ?? ' ')) return null;
  const word = /^(?:new\s+)?[\p{L}\p{N}_$]+/u.exec(line.slice(from));
  return [from, from + (word?.[0].length ?? 1)];
}

/** Underlines columns of a line of tokens, splitting those that lie half in. */
function underline(tokens: readonly CodeToken[], [from, to]: readonly [number, number]): CodeToken[] {
  const result: CodeToken[] = [];
  let at = 0;
  for (const [kind, text] of tokens) {
    const cuts = [0, from - at, to - at, text.length].map((cut) => Math.min(text.length, Math.max(0, cut)));
    const [start = 0, first = 0, second = 0, end = 0] = cuts;
    for (const [part, name] of [
      [text.slice(start, first), kind],
      [text.slice(first, second), 'u'],
      [text.slice(second, end), kind],
    ] as const)
      if (part !== '') result.push([name, part]);
    at += text.length;
  }
  return mergePlain(result);
}

export const sourceHelpers = {
  /** Lines of an excerpt for `codeLines`: coloured, the place marked; `around` limits the lines before and after it. */
  excerptLines(
    excerpt: SourceExcerpt,
    place: { line: number | null; column: number | null },
    around = Infinity,
  ): CodeLine[] {
    let open: Open = null;
    const lines = excerpt.lines.map((text, index): CodeLine & { number: number } => {
      const number = excerpt.from + index;
      const line = tokenizeLine(text, open);
      open = line.open;
      // An empty line of its own would have no height.
      if (text === '') return { text: ' ', number, mark: number === place.line ? 'hot' : undefined };
      if (number !== place.line) return { tokens: line.tokens, number };
      const range = place.column === null ? null : pointedAt(text, place.column);
      return { number, mark: 'hot', tokens: range === null ? line.tokens : underline(line.tokens, range) };
    });
    return lines.filter(({ number }) => Math.abs(number - (place.line ?? number)) <= around);
  },
} as const;
