/**
 * Which layer set, changed or removed which header of a response, stored as one short text, because most responses have the same history: one entry
 * per header as sent, separated by commas, then the removed ones, each after a semicolon with its name. An entry has steps: `s`et,
 * `c`hanged, `a`dded to, `r`emoved, each with the index of its layer among those that ran; `h` before the index: that layer's code ran when
 * the headers were sent. `-`: unknown; empty: like the header before. `s4c9`: set by the fifth layer, changed by the tenth.
 */
import type { HeaderWrite, ResponseFact } from '../../profiler/facts.ts';
import type { RanLayer } from './layer-rows.ts';

type HeaderVerb = 'set' | 'changed' | 'added to' | 'removed';

export interface HeaderStep {
  verb: HeaderVerb;
  /** Index of the layer among those that ran; null if unknown. */
  layer: number | null;
  /** Made when the headers were sent. */
  hooked: boolean;
}

export interface ToldWrites extends Pick<ResponseFact, 'headerWrites' | 'rawHeaders'> {
  layers: readonly object[];
}

interface HeaderAuthors {
  /** Steps of each header as sent, in order; empty if unknown. */
  sent: HeaderStep[][];
  removed: { name: string; steps: HeaderStep[] }[];
}

const VERBS = { s: 'set', c: 'changed', a: 'added to', r: 'removed' } as const;
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,80}$/;
const MOST_REMOVED = 10;
/** Maximum spellings of names that a process distinguishes. */
const MOST_NAMES = 1000;
const NONE: readonly never[] = [];

/** The history of one header; reused for the next response, because each has a dozen. */
interface Story {
  name: string;
  isTold: boolean;
  value: unknown;
  steps: string;
  /** Code of the layer of the last step. */
  last: string;
  /** If the header is sent in several lines: the steps of each value. */
  lines: Map<string, string> | null;
  gone: boolean;
}

function createStory(name: string): Story {
  return { name, isTold: false, value: undefined, steps: '', last: '-', lines: null, gone: false };
}

/** As sent: a number is text, several texts are several lines. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  return typeof value === 'number' ? String(value) : '';
}

function itemsOf(list: string): string[] {
  return list.split(',').map((item) => item.trim().toLowerCase());
}

/** `Accept, Origin` has all of `Origin`. */
function extendsValue(before: unknown, after: unknown): boolean {
  if (Array.isArray(after)) return [before].flat().every((item) => after.includes(item));
  if (typeof before !== 'string' || typeof after !== 'string' || before === '') return false;
  if (after.startsWith(before)) return true;
  const items = new Set(itemsOf(after));
  return itemsOf(before).every((item) => items.has(item));
}

function verbOf(story: Story, value: unknown): string {
  if (value === undefined) return 'r';
  if (!story.isTold || story.gone) return 's';
  if (textOf(story.value) === textOf(value)) return '';
  return extendsValue(story.value, value) ? 'a' : 'c';
}

/** For a header of several lines, the steps of each line. */
function noteLines(story: Story, values: readonly unknown[], code: string): void {
  const before = story.value;
  const lines = (story.lines ??= new Map(before === undefined ? [] : [[textOf(before), story.steps]]));
  for (const item of values) if (!lines.has(textOf(item))) lines.set(textOf(item), `s${code}`);
}

/** Adds one write to the history of its header. */
function note(story: Story, value: unknown, code: string): void {
  const verb = verbOf(story, value);
  if (Array.isArray(value)) noteLines(story, value, code);
  story.isTold = true;
  story.value = value;
  story.gone = verb === 'r';
  // Several steps of one layer count as one.
  if (verb === '' || (verb !== 's' && verb !== 'r' && story.last === code)) return;
  story.steps += verb + code;
  story.last = code;
}

function codeOf({ layer, hooked }: HeaderWrite, layers: readonly object[]): string {
  const index = layer === null ? -1 : layers.lastIndexOf(layer);
  return `${hooked ? 'h' : ''}${index === -1 ? '' : index}`;
}

/** The history of a header, by its name in any case; undefined beyond MOST_NAMES. */
function createStories(): (name: string) => Story | undefined {
  const byName = new Map<string, Story>();
  return (name) => {
    const known = byName.get(name);
    if (known !== undefined) return known;
    const lower = name.toLowerCase();
    const story = byName.get(lower) ?? createStory(name);
    if (byName.size >= MOST_NAMES) return undefined;
    byName.set(name, story);
    byName.set(lower, story);
    return story;
  };
}

