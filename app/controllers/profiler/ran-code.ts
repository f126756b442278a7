/**
 * The code that ran, as whole functions: the handler, those that led to each step and those that they use. A fault that answers wrongly is
 * seldom at the line of a step, but nearly always in one of these.
 */
import { groupBy } from '../../profiler/group-by.ts';
import type { Row } from '../../profiler/read/rows.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { SourceExcerpt } from '../../profiler/record/thrown.ts';
import type { Steps } from '../../profiler/turns.ts';
import { numberedLine } from '../../view-helpers/source.ts';
import type { PageServices } from './page-services.ts';

/** Characters of all together. */
const LONGEST = 8000;
const SHORTEST = 100;
const MOST = 20;
/** Lines of other profiles. */
const MOST_OTHERS = 4;
/** Lines of a function; of a longer one those around its place. */
const MOST_LINES = 40;
const BEFORE = 4;
const AFTER = 6;
/** Functions that use an entry of a cache in the process, too. */
const MOST_SHARING = 2;
/** Definitions that the shown functions use are followed so often. */
const HOPS = 3;
/** Lines of a comment above a function, and of a table. */
const COMMENT_LINES = 4;
const TABLE_LINES = 6;
/** Their lines say nothing of what was done: a statement of a transaction, a line of the log. */
const NO_WORK = /^(?:transaction|log\b)/;
/** What the steps name a cache such as lru-cache. */
const IN_PROCESS = 'cache';
const COMMENT = /^\s*(?:\/\/|\/?\*)/;
/** The end of a signature that has several lines. */
const CLOSES = /^\s*[)\]}]/;

/** A function within another one. */
const LOCAL = /^\s+(?:async\s+)?(?:const|let|var|function)\b/;

