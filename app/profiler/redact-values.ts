/** Masks values wherever they occur, in every encoding, and also their first half if the text was truncated inside a value. */
import { escapeHtml } from './escape-html.ts';
import { groupBy } from './group-by.ts';
import type { Mark } from './redact-marks.ts';

/** Marks truncated text, in `truncateText` and everywhere else. */
const CUT = '…';
/** Minimum length of a truncated value that is searched for. */
const SHORTEST_HEAD = 3;
/** Shorter values would be masked inside ordinary words. */
const SHORTEST_VALUE = 8;
/** Longer values are recognised by their beginning, because they may have been truncated themselves. */
const LONG_VALUE = 200;
/** What is searched for of a value. */
const LONGEST_SEARCHED = 1000;
/** Up to this length a value is also found with any of its characters escaped. That is rare, and too expensive for longer values. */
const LONGEST_TOLERANT = 100;
/** Shorter texts were not truncated: except for previews, no length limit of a profile is lower. */
const SHORTEST_CUT_TEXT = 48;
/** Values that look the same in an address, in JSON and in markup. */
const PLAIN_VALUE = /^[\w.~-]+$/;
const MAYBE_ESCAPED = /%[\da-f]{2}|\\u|\\["'/\\bfnrt]|&[a-z#]/i;

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

const PERCENT_LETTER = /%(?:[A-F]|\d[A-F])/;

function percentSpellings(value: string): string[] {
  const whole = value.toWellFormed();
  const encoded = encodeURIComponent(whole);
  const spellings = [encoded, encodeURI(whole)];
  if (encoded.includes('%20')) spellings.push(encoded.replaceAll('%20', '+'));
  if (/[!'()*]/.test(encoded)) {
    spellings.push(encoded.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`));
  }
  const lettered = spellings.filter((text) => PERCENT_LETTER.test(text));
  return [
    ...spellings,
    ...lettered.map((text) => text.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase())),
  ];
}

/** Base64 at any offset, without the characters that depend on neighbouring bytes. */
function base64Spellings(value: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const text = Buffer.from('\0'.repeat(offset) + value).toString('base64');
    const end = text.endsWith('=') ? -4 : text.length;
    const whole = text.slice(Math.ceil((offset * 8) / 6), end);
    return whole.length < SHORTEST_VALUE ? [] : [whole, whole.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function readableSpellings(value: string): string[] {
  if (PLAIN_VALUE.test(value)) return [value];
  return [value, JSON.stringify(value).slice(1, -1), ...percentSpellings(value)];
}

function spellingsOf(value: string): string[] {
  if (value.length > LONG_VALUE)
    return [value.slice(0, LONGEST_SEARCHED), ...readableSpellings(value.slice(0, LONG_VALUE))];
  const hex = Buffer.from(value).toString('hex');
  const readable = readableSpellings(value);
  if (readable.length > 1) readable.push(escapeHtml(value));
  return [...readable, hex, hex.toUpperCase(), ...base64Spellings(value)];
}

/** The spellings of values that are too long to be ordinary words, each with its value. */
export type Spellings = ReadonlyMap<string, string>;

export function spellingsOfAll(values: Iterable<string>): Spellings {
  const spellings = new Map<string, string>();
  for (const value of values) {
    if (value.length < SHORTEST_VALUE) continue;
    for (const spelling of spellingsOf(value)) if (!spellings.has(spelling)) spellings.set(spelling, value);
  }
  return spellings;
}

/** The percent-encoding of one byte, in upper or lower case, itself encoded up to two more times. */
function percent(byte: number): string {
  const digits = byte.toString(16).padStart(2, '0');
  const either = Array.from(digits).map((digit) =>
    /[a-f]/.test(digit) ? `[${digit}${digit.toUpperCase()}]` : digit,
  );
  return `%(?:25){0,2}${either.join('')}`;
}

/** One character in any of its escapes. */
function tolerant(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  const forms = [
    escapeRegExp(character),
    [...Buffer.from(character)].map(percent).join(''),
    ...(code.length > 4
      ? []
      : [
          `\\\\{1,4}u${code.padStart(4, '0').replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`,
        ]),
  ];
  if (character === ' ') forms.push('\\+');
  if (/[^\w\s]/.test(character)) forms.push(`\\\\{1,8}${escapeRegExp(character)}`);
  const entity = ENTITIES[character];
  if (entity !== undefined) forms.push(`&${entity};`, `&#0?${character.charCodeAt(0)};`, `&#x${code};`);
  return `(?:${forms.join('|')})`;
}

/** A text -> the same with marks. */
export type ValueMask = (text: string, mark: Mark) => string;

/** Masks whole spellings; if several begin at one position, the longest. */
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

/** Masks values with single characters escaped as no encoder would do it. */
export function createEscapedMask(values: readonly string[]): ValueMask {
  const expressions = values
    .filter(({ length }) => length >= SHORTEST_VALUE && length <= LONGEST_TOLERANT)
    .map(
      (value) => [value, new RegExp(Array.from(value.toWellFormed()).map(tolerant).join(''), 'g')] as const,
    );
  return (text, mark) => {
    if (!MAYBE_ESCAPED.test(text)) return text;
    return expressions.reduce(
      (masked, [value, expression]) => masked.replace(expression, () => mark(value)),
      text,
    );
  };
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
