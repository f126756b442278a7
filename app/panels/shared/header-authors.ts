/** Which layer set, changed or removed which header of a response: concluded from its writes when it is recorded, named when it is read. */
import type { HeaderWrite, ResponseFact } from '../../profiler/record/facts.ts';
import type { RanLayer } from './ran-layers.ts';

type HeaderVerb = 'set' | 'changed' | 'added to' | 'removed';

export interface HeaderStep {
  verb: HeaderVerb;
  layer: number | null;
  hooked?: true;
  /** `file:line` that set it, if that is known better than the layer. */
  place?: string;
}

export interface HeaderAuthors {
  sent: HeaderStep[][];
  removed: { name: string; steps: HeaderStep[] }[];
}

export interface ToldWrites extends Pick<ResponseFact, 'headerWrites' | 'rawHeaders'> {
  layers: readonly object[];
}

const MOST_REMOVED = 10;
const LONGEST_NAME = 80;

interface History {
  name: string;
  value: unknown;
  steps: HeaderStep[];
  lines: Map<string, HeaderStep[]> | null;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  return typeof value === 'number' ? String(value) : '';
}

function itemsOf(list: string): string[] {
  return list.split(',').map((item) => item.trim().toLowerCase());
}

/** Each cookie that is appended sets the whole list once more. */
function isBeginning(before: unknown, after: readonly unknown[]): before is readonly unknown[] {
  return Array.isArray(before) && before.every((line, at) => line === after[at]);
}

/** `Accept, Origin` has all of `Origin`. */
function extendsValue(before: unknown, after: unknown): boolean {
  if (Array.isArray(after)) {
    if (isBeginning(before, after)) return true;
    const lines = new Set<unknown>(after);
    return [before].flat().every((line) => lines.has(line));
  }
  if (typeof before !== 'string' || typeof after !== 'string' || before === '') return false;
  if (after.startsWith(before)) return true;
  const items = new Set(itemsOf(after));
  return itemsOf(before).every((item) => items.has(item));
}

function isSame(before: unknown, after: unknown): boolean {
  if (Array.isArray(before) && Array.isArray(after) && before.length !== after.length) return false;
  const [lines, others] = [[before].flat(), [after].flat()];
  return lines.length === others.length && lines.every((line, at) => textOf(line) === textOf(others[at]));
}

/** null: it changed nothing. */
function verbOf({ value: before, steps }: History, value: unknown): HeaderVerb | null {
  if (value === undefined) return 'removed';
  if (steps.length === 0 || before === undefined) return 'set';
  if (isSame(before, value)) return null;
  return extendsValue(before, value) ? 'added to' : 'changed';
}

function noteLines(history: History, values: readonly unknown[], step: HeaderStep): void {
  const { value: before, steps } = history;
  history.lines ??= new Map(before === undefined ? [] : [[textOf(before), [...steps]]]);
  for (const item of isBeginning(before, values) ? values.slice(before.length) : values)
    if (!history.lines.has(textOf(item))) history.lines.set(textOf(item), [{ ...step, verb: 'set' }]);
}

function note(history: History, value: unknown, by: Omit<HeaderStep, 'verb'>): void {
  const verb = verbOf(history, value);
  if (Array.isArray(value)) noteLines(history, value, { verb: 'set', ...by });
  history.value = value;
  const last = history.steps.at(-1);
  const isSameAuthor = last?.layer === by.layer && last.hooked === by.hooked;
  // Several steps of one layer count as one.
  if (verb === null || (verb !== 'set' && verb !== 'removed' && isSameAuthor)) return;
  history.steps.push({ verb, ...by });
}

function authorIn(layers: readonly object[], { layer, hooked, from }: HeaderWrite): Omit<HeaderStep, 'verb'> {
  const index = layer === null ? -1 : layers.lastIndexOf(layer);
  return {
    layer: index === -1 ? null : index,
    ...(hooked ? { hooked } : {}),
    ...(typeof from === 'string' ? { place: from } : {}),
  };
}

