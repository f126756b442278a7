/**
 * Known values -> a function that masks them in a text: in every spelling under which they turn up, and where a limit of
 * length cut one in two, so that its first half does not stay behind.
 */
import { MASK } from './redact-rules.ts';

export type ValueMask = (text: string) => string;

/** Shorter values would be masked inside ordinary words. */
export const SHORTEST_KNOWN_VALUE = 8;
/** Longer ones are known by their beginning: they may have been cut themselves. */
const LONG_VALUE = 200;
/** Spelled with each of its characters escaped or not; longer values cost too much for what is rare. */
const LONGEST_TOLERANT = 100;
/** Least characters of a value at a cut that are masked. */
const SHORTEST_HEAD = 3;
/** Shorter texts were not cut: no limit of a profile is lower, save that of a preview. */
const SHORTEST_CUT_TEXT = 48;
/** What marks a cut, in `cutText` and everywhere else. */
const CUT = '…';
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

function escapeMarkup(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&${ENTITIES[character] ?? ''};`).replaceAll("'", '&#39;');
}

function percentSpellings(value: string): string[] {
  const whole = value.toWellFormed();
  const encoded = encodeURIComponent(whole);
  const spellings = [
    encoded,
    encoded.replace(/%20/g, '+'),
    encoded.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
    encodeURI(whole),
  ];
  return spellings.flatMap((text) => [text, text.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase())]);
}

/** Base64 at any offset, without the characters that depend on the neighbours. */
function base64Spellings(value: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]);
    const whole = Math.floor(bytes.length / 3) * 3;
    const text = bytes
      .subarray(0, whole)
      .toString('base64')
      .slice(Math.ceil((offset * 8) / 6));
    return text.length < SHORTEST_KNOWN_VALUE ? [] : [text, text.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function spellingsOf(value: string): string[] {
  if (value.length > LONG_VALUE) {
    const beginning = value.slice(0, LONG_VALUE);
    return [value, beginning, JSON.stringify(beginning).slice(1, -1), ...percentSpellings(beginning)];
  }
  const plain = [value, JSON.stringify(value).slice(1, -1), ...percentSpellings(value)];
  const hex = Buffer.from(value).toString('hex');
  return [...new Set([...plain, escapeMarkup(value), hex, hex.toUpperCase(), ...base64Spellings(value)])];
}

/** A percent escape of one byte, in either case, itself encoded once or twice more. */
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

/** Masks the beginning of a spelling where a text ends. */
function createEndMask(spellings: readonly string[]): ValueMask {
  const byHead = new Map<string, string[]>();
  let longest = 0;
  for (const spelling of spellings) {
    const head = spelling.slice(0, SHORTEST_HEAD);
    byHead.set(head, [...(byHead.get(head) ?? []), spelling]);
    longest = Math.max(longest, spelling.length);
  }
  return (text) => {
    for (let at = Math.max(0, text.length - longest); at <= text.length - SHORTEST_HEAD; at++) {
      const candidates = byHead.get(text.slice(at, at + SHORTEST_HEAD));
      const rest = candidates === undefined ? '' : text.slice(at);
      if (candidates?.some((spelling) => spelling.startsWith(rest)) === true) return text.slice(0, at) + MASK;
    }
    return text;
  };
}

/** null where there is nothing to mask. `escapes`: also with single characters escaped in ways that no encoder chooses. */
export function createValueMask(
  values: readonly string[],
  { escapes = false }: { escapes?: boolean } = {},
): ValueMask | null {
  const long = values.filter((value) => value.length >= SHORTEST_KNOWN_VALUE);
  if (long.length === 0) return null;
  const spellings = [...new Set(long.flatMap(spellingsOf))];
  const whole = expressionOf(spellings);
  const escaped = escapes ? tolerantOf(long) : null;
  const maskEnd = createEndMask(spellings);

  /** Masks what stands before each mark of a cut, and at the end of a text long enough to have been cut unmarked. */
  function maskCuts(text: string): string {
    let result = '';
    let done = 0;
    if (text.includes(CUT)) {
      for (let at = text.indexOf(CUT); at !== -1; at = text.indexOf(CUT, done)) {
        result += maskEnd(text.slice(done, at)) + CUT;
        done = at + CUT.length;
      }
    }
    const rest = done === 0 ? text : text.slice(done);
    return result + (text.length >= SHORTEST_CUT_TEXT ? maskEnd(rest) : rest);
  }

  return (text) => {
    let result = text.replace(whole, MASK);
    if (escaped !== null && MAYBE_ESCAPED.test(result)) result = result.replace(escaped, MASK);
    return maskCuts(result);
  };
}
