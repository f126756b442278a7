/**
 * Masks the values of secret names in JSON inside a text. The JSON may be complete, truncated anywhere, in the middle of a log line,
 * or a string inside other JSON. A hand-written scanner, because regular expressions either backtrack on such texts or need length
 * limits, and a secret beyond the limit would stay.
 */
import type { TextMasking } from './redact-rules.ts';

/** Maximum nesting of JSON in strings inside JSON. */
const DEEPEST_STRING = 5;
const LONGEST_NAME = 400;

/** Position after the closing quote of the string that opens at `start`; the end of the text if the string is truncated. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at + 1;
  }
  return text.length;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text.charAt(at))) at++;
  return at;
}

const STRING_START = /"([^"\\]{0,200})/y;

function startOfString(text: string, start: number): string {
  STRING_START.lastIndex = start;
  return STRING_START.exec(text)?.[1] ?? '';
}

/** The value of a string literal, perhaps truncated; null if it isn't one. */
function decode(literal: string): string | null {
  const closed = literal.length > 1 && literal.endsWith('"');
  for (const candidate of closed
    ? [literal]
    : [`${literal}"`, `${literal.replace(/\\u?[\da-f]{0,3}$/i, '')}"`]) {
    try {
      return JSON.parse(candidate) as string;
    } catch {
      // Truncated inside an escape, or not JSON.
    }
  }
  return null;
}

export function maskJson(text: string, masking: TextMasking, depth = 0): string {
  const { isSecret, hide, mark } = masking;
  let result = '';
  let done = 0;

  function replace(from: number, to: number, by: string): void {
    result += text.slice(done, from) + by;
    done = to;
  }

  function maskString(name: string, start: number): number {
    const end = endOfString(text, start);
    const literal = text.slice(start, end);
    if (literal === '""') return end;
    replace(start, end, JSON.stringify(hide(name, decode(literal) ?? literal.slice(1))));
    return end;
  }

  /** Masks every string and number inside an object or list; names stay. */
  function maskContainer(name: string, start: number): number {
    let open = 0;
    for (let at = start; at < text.length;) {
      const character = text.charAt(at);
      if (character === '"') {
        const end = endOfString(text, at);
        if (text.charAt(skipSpace(text, end)) === ':') at = end;
        else at = maskString(name, at);
        continue;
      }
      const number = /[-\d]/.test(character) ? endOfNumber(at) : at;
      if (number > at) {
        replace(at, number, `"${mark(text.slice(at, number), 'number')}"`);
        at = number;
        continue;
      }
      if (character === '{' || character === '[') open++;
      if ((character === '}' || character === ']') && --open === 0) return at + 1;
      at++;
    }
    return text.length;
  }

  function endOfNumber(start: number): number {
    let at = start;
    while (at < text.length && /[-+.\deE]/.test(text.charAt(at))) at++;
    return at;
  }

  function maskValue(name: string, start: number): number {
    const character = text.charAt(start);
    if (character === '"') return maskString(name, start);
    if (character === '{' || character === '[') return maskContainer(name, start);
    const end = /[-\d]/.test(character) ? endOfNumber(start) : start;
    if (end > start) replace(start, end, `"${mark(text.slice(start, end), 'number')}"`);
    return end;
  }

  /** Masks the JSON inside a string and encodes it as a string again. */
  function maskInside(start: number, end: number): boolean {
    const literal = text.slice(start, end);
    if (depth >= DEEPEST_STRING || !literal.includes('\\"') || !literal.includes(':')) return false;
    const inner = decode(literal);
    const masked = inner === null ? null : maskJson(inner, masking, depth + 1);
    if (masked === null || masked === inner) return false;
    replace(start, end, JSON.stringify(masked));
    return true;
  }

  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const end = endOfString(text, at);
    const colon = skipSpace(text, end);
    if (text.charAt(colon) === ':' && end - at <= LONGEST_NAME) {
      const literal = text.slice(at, end);
      const name = literal.includes('\\') ? (decode(literal) ?? literal) : literal.slice(1, -1);
      const value = skipSpace(text, colon + 1);
      at = isSecret(name, startOfString(text, value)) ? maskValue(name, value) : value;
    } else if (maskInside(at, end) || end === text.length) at = end;
    // In a text that is not JSON, the closing quote of this string may also open the next one.
    else at = end - 1;
    if (at >= text.length) break;
  }
  return done === 0 ? text : result + text.slice(done);
}
