/**
 * Known values -> a function that masks them in a text, in every encoding in which they may occur, and also their first half if the
 * text was truncated inside a value.
 */
import { escapeHtml } from './escape-html.ts';
import { createHeadScan, CUT, type HeadScan, SHORTEST_HEAD } from './redact-heads.ts';
import { MASK } from './redact-rules.ts';
import { groupBy } from './group-by.ts';

export type ValueMask = (text: string) => string;

/** Shorter values would be masked inside ordinary words. */
export const SHORTEST_KNOWN_VALUE = 8;
/** Longer values are recognised by their beginning, because they may have been truncated themselves. */
const LONG_VALUE = 200;
/** Up to this length a value is also found with any of its characters escaped. That is rare, and too expensive for longer values. */
const LONGEST_TOLERANT = 100;
/** Shorter texts were not truncated: except for previews, no length limit of a profile is lower. */
const SHORTEST_CUT_TEXT = 48;
/** Spellings compared in one text; each takes about a hundred nanoseconds. */
const MOST_TRIES = 100;
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
    return whole.length < SHORTEST_KNOWN_VALUE
      ? []
      : [whole, whole.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function readableSpellings(value: string): string[] {
  if (PLAIN_VALUE.test(value)) return [value];
  return [value, JSON.stringify(value).slice(1, -1), ...percentSpellings(value)];
}

function spellingsOf(value: string): string[] {
  if (value.length > LONG_VALUE) return [value, ...readableSpellings(value.slice(0, LONG_VALUE))];
  const hex = Buffer.from(value).toString('hex');
  const readable = readableSpellings(value);
  if (readable.length > 1) readable.push(escapeHtml(value));
  return [...readable, hex, hex.toUpperCase(), ...base64Spellings(value)];
}

/** Every spelling of the values that are too long to be ordinary words. */
export function spellingsOfAll(values: readonly string[]): string[] {
  return [...new Set(values.filter((value) => value.length >= SHORTEST_KNOWN_VALUE).flatMap(spellingsOf))];
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

function expressionOf(spellings: readonly string[]): RegExp {
  const longestFirst = [...spellings].sort((a, b) => b.length - a.length);
  const open = (text: string): string => (text.length >= LONG_VALUE ? '[^\\s"\'&<>]*' : '');
  return new RegExp(longestFirst.map((text) => escapeRegExp(text) + open(text)).join('|'), 'g');
}

function tolerantOf(values: readonly string[]): RegExp | null {
  const short = values.filter((value) => value.length <= LONGEST_TOLERANT);
  if (short.length === 0) return null;
  return new RegExp(
    short.map((value) => Array.from(value.toWellFormed()).map(tolerant).join('')).join('|'),
    'g',
  );
}

/** Groups the spellings by their first characters, longest first. */
function groupByHead(spellings: readonly string[]): Map<string, string[]> {
  const longestFirst = [...spellings].sort((a, b) => b.length - a.length);
  return groupBy(longestFirst, (spelling) => spelling.slice(0, SHORTEST_HEAD));
}

/** Masks the beginning of a spelling at the end of a text. */
function createEndMask(groups: ReadonlyMap<string, readonly string[]>): ValueMask {
  const longest = Math.max(...[...groups.values()].map(([spelling]) => spelling?.length ?? 0));
  return (text) => {
    for (let at = Math.max(0, text.length - longest); at <= text.length - SHORTEST_HEAD; at++) {
      const candidates = groups.get(text.slice(at, at + SHORTEST_HEAD));
      const rest = candidates === undefined ? '' : text.slice(at);
      if (candidates?.some((spelling) => spelling.startsWith(rest)) === true) return text.slice(0, at) + MASK;
    }
    return text;
  };
}

/** Masks truncated spellings before each CUT, and at the end of a text that may have been truncated without a mark. */
function maskTruncated(text: string, maskEnd: ValueMask): string {
  let result = '';
  let done = 0;
  for (let at = text.indexOf(CUT); at !== -1; at = text.indexOf(CUT, done)) {
    result += maskEnd(text.slice(done, at)) + CUT;
    done = at + CUT.length;
  }
  const rest = done === 0 ? text : text.slice(done);
  return result + (text.length >= SHORTEST_CUT_TEXT ? maskEnd(rest) : rest);
}

/** End of a long value, of which only the beginning is known. */
function endOfOpen(text: string, from: number): number {
  let at = from;
  while (at < text.length && !/[\s"'&<>]/.test(text.charAt(at))) at++;
  return at;
}

/**
 * Masks whole spellings; if several begin at one position, the longest. Hand-written, because compiling a regular expression for
 * values of a single request costs a hundred times as much as using it. The expression is used only for texts that were crafted to
 * resemble a spelling everywhere.
 */
function createWholeMask(groups: ReadonlyMap<string, readonly string[]>, find: HeadScan): ValueMask {
  let expression: RegExp | null = null;

  function maskByExpression(text: string): string {
    expression ??= expressionOf([...groups.values()].flat());
    return text.replace(expression, MASK);
  }

  return (text) => {
    let result = '';
    let done = 0;
    let tries = 0;
    for (let at = find(text); at !== -1;) {
      const candidates = groups.get(text.slice(at, at + SHORTEST_HEAD)) ?? [];
      tries += 1 + candidates.length;
      if (tries > MOST_TRIES) return maskByExpression(text);
      const found = candidates.find((spelling) => text.startsWith(spelling, at));
      if (found === undefined) {
        at = find(text, at + 1);
        continue;
      }
      result += text.slice(done, at) + MASK;
      done = at + found.length;
      if (found.length >= LONG_VALUE) done = endOfOpen(text, done);
      at = find(text, done);
    }
    return done === 0 ? text : result + text.slice(done);
  };
}

export interface KnownValues {
  mask: ValueMask;
  /** For a text in which no spelling begins: with `escapes`, finds values whose first characters are escaped. */
  maskEscaped: ValueMask;
}

/** null if there is nothing to mask. `escapes`: also finds values with single characters escaped as no encoder would do it. */
export function createValueMask(
  values: readonly string[],
  { escapes = false }: { escapes?: boolean } = {},
): KnownValues | null {
  const spellings = spellingsOfAll(values);
  if (spellings.length === 0) return null;
  const find = createHeadScan(spellings);
  const groups = groupByHead(spellings);
  const maskWhole = createWholeMask(groups, find);
  const maskEnd = createEndMask(groups);
  const escaped = escapes ? tolerantOf(values.filter((value) => value.length >= SHORTEST_KNOWN_VALUE)) : null;

  function maskEscaped(text: string): string {
    return escaped === null || !MAYBE_ESCAPED.test(text) ? text : text.replace(escaped, MASK);
  }

  return {
    mask: (text) =>
      find(text) === -1 ? maskEscaped(text) : maskTruncated(maskEscaped(maskWhole(text)), maskEnd),
    maskEscaped,
  };
}