export function createAuthorsWriter(): (told: ToldWrites) => string | undefined {
  const storyOf = createStories();
  function forget(touched: readonly Story[]): void {
    for (const story of touched) {
      story.isTold = false;
      story.value = undefined;
      story.steps = '';
      story.last = '-';
      story.lines = null;
      story.gone = false;
    }
  }

  function tell(told: ToldWrites): Story[] {
    const touched: Story[] = [];
    let before: HeaderWrite | undefined;
    let code = '';
    for (const write of told.headerWrites ?? NONE) {
      const story = storyOf(write.name);
      if (story === undefined) continue;
      if (!story.isTold) touched.push(story);
      // One layer sets several in a row.
      if (write.layer !== before?.layer || write.hooked !== before.hooked) code = codeOf(write, told.layers);
      before = write;
      note(story, write.value, code);
    }
    return touched;
  }

  function written(rawHeaders: readonly string[]): string {
    let text = '';
    let before = '-';
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const story = storyOf(rawHeaders[i] ?? '');
      const entry =
        story === undefined || !story.isTold || story.gone
          ? '-'
          : (story.lines?.get(rawHeaders[i + 1] ?? '') ?? story.steps);
      if (i > 0) text += ',';
      if (entry !== before) text += entry;
      before = entry;
    }
    return text;
  }

  function write(told: ToldWrites): string {
    const touched = tell(told);
    let text = written(told.rawHeaders);
    let removed = 0;
    for (const { gone, name, steps } of touched)
      if (gone && TOKEN.test(name) && ++removed <= MOST_REMOVED) text += `;${name}:${steps}`;
    forget(touched);
    return text;
  }

  return (told) => {
    const { headerWrites = NONE, layers } = told;
    if (headerWrites.length === 0 || layers.length === 0) return undefined;
    return write(told);
  };
}

function readSteps(entry: string): HeaderStep[] {
  return Array.from(entry.matchAll(/([scar])(h?)(\d*)/g), ([, verb = 's', hooked = '', layer = '']) => ({
    verb: VERBS[verb as keyof typeof VERBS],
    layer: layer === '' ? null : Number(layer),
    hooked: hooked !== '',
  }));
}

export function readAuthors(text: string | undefined): HeaderAuthors {
  const [sent = '', ...removed] = (text ?? '').split(';');
  let before = '-';
  return {
    sent: sent.split(',').map((entry) => {
      if (entry !== '') before = entry;
      return readSteps(before);
    }),
    removed: removed.map((entry) => {
      const at = entry.lastIndexOf(':');
      return { name: entry.slice(0, at), steps: readSteps(entry.slice(at + 1)) };
    }),
  };
}

/** How many headers each layer set first, by its index among those that ran. */
export function countHeaders(text: string | undefined): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [first] of readAuthors(text).sent) {
    const layer = first?.layer ?? null;
    if (layer !== null && first?.hooked === false) counts.set(layer, (counts.get(layer) ?? 0) + 1);
  }
  return counts;
}

/** A step as pages show it. */
export interface NamedStep {
  verb: HeaderVerb;
  /** Name of the layer, or of the library. */
  by: string;
  /** `file:line` where the layer was registered. */
  place: string | null;
  /** By code that ran when the headers were sent. */
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
  return kind === 'handler'
    ? `${method ?? 'ALL'} ${pattern}`
    : `${kind === 'error' ? 'an error handler' : `a ${kind}`} without a name`;
}

function nameStep(name: string, { verb, layer, hooked }: HeaderStep, ran: readonly RanLayer[]): NamedStep {
  const found = layer === null ? undefined : ran[layer];
  return {
    verb,
    by: found === undefined ? (otherOf(name) ?? 'code outside all middleware') : layerName(found),
    place: found?.source ?? null,
    hooked,
  };
}

/** null if the authors are unknown. */
export function nameAuthors(
  text: string | undefined,
  names: readonly string[],
  ran: readonly RanLayer[],
): NamedAuthors | null {
  if (text === undefined) return null;
  const { sent, removed } = readAuthors(text);
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
