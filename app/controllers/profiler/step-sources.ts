/** The functions that sent the steps of a request, and those that called them: without a finding, one of them may be at fault. */
import type { Row } from '../../profiler/read/rows.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { SourceExcerpt } from '../../profiler/record/thrown.ts';
import { excerptText } from '../../view-helpers/source.ts';
import { WRAPPER } from './beside-profile.ts';
import type { PageServices } from './page-services.ts';

const MOST = 5;
const LONGEST = 2400;
/** Of a block around a line. */
const MOST_LINES = 15;
const BEFORE = 4;
const AFTER = 6;
/** Their lines say nothing of what was done: a statement of a transaction, a line of the log. */
const NO_WORK = /^(?:transaction|log\b)/;

interface Source {
  file: string;
  from: number;
  lines: string[];
  line: number;
}

function indentOf(text: string): number {
  return text.trim() === '' ? Infinity : text.search(/\S/);
}

/** The largest block around a line that is short enough, by the indentation of its first and last line; of a long one the nearest lines. */
function blockAround({ from, lines }: SourceExcerpt, line: number): Pick<Source, 'from' | 'lines'> {
  const at = line - from;
  let own = indentOf(lines[at] ?? '');
  let [start, end] = [at, at + 1];
  for (;;) {
    const first = lines.findLastIndex((text, index) => index < at && indentOf(text) < own);
    const last = lines.findIndex((text, index) => index > at && indentOf(text) < own);
    const isShort = first !== -1 && last !== -1 && last - first < MOST_LINES;
    if (!isShort && (start < at || first === -1)) break;
    [start, end] = isShort ? [first, last] : [Math.max(first, at - BEFORE), at + AFTER];
    if (!isShort) break;
    own = Math.min(indentOf(lines[first] ?? ''), indentOf(lines[last] ?? ''));
  }
  return { from: from + start, lines: lines.slice(start, end + 1) };
}

/** Of the first line that led to a step, which is the handler or a middleware. */
function linesAround({ from, lines }: SourceExcerpt, line: number): Pick<Source, 'from' | 'lines'> {
  const start = Math.max(0, line - from - 1);
  return { from: from + start, lines: lines.slice(start, line - from + 2) };
}

function hasLine({ file, from, lines }: Source, place: { file: string; line: number }): boolean {
  return file === place.file && place.line >= from && place.line < from + lines.length;
}

export interface StepSource {
  place: string;
  text: string;
}

/** `steps` with those first whose source is most likely meant. None of a file that was changed since. */
export function stepSources(
  steps: readonly Row[],
  { sourceAt, startedAt }: Pick<PageServices, 'sourceAt'> & Pick<Profile, 'startedAt'>,
): StepSource[] {
  const framed = steps.filter(({ label = '' }) => !NO_WORK.test(label));
  const near = new Set(framed.flatMap(({ place, path = [] }) => [...path.slice(0, 1), place ?? []].flat()));
  const places = framed.flatMap(({ place, path = [] }) =>
    [...path.slice(0, 1), place ?? [], ...path.slice(-1)].flat(),
  );
  const shown: Source[] = [];
  let room = LONGEST;
  return [...new Set(places)].flatMap((place): StepSource[] => {
    const [, file = '', number = ''] = /^(.*):(\d+)$/.exec(place) ?? [];
    const line = Number(number);
    const source = sourceAt(place);
    if (source === null || (source.changedAt ?? 0) > startedAt || shown.length === MOST) return [];
    if (shown.some((one) => hasLine(one, { file, line }))) return [];
    const part = near.has(place) ? blockAround(source.excerpt, line) : linesAround(source.excerpt, line);
    const around = { file, line, ...part };
    const text = excerptText(around, line);
    if (text.length > room || WRAPPER.test(text)) return [];
    room -= text.length;
    shown.push(around);
    return [{ place, text }];
  });
}

/** Of a definition, and of lines in it that may call others. */
function linesBelow(place: string, lines: number): string {
  return place.replace(/\d+$/, (line) => String(Number(line) + lines));
}

/** Without a step that has a line: code of the handler, of the functions that it calls, and of those that they call. */
export function calledSources(
  places: readonly string[],
  from: Pick<PageServices, 'sourceAt' | 'definitionsAt'> & Pick<Profile, 'startedAt'>,
): StepSource[] {
  const definedFor = (place: string): string[] => from.definitionsAt(place).map((one) => one.place);
  // A handler and a function stand below their first line.
  const called = places.flatMap((place) => [...definedFor(place), ...definedFor(linesBelow(place, 3))]);
  const further = called.flatMap((place) => definedFor(linesBelow(place, 3)));
  const bodies = [...new Set([...places, ...called, ...further])].map((place) => linesBelow(place, 1));
  return stepSources(
    bodies.map((place) => ({ place })),
    from,
  );
}
