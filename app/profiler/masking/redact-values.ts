/** Masks values wherever they occur, in every encoding, and also their first half if the text was truncated inside a value. */
import { escapeRegExp } from '../escape-regexp.ts';
import { groupBy } from '../group-by.ts';
import type { Mark } from './redact-marks.ts';

/** Marks truncated text, in `truncateText` and everywhere else. */
const CUT = '…';
const SHORTEST_HEAD = 3;
/** Shorter values would be masked inside ordinary words. */
const SHORTEST_VALUE = 8;
/** Longer values are recognised by their beginning, because they may have been truncated themselves. */
const LONG_VALUE = 200;
const LONGEST_SEARCHED = 1000;
/** Shorter texts were not truncated: except for previews, no length limit of a profile is lower. */
const SHORTEST_CUT_TEXT = 48;
/** Base64 at any offset, without the characters that depend on neighbouring bytes. */
function base64Spellings(value: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const text = Buffer.from('\0'.repeat(offset) + value).toString('base64');
    const end = text.endsWith('==') ? -3 : text.endsWith('=') ? -2 : text.length;
    const whole = text.slice(Math.ceil((offset * 8) / 6), end);
    return whole.length < SHORTEST_VALUE ? [] : [whole, whole.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Encodings that redact-encoded.ts can't undo, because they leave no trace or keep separators. */
function spellingsOf(value: string): string[] {
  const whole = value.toWellFormed();
  if (value.length > LONG_VALUE) {
    const beginning = whole.slice(0, LONG_VALUE).toWellFormed();
    return [value.slice(0, LONGEST_SEARCHED), value.slice(0, LONG_VALUE), encodeURI(beginning)];
  }
  const hex = Buffer.from(value).toString('hex');
  return [value, encodeURI(whole), hex, hex.toUpperCase(), ...base64Spellings(value)];
}

export type Spellings = ReadonlyMap<string, string>;

/** `values`: what is searched for, and the value that it stands for. */
export function spellingsOfAll(values: Iterable<readonly [text: string, value: string]>): Spellings {
  const spellings = new Map<string, string>();
  for (const [text, value] of values) {
    if (text.length < SHORTEST_VALUE) continue;
    for (const spelling of spellingsOf(text)) if (!spellings.has(spelling)) spellings.set(spelling, value);
  }
  return spellings;
}

export type ValueMask = (text: string, mark: Mark) => string;

export function createValueMask(spellings: Spellings): ValueMask {
  if (spellings.size === 0) return (text) => text;
  const longestFirst = [...spellings.keys()].sort((a, b) => b.length - a.length);
  const open = (text: string): string => (text.length >= LONG_VALUE ? '[^\\s"\'&<>\ufdd0]*' : '');
  const expression = new RegExp(longestFirst.map((text) => escapeRegExp(text) + open(text)).join('|'), 'g');
  const valueOf = (found: string): string =>
    spellings.get(found) ??
    spellings.get(longestFirst.find((spelling) => found.startsWith(spelling)) ?? '') ??
    found;
  return (text, mark) => text.replace(expression, (found) => mark(valueOf(found)));
}

/** Masks truncated spellings before each CUT, and at the end of a text that may have been truncated without a mark. */
export function createEndMask(spellings: Spellings): ValueMask {
  const groups = groupBy(spellings.keys(), (spelling) => spelling.slice(0, SHORTEST_HEAD));
  const all = [...spellings.keys()].join('\n');
  const longest = Math.max(0, ...Array.from(spellings.keys(), ({ length }) => length));

  function maskEnd(text: string, mark: Mark): string {
    if (!all.includes(text.slice(-SHORTEST_HEAD))) return text;
    for (let at = Math.max(0, text.length - longest); at <= text.length - SHORTEST_HEAD; at++) {
      const candidates = groups.get(text.slice(at, at + SHORTEST_HEAD));
      const rest = candidates === undefined ? '' : text.slice(at);
      const spelling = candidates?.find((candidate) => candidate.startsWith(rest));
      if (spelling !== undefined) return text.slice(0, at) + mark(spellings.get(spelling) ?? rest);
    }
    return text;
  }

  return (text, mark) => {
    const ending = text.length < SHORTEST_CUT_TEXT ? text : maskEnd(text, mark);
    if (longest === 0 || !ending.includes(CUT)) return ending;
    const parts = ending.split(CUT);
    const last = parts.pop() ?? '';
    return [...parts.map((part) => maskEnd(part, mark)), last].join(CUT);
  };
}