export function headerAuthors({
  headerWrites = [],
  rawHeaders,
  layers,
}: ToldWrites): HeaderAuthors | undefined {
  if (headerWrites.length === 0 || layers.length === 0) return undefined;
  const histories = new Map<string, History>();
  for (const write of headerWrites) {
    const key = write.name.toLowerCase();
    const history = histories.get(key) ?? { name: write.name, value: undefined, steps: [], lines: null };
    histories.set(key, history);
    note(history, write.value, authorIn(layers, write));
  }
  const sent: HeaderStep[][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const history = histories.get((rawHeaders[at] ?? '').toLowerCase());
    sent.push(
      history?.value === undefined ? [] : (history.lines?.get(rawHeaders[at + 1] ?? '') ?? history.steps),
    );
  }
  const removed = [...histories.values()].filter(({ value }) => value === undefined).slice(0, MOST_REMOVED);
  return { sent, removed: removed.map(({ name, steps }) => ({ name: name.slice(0, LONGEST_NAME), steps })) };
}

export function countHeaders(authors: HeaderAuthors | undefined): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [first] of authors?.sent ?? []) {
    const layer = first?.layer ?? null;
    if (layer !== null && first?.hooked === undefined) counts.set(layer, (counts.get(layer) ?? 0) + 1);
  }
  return counts;
}

export interface NamedStep {
  verb: HeaderVerb;
  by: string;
  place: string | null;
  hooked: boolean;
}

export interface NamedAuthors {
  sent: NamedStep[][];
  removed: { name: string; steps: NamedStep[] }[];
}

/** What sets these headers if no layer does. */
const OTHERS: Readonly<Record<string, string>> = {
  date: 'Node',
  connection: 'Node',
  'keep-alive': 'Node',
  'transfer-encoding': 'Node',
  'content-length': 'Node',
  'x-powered-by': 'Express',
  'x-debug-token': 'Hindsight',
  'x-debug-token-link': 'Hindsight',
};

function otherOf(name: string): string | undefined {
  const lower = name.toLowerCase();
  return Object.hasOwn(OTHERS, lower) ? OTHERS[lower] : undefined;
}

export function layerName({ name, kind, method, pattern }: RanLayer): string {
  if (name !== '' && name !== '<anonymous>') return name;
  if (kind === 'middleware' && pattern !== '/') return `middleware ${pattern}`;
  return kind === 'handler'
    ? `${method ?? 'ALL'} ${pattern}`
    : kind === 'error'
      ? 'an error handler'
      : `a ${kind} without a name`;
}

function nameStep(name: string, step: HeaderStep, ran: readonly RanLayer[]): NamedStep {
  const { verb, layer, hooked = false } = step;
  const found = layer === null ? undefined : ran[layer];
  return {
    verb,
    by: found === undefined ? (otherOf(name) ?? 'code outside all middleware') : layerName(found),
    place: step.place ?? found?.source ?? null,
    hooked,
  };
}

export function nameAuthors(
  authors: HeaderAuthors | undefined,
  names: readonly string[],
  ran: readonly RanLayer[],
): NamedAuthors | null {
  if (authors === undefined) return null;
  const { sent, removed } = authors;
  return {
    sent: names.map((name, index) => {
      const steps = sent[index] ?? [];
      const other = otherOf(name);
      if (steps.length > 0) return steps.map((step) => nameStep(name, step, ran));
      return other === undefined ? [] : [{ verb: 'set', by: other, place: null, hooked: false }];
    }),
    removed: removed.map(({ name, steps }) => ({
      name,
      steps: steps.map((step) => nameStep(name, step, ran)),
    })),
  };
}

/** `helmetMiddleware, changed by showOrder`. */
export function authorsText(steps: readonly NamedStep[]): string {
  return steps
    .map(({ verb, by, hooked }, index) => {
      const who = hooked ? `${by}, when the headers were sent` : by;
      return index === 0 && verb === 'set' ? who : `${verb} by ${who}`;
    })
    .join(', ');
}
