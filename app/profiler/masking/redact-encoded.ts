/**
 * Finds texts inside a text that an encoding hides from the rules: percent-encoded parts of an address or a form, text with the entities of
 * XML, strings of JSON with escapes, literals of SQL with doubled quotes, JSON in base64. Each is decoded, masked and, if that changed it, encoded again.
 * Takes linear time.
 */
import { base64AroundMarks, encodeAroundMarks } from './redact-marks.ts';

type Mask = (text: string) => string;

/** No rule finds anything in a shorter text. */
export const SHORTEST_FIND = 5;
/** Encodings inside each other, such as JSON in a query in the query of an address. */
const MOST_ENCODINGS = 3;

const COMPONENT = /[^\s/?&;=#"<>,]+/g;
const PERCENT = /(?:%[\da-f]{2})+/gi;
/** Without double quotes: an entity for one does not end a value that begins with the character. */
const RUN_OF_MARKUP = /(?<=>|^)[^<"]+|(?<=[<"])[^<>"]+/g;
const ENTITY = /&(?:(quot|apos|lt|gt|amp)|#0{0,4}(\d{2,3})|#x0{0,4}([\da-f]{2}));/gi;
const CHARACTER_OF: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' };
const ENTITY_OF: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const RUN_OF_STRING = /(?:[^"\\]|\\.)+/gs;
const BACKSLASH = /\\(?:u[\da-f]{4}|["\\/bfnrt])/gi;
const SQL_LITERAL = /'((?:[^']|'')*)'/g;
/** As an object or a list of JSON begins. A dot follows in web tokens, which are masked as a whole. */
const BASE64_JSON = /(?<![\w.+-])(?:eyJ|eyA|ewo|W3s|WyJ|Wwo)[\w+/-]{12,}={0,2}(?:\.[\w.-])?/g;

export function decodePercent(text: string): string {
  return text.replaceAll('+', ' ').replace(PERCENT, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

function decodeEntities(text: string): string {
  const hasApostrophe = text.includes("'");
  return text.replace(ENTITY, (entity, name?: string, decimal?: string, hex?: string) => {
    const character =
      name === undefined
        ? String.fromCharCode(hex === undefined ? Number(decimal) : parseInt(hex, 16))
        : (CHARACTER_OF[name.toLowerCase()] ?? '');
    return character === "'" && hasApostrophe ? entity : character;
  });
}

export function decodeBackslashes(text: string): string {
  return text.replace(BACKSLASH, (escape) => JSON.parse(`"${escape.toLowerCase()}"`) as string);
}

export function decodeAll(text: string): string {
  return decodeBackslashes(decodeEntities(decodePercent(text))).replaceAll("''", "'");
}

interface Encoding {
  mayHold: RegExp;
  part: RegExp;
  decode: (part: string) => string;
  encode: (plain: string) => string;
}

const ENCODINGS: readonly Encoding[] = [
  { mayHold: /[%+]/, part: COMPONENT, decode: decodePercent, encode: encodeAroundMarks },
  {
    mayHold: /&[#a-z]/i,
    part: RUN_OF_MARKUP,
    decode: decodeEntities,
    encode: (plain) => plain.replace(/[&<>"]/g, (character) => ENTITY_OF[character] ?? ''),
  },
  {
    mayHold: /\\/,
    part: RUN_OF_STRING,
    decode: decodeBackslashes,
    encode: (plain) => JSON.stringify(plain).slice(1, -1),
  },
  {
    mayHold: /''/,
    part: SQL_LITERAL,
    decode: (literal) => literal.slice(1, -1).replaceAll("''", "'"),
    encode: (plain) => `'${plain.replaceAll("'", "''")}'`,
  },
  {
    mayHold: /eyJ|eyA|ewo|W3s|WyJ|Wwo/,
    part: BASE64_JSON,
    decode: (run) => (run.includes('.') ? run : Buffer.from(run, 'base64').toString()),
    encode: base64AroundMarks,
  },
];

/** What an encoding hides comes first: a rule may mask a part of an encoded text, and leave a rest that tells nothing. */
export function maskEverywhere(text: string, mask: Mask, depth = 0): string {
  if (depth === MOST_ENCODINGS) return mask(text);
  let result = text;
  for (const { mayHold, part, decode, encode } of ENCODINGS) {
    if (!mayHold.test(result)) continue;
    result = result.replace(part, (given: string) => {
      if (!mayHold.test(given)) return given;
      const plain = decode(given);
      const isLeft = plain === given || plain.length < SHORTEST_FIND;
      const masked = isLeft ? plain : maskEverywhere(plain, mask, depth + 1);
      return masked === plain ? given : encode(masked);
    });
  }
  return mask(result);
}
