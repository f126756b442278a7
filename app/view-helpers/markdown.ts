/**
 * Markdown of profiles, for an issue or a program. Recorded text never becomes markup: it is in a code span, a cell or a fence that it can't
 * end, so that no renderer makes a heading, a link, HTML or a mention of it. Our sentences are escaped, and in them what a renderer would
 * link is in code spans.
 */

import { UNSEEN } from '../profiler/escape-controls.ts';

/** A statement with the rows that it returned. */
const LONGEST_VALUE = 720;
const LONGEST_FENCE = 12_000;
const MOST_ROWS = 200;

export type Cell = unknown;

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20
    ? String.fromCharCode(0x2400 + code)
    : `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
}

function visible(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, '\n').replace(UNSEEN, shown);
}

function more(count: number, noun: string): string {
  return `${count} more ${noun}${count === 1 ? '' : 's'}`;
}

function line(value: unknown, limit: number): string {
  const text = typeof value === 'string' ? value : ((JSON.stringify(value) as string | undefined) ?? '');
  const flat = visible(text.slice(0, limit + 1))
    .replace(/\s*\n\s*/g, ' ⏎ ')
    .replace(/\t/g, ' ')
    .trim();
  return text.length > limit ? `${flat.slice(0, limit)}… (${more(text.length - limit, 'character')})` : flat;
}

function longestRun(text: string): number {
  return Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
}

function span(text: string): string {
  const ticks = '`'.repeat(longestRun(text) + 1);
  return /^`|`$|^ .* $/.test(text) ? `${ticks} ${text} ${ticks}` : `${ticks}${text}${ticks}`;
}

export function code(value: unknown, limit = LONGEST_VALUE): string {
  if (value === null || value === undefined) return '–';
  const text = line(value, limit);
  return text === '' ? '(empty)' : span(text);
}

/** What renderers turn into links or mentions: addresses, domains, `@name`, `#12`. */
const LINKED = /[@/\\]|#\d|[a-z_]\.[a-z_]/i;
/** Markup anywhere in a word, and markup as a word at the beginning of a line. A `_` within a word is none. */
const MARKS = /[*[\]>`~|$\\]|<(?=[a-z/!?])|&(?=#?\w+;)|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/giu;
const LINE_MARK = /^(?:[-+=#]+|\d+[.)])$/;

/** A sentence of ours that may contain recorded text. */
export function prose(sentence: string): string {
  return line(sentence, 2000)
    .split(' ')
    .map((word, at) => {
      // Brackets, quotes and punctuation around a place or an address are not part of it; those of a call are.
      const [, open = '', inner = '', after = ''] = /^([(“"]*)(.*?)([”",;:.)]*)$/.exec(word) ?? [];
      const isCall = inner.includes('(') && after.startsWith(')');
      const linked = isCall ? `${inner})` : inner;
      if (LINKED.test(linked)) return open + span(linked) + after.slice(isCall ? 1 : 0);
      if (at === 0 && LINE_MARK.test(word)) return word.replace(/(?=.$)/, '\\');
      return word.replace(MARKS, '\\$&');
    })
    .join(' ');
}

export function heading(level: number, text: string): string {
  return `${'#'.repeat(Math.min(6, level))} ${prose(text)}`;
}

export function fence(text: string, language = ''): string {
  const whole = visible(text.slice(0, LONGEST_FENCE)).replace(/\n+$/, '');
  const ticks = '`'.repeat(Math.max(3, longestRun(whole) + 1));
  const cut =
    text.length > LONGEST_FENCE ? `\n\n${more(text.length - LONGEST_FENCE, 'character')} left out.` : '';
  return `${ticks}${language}\n${whole}\n${ticks}${cut}`;
}

function cell(content: string): string {
  return content.replace(/(\\*)\|/g, (_all, slashes: string) => (slashes === '' ? '\\|' : `${slashes}\\x7c`));
}

export interface Column<Row> {
  title: string;
  value: (row: Row) => Cell;
  plain?: boolean;
}

export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const kept = columns.filter(({ value }) => rows.some((row) => !isNothing(value(row))));
  if (kept.length === 0) return '';
  const head = `| ${kept.map(({ title }) => cell(prose(title))).join(' | ')} |`;
  const rule = `|${' --- |'.repeat(kept.length)}`;
  const body = rows.slice(0, MOST_ROWS).map((row) => {
    const cells = kept.map(({ value, plain = false }) => {
      const content = value(row);
      return cell(plain && typeof content === 'string' ? prose(content) : code(content));
    });
    return `| ${cells.join(' | ')} |`;
  });
  const left = rows.length - body.length;
  return [head, rule, ...body, ...(left > 0 ? ['', `${more(left, 'row')} left out.`] : [])].join('\n');
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '';
}

export function pairs(rows: readonly (readonly [name: string, value: unknown])[], plain = false): string {
  return table(
    [
      { title: 'Name', value: ([name]) => name, plain },
      { title: 'Value', value: ([, value]) => value },
    ],
    rows.filter(([, value]) => !isNothing(value)),
  );
}

export function blocks(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}