/** A function that calls any handler, such as `wrap(fn)`, says nothing of this one. */
export const WRAPPER = /^>.*(\(req, res, next\)).*\1/m;
/** `} else {`, `) => {` */
const GOES_ON = /^\s*[)\]}].*[([{]\s*$/;

type CodeFrom = Pick<PageServices, 'sourceAt' | 'definitions'> & Pick<Profile, 'startedAt'>;

/** Lines that a request ran. */
export interface RanLines {
  /** Whatever has a line: also findings, and what sent the response. */
  steps: readonly Row[];
  /** Those of other requests to which it owes its data, and of jobs that it started. */
  others: readonly Row[];
  /** Lines that registered the handler. */
  handlers: readonly string[];
  /** Name of the last function of theirs that ran; null: it has none. */
  reached: string | null;
  /** Lines of the application that registered middleware that ran. */
  middleware: readonly string[];
  /** Tables that it wrote to. */
  tables: readonly string[];
}

interface Part {
  file: string;
  from: number;
  lines: readonly string[];
}

function indentOf(text = ''): number {
  return text.trim() === '' ? Infinity : text.search(/\S/);
}

/** The line begins a block. */
function hasBody({ from, lines }: SourceExcerpt, line: number): boolean {
  const next = lines[line - from + 1] ?? '';
  return next.trim() !== '' && indentOf(next) > indentOf(lines[line - from]);
}

function endsInTemplate(lines: readonly string[]): boolean {
  return (lines.join('').match(/`/g)?.length ?? 0) % 2 === 1;
}

/** The largest block around a line that is short enough, by the indentation of its first and last line; of a long one the nearest lines. */
function blockAround(excerpt: SourceExcerpt, line: number): Omit<Part, 'file'> {
  const { from, lines } = excerpt;
  const given = line - from;
  const at = hasBody(excerpt, line) ? given + 1 : given;
  let own = indentOf(lines[at]);
  let [start, end] = [given, at];
  for (;;) {
    const isLess = (text: string): boolean => indentOf(text) < own;
    let first = lines.findLastIndex((text, index) => index < at && isLess(text));
    let last = lines.findIndex((text, index) => index > at && isLess(text));
    const indent = indentOf(lines[first]);
    if (first !== -1 && CLOSES.test(lines[first] ?? ''))
      first = lines.findLastIndex(
        (text, index) => index < first && indentOf(text) <= indent && !CLOSES.test(text),
      );
    while (GOES_ON.test(lines[last] ?? '')) {
      const before = last;
      last = lines.findIndex((text, index) => index > before && indentOf(text) <= indent);
    }
    if (first === -1 || last === -1 || last - first >= MOST_LINES) break;
    [start, end] = [first, last];
    own = indent;
  }
  while (/^\s*@\w/.test(lines[start - 1] ?? '') && indentOf(lines[start - 1]) === indentOf(lines[start]))
    start--;
  if (start === given && end === at && own > 0) [start, end] = [Math.max(0, at - BEFORE), at + AFTER];
  const isAtMargin = indentOf(lines[start]) === 0;
  while (isAtMargin && endsInTemplate(lines.slice(start, end + 1)) && end - start < MOST_LINES) end++;
  end = Math.min(end, lines.length - 1);
  while (start < given && lines[start]?.trim() === '') start++;
  while (end > at && lines[end]?.trim() === '') end--;
  return { from: from + start, lines: lines.slice(start, end + 1) };
}

/** The comment directly above, or its first lines. */
function commentAbove({ from, lines }: SourceExcerpt, line: number): Omit<Part, 'file'> {
  const end = line - from;
  const start = lines.findLastIndex((text, index) => index < end && !COMMENT.test(text)) + 1;
  return { from: from + start, lines: lines.slice(start, Math.min(end, start + COMMENT_LINES)) };
}

/** A registration, without its siblings: the statement, and the line that begins the function around it, whose parameters it uses. */
function statementAt(excerpt: SourceExcerpt, line: number): Omit<Part, 'file'>[] {
  const { from, lines } = excerpt;
  const at = line - from;
  const indent = indentOf(lines[at]);
  const isEnd = (text: string, index: number): boolean => index > at && indentOf(text) <= indent;
  let last = hasBody(excerpt, line) ? lines.findIndex(isEnd) : at;
  if (last === -1 || last - at >= MOST_LINES) last = at + AFTER;
  const first = lines.findLastIndex((text, index) => index < at && indentOf(text) < indent);
  const head =
    first === -1 || CLOSES.test(lines[first] ?? '')
      ? []
      : [{ from: from + first, lines: lines.slice(first, first + 1) }];
  return [...head, { from: line, lines: lines.slice(at, last + 1) }];
}

/** The steps that ran at each line: `query 1, 3 × call`. */
function stepsByPlace(steps: readonly Row[]): ReadonlyMap<string, string> {
  const byPlace = groupBy(
    steps.filter(({ place }) => typeof place === 'string'),
    ({ place }) => place ?? '',
  );
  return new Map(
    Array.from(byPlace, ([place, rows]) => {
      const byLabel = groupBy(rows, ({ label = '' }) => label);
      const names = Array.from(byLabel, ([label, { length }]) =>
        length === 1 ? label : `${length} × ${label}`,
      );
      return [place, names.join(', ')];
    }),
  );
}

/** Parts of one file, in the order of their lines, with a gap between those that do not touch. */
function textOf(parts: readonly Part[], names: ReadonlyMap<string, string>): string {
  const byLine = new Map(
    parts.flatMap(({ from, lines }) => lines.map((text, at) => [from + at, text] as const)),
  );
  const numbers = [...byLine.keys()].toSorted((a, b) => a - b);
  const width = String(numbers.at(-1)).length;
  const written = numbers.flatMap((line, at) => {
    const name = names.get(`${parts[0]?.file}:${line}`);
    const number = String(line).padStart(width);
    const text = byLine.get(line) ?? '';
    const isNext = at === 0 || numbers[at - 1] === line - 1;
    return [
      ...(isNext ? [] : [`  ${' '.repeat(width)} |`]),
      numberedLine(number, name === undefined ? text : `${text}  // ← ${name}`, name !== undefined),
    ];
  });
  return written.join('\n');
}

/** The line that creates a table and those below it, or one that references it with those around it, to the end of the table. */
function tableAt({ from, lines }: SourceExcerpt, line: number): Omit<Part, 'file'>[] {
  const at = line - from;
  const start = /\bcreate\s+table\b/i.test(lines[at] ?? '') ? at : Math.max(0, at - 2);
  const shown = lines.slice(start, start + TABLE_LINES);
  const end = shown.findIndex((text, index) => index > at - start && CLOSES.test(text));
  return [{ from: from + start, lines: end === -1 ? shown : shown.slice(0, end + 1) }];
}

/**
 * Without a file that was changed since: the handlers and the functions of steps in the order in which they ran, middleware by the lines
 * that register it, then the functions and values that these use, the functions of other requests and jobs with those that they use, those
 * that share an object of a cache, and tables. With the comment above a function.
 */
export function* ranCode(ran: RanLines, from: CodeFrom): Steps<Row[]> {
  const { steps, others, handlers, reached, middleware, tables } = ran;
  const { sourceAt, definitions, startedAt } = from;
  yield* definitions.refresh();
  const framed = steps.filter(({ label = '' }) => !NO_WORK.test(label));
  const own = new Set(framed.map(({ place }) => place));
  const further = others.filter(({ place }) => !own.has(place)).slice(0, MOST_OTHERS);
  const names = stepsByPlace([...framed, ...further]);
  const parts: Part[] = [];
  const comments: Part[] = [];
  let room = LONGEST;

  function add(
    place: string,
    partsOf: (excerpt: SourceExcerpt, line: number) => readonly Omit<Part, 'file'>[],
  ): void {
    const [, file = '', number] = /^(.*):(\d+)$/.exec(place) ?? [];
    const line = Number(number);
    const isShown = parts.some(
      (part) => part.file === file && line >= part.from && line < part.from + part.lines.length,
    );
    const isFull = room < SHORTEST || parts.length === MOST;
    const source = isFull || isShown ? null : sourceAt(place);
    if (source === null || (source.changedAt ?? 0) > startedAt) return;
    const { excerpt } = source;
    if (WRAPPER.test(`> ${excerpt.lines[line - excerpt.from]}`)) return;
    const added = partsOf(excerpt, line).map((part) => ({ file, ...part }));
    const above = added.map(({ from: first }) => ({ file, ...commentAbove(excerpt, first) }));
    const { length } = textOf([...added, ...above], names);
    if (length === 0 || length > room) return;
    room -= length;
    parts.push(...added);
    comments.push(...above);
  }

  const whole = (excerpt: SourceExcerpt, line: number) => [blockAround(excerpt, line)];
  const defined = (excerpt: SourceExcerpt, line: number) =>
    LOCAL.test(excerpt.lines[line - excerpt.from] ?? '') ? statementAt(excerpt, line) : whole(excerpt, line);
  function addChain({ place, path = [] }: Row): void {
    for (const line of [...path.toReversed(), place ?? []].flat()) add(line, whole);
  }

  /** Adds what these use. */
  function* follow(used: readonly Part[]): Steps<void> {
    for (const part of used) {
      const { file, from: first, lines } = part;
      const until = registered.has(part) && reached !== null ? `${reached},` : '';
      for (const place of yield* definitions.at(`${file}:${first}`, lines.length, until)) {
        add(place, defined);
        yield;
      }
    }
  }

  for (const place of handlers) add(place, statementAt);
  const registered = new Set(parts);
  for (const row of framed) {
    addChain(row);
    yield;
  }
  for (const place of middleware) {
    add(place, (excerpt, line) => (hasBody(excerpt, line) ? statementAt(excerpt, line) : []));
    for (const used of yield* definitions.at(place, 1)) add(used, whole);
    yield;
  }
  let known = 0;
  for (let hop = 0; hop < HOPS; hop++) {
    const used = parts.slice(known);
    known = parts.length;
    yield* follow(used);
    if (hop === 0) further.forEach(addChain);
  }
  const shared = parts.length;
  for (const { label, note, place, path = [] } of framed)
    if (label === IN_PROCESS && note !== 'not found')
      for (const one of yield* definitions.sharing([place ?? [], ...path].flat()))
        if (parts.length < shared + MOST_SHARING) add(one, whole);
  yield* follow(parts.slice(shared));
  for (const place of tables.flatMap((table) => definitions.tables(table))) {
    add(place, tableAt);
    yield;
  }
  return Array.from(
    groupBy([...parts, ...comments], ({ file }) => file),
    ([file, of]) => ({
      label: file,
      block: { text: textOf(of, names), language: 'ts' },
    }),
  );
}
