/**
 * Source excerpts on a page: JavaScript and TypeScript with JSX, coloured by sugar-high (docs/decisions/0003-dependencies.md), whose token types are
 * mapped to the five classes of the style sheet. An excerpt may begin anywhere: inside a comment, which is recognised, or inside a template,
 * which is not. No character is lost.
 */
import { parse } from 'sugar-high/core';
import * as typescript from 'sugar-high/lang/typescript';
import { dropOldest } from '../profiler/drop-oldest.ts';
import type { SourceExcerpt } from '../profiler/record/thrown.ts';
import type { CodeLine, CodeToken } from './code.ts';

type Parsed = ReturnType<typeof parse>['lines'][number]['tokens'];

const LITERALS = new Set(['null', 'true', 'false', 'undefined', 'NaN', 'Infinity']);
const CALL = /^\s*(?:<[\w\s,[\]|.]*>)?\(/;
const CALL_BEGINS = /[\s<(]/;

function classOf(type: string, value: string, line: string, end: number): string {
  if (type === 'comment') return 'c';
  if (type === 'string') return 's';
  if (LITERALS.has(value)) return 'k';
  // After a dot, any name is a property.
  if (type === 'keyword')
    return line[end - value.length - 1] === '.' && line[end - value.length - 2] !== '.'
      ? call(line, end)
      : 'k';
  if (/^\d/.test(value)) return 'd';
  return type === 'identifier' || type === 'property' || type === 'class' ? call(line, end) : '';
}

function call(line: string, end: number): string {
  return CALL_BEGINS.test(line[end] ?? '') && CALL.test(line.slice(end, end + 80)) ? 'f' : '';
}

/** Lines at the beginning that end a comment begun above them. */
function commentBegunAbove(lines: readonly string[]): number {
  const end = lines.findIndex((line) => line.includes('*/'));
  const isInside = end !== -1 && lines.slice(0, end + 1).every((line) => /^\s*\*/.test(line));
  return isInside ? end + 1 : 0;
}

function tokensOf(parsed: Parsed, line: string): CodeToken[] {
  let end = 0;
  return mergePlain(
    parsed.map(({ type, value }): CodeToken => {
      end += value.length;
      return [classOf(type, value, line, end), value];
    }),
  );
}

type ColouredLines = readonly (readonly CodeToken[])[];

const colouredLines = new Map<string, ColouredLines>();
const MOST_COLOURED = 100;

function coloured(lines: readonly string[]): ColouredLines {
  const text = lines.join('\n');
  const known = colouredLines.get(text);
  if (known !== undefined) return known;
  const tokens = tokenize(lines);
  colouredLines.set(text, tokens);
  dropOldest(colouredLines, MOST_COLOURED);
  return tokens;
}

/** One list of tokens per line; plain where the library fails. */
function tokenize(lines: readonly string[]): ColouredLines {
  const inside = commentBegunAbove(lines);
  const rest = lines.slice(inside);
  let parsed: readonly Parsed[] = [];
  try {
    parsed = parse(rest.join('\n'), typescript).lines.map(({ tokens }) =>
      tokens.filter(({ type, value }) => type !== 'break' && value !== ''),
    );
  } catch {
    // Shown without colours, nothing is lost.
  }
  const after = rest.map((line, index): CodeToken[] => {
    const tokens = parsed[index] ?? [];
    return tokens.map(({ value }) => value).join('') === line ? tokensOf(tokens, line) : [['', line]];
  });
  return [...lines.slice(0, inside).map((line): CodeToken[] => [['c', line]]), ...after];
}

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

/** Lines of an excerpt for `codeLines`: coloured, the place marked; `around` limits the lines before and after it. */
export function excerptLines(
  excerpt: SourceExcerpt,
  place: { line: number | null; column: number | null },
  around = Infinity,
): CodeLine[] {
  const tokensByLine = coloured(excerpt.lines);
  const lines = excerpt.lines.map((text, index): CodeLine & { number: number } => {
    const number = excerpt.from + index;
    const tokens = tokensByLine[index] ?? [];
    // An empty line would have no height.
    if (text === '') return { text: ' ', number, mark: number === place.line ? 'hot' : undefined };
    if (number !== place.line) return { tokens, number };
    const range = place.column === null ? null : pointedAt(text, place.column);
    return { number, mark: 'hot', tokens: range === null ? tokens : underline(tokens, range) };
  });
  return lines.filter(({ number }) => Math.abs(number - (place.line ?? number)) <= around);
}

export const sourceHelpers = { excerptLines } as const;

/** A line of source in a text; `number` is as wide as that of the last line. */
export function numberedLine(number: string, text: string, isMarked: boolean): string {
  return `${isMarked ? '>' : ' '} ${number} | ${text}`;
}

export function excerptText({ from, lines }: SourceExcerpt, at: number | null): string {
  const width = String(from + lines.length).length;
  return lines
    .map((text, index) => {
      const number = from + index;
      return numberedLine(String(number).padStart(width), text, number === at);
    })
    .join('\n');
}
