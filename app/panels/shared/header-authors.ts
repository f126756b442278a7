/**
 * Which layer set, changed or took away which header of an answer.
 *
 * Most answers of an application tell the same story a dozen times, so it is kept as one short text: an entry per header as
 * sent, in order, separated by commas, then those that were taken away, each behind a semicolon with its name. An entry
 * holds steps: `s`et, `c`hanged, `a`dded to, `r`emoved, each with the index of its layer among those that ran; `h` before
 * the index: by something of that layer that waited for the headers to go out. `-`: nobody was seen; empty: as the header
 * before. `s4c9`: set by the fifth layer, changed by the tenth.
 */
import type { HeaderWrite, ResponseFact } from '../../profiler/facts.ts';

export type HeaderVerb = 'set' | 'changed' | 'added to' | 'removed';

export interface HeaderStep {
  verb: HeaderVerb;
  /** Indexes of layers that ran; several where it was one of them; empty where none is known. */
  layers: number[];
  /** Asked for while the headers went out. */
  hooked: boolean;
}

export interface HeaderAuthors {
  /** Steps of each header as sent, in order; empty where nobody was seen. */
  sent: HeaderStep[][];
  removed: { name: string; steps: HeaderStep[] }[];
}

const VERBS = { s: 'set', c: 'changed', a: 'added to', r: 'removed' } as const;
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,80}$/;
const MOST_REMOVED = 10;
const NONE: readonly never[] = [];

/** What is known of one header on the way. */
interface Story {
  name: string;
  value: unknown;
  steps: string;
  /** Code of the layer of the last step. */
  last: string;
  /** Of a header that is sent in several lines: the steps of each value. */
  lines: Map<string, string> | null;
  gone: boolean;
}

/** As it goes out: a number is text, several texts are several lines. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  return typeof value === 'number' ? String(value) : '';
}

function extendsValue(before: unknown, after: unknown): boolean {
  if (Array.isArray(after)) return [before].flat().every((item) => after.includes(item));
  return typeof before === 'string' && typeof after === 'string' && before !== '' && after.startsWith(before);
}

function verbOf(story: Story | undefined, value: unknown): string {
  if (value === undefined) return 'r';
  if (story === undefined || story.gone) return 's';
  if (textOf(story.value) === textOf(value)) return '';
  return extendsValue(story.value, value) ? 'a' : 'c';
}

export interface ToldWrites extends Pick<ResponseFact, 'headerWrites' | 'headerHooks' | 'rawHeaders'> {
  layers: readonly object[];
}

/** Adds one write to what is known of its header. */
function note(story: Story, verb: string, { value, code }: { value: unknown; code: string }): void {
  const before = story.value;
  story.value = value;
  story.gone = verb === 'r';
  if (verb === '') return;
  if (Array.isArray(value)) {
    const lines = (story.lines ??= new Map(before === undefined ? [] : [[textOf(before), story.steps]]));
    for (const item of value) if (!lines.has(textOf(item))) lines.set(textOf(item), `s${code}`);
  }
  if (verb !== 's' && story.last === code) {
    // What one layer does in several steps is one.
    if (verb === 'r') story.steps += `r${code}`;
    return;
  }
  story.steps += `${verb}${code}`;
  story.last = code;
}

/** Names as they are sent differ in case; there are few. */
function createLower(): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    let lower = known.get(name);
    if (lower === undefined) {
      lower = name.toLowerCase();
      if (known.size < 500) known.set(name, lower);
    }
    return lower;
  };
}

export function createAuthorsWriter(): (told: ToldWrites) => string | undefined {
  const lower = createLower();

  function codeOf({ layer, hooked }: HeaderWrite, { layers, headerHooks = NONE }: ToldWrites): string {
    if (!hooked) {
      const index = layer === null ? -1 : layers.lastIndexOf(layer);
      return index === -1 ? '' : String(index);
    }
    const waiting = new Set(headerHooks.map((hook) => (hook === null ? -1 : layers.indexOf(hook))));
    return `h${waiting.has(-1) ? '' : [...waiting].join('|')}`;
  }

  function entryOf(story: Story | undefined, value: string): string {
    return story === undefined || story.gone ? '-' : (story.lines?.get(value) ?? story.steps);
  }

  return (told) => {
    const { headerWrites = NONE, rawHeaders } = told;
    if (headerWrites.length === 0) return undefined;
    const stories = new Map<string, Story>();
    for (const write of headerWrites) {
      const name = lower(write.name);
      let story = stories.get(name);
      const verb = verbOf(story, write.value);
      if (story === undefined) {
        story = { name: write.name, value: undefined, steps: '', last: '-', lines: null, gone: false };
        stories.set(name, story);
      }
      note(story, verb, { value: write.value, code: codeOf(write, told) });
    }
    let text = '';
    let before = '-';
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const entry = entryOf(stories.get(lower(rawHeaders[i] ?? '')), rawHeaders[i + 1] ?? '');
      text += `${i === 0 ? '' : ','}${entry === before ? '' : entry}`;
      before = entry;
    }
    const removed = [...stories.values()].filter(({ gone, name }) => gone && TOKEN.test(name));
    return removed.slice(0, MOST_REMOVED).reduce((all, { name, steps }) => `${all};${name}:${steps}`, text);
  };
}

function readSteps(entry: string): HeaderStep[] {
  return Array.from(entry.matchAll(/([scar])(h?)([\d|]*)/g), ([, verb = 's', hooked = '', layers = '']) => ({
    verb: VERBS[verb as keyof typeof VERBS],
    layers: layers === '' ? [] : layers.split('|').map(Number),
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
