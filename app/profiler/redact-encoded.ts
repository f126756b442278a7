/**
 * Finds texts inside a text that an encoding hides from the rules: percent-encoded parts of an address or a form, text with the entities of
 * XML, literals of SQL with doubled quotes. Each is decoded, masked and, if that changed it, encoded again. Takes linear time.
 */
import { encodeAroundMarks } from './redact-marks.ts';
import { readQuoted } from './redact-quoted.ts';

type Mask = (text: string) => string;

/** What stands between the separators of an address or a form. */
const COMPONENT = /[^\s/?&;=#"<>,]+/g;
const ESCAPES = /(?:%[\da-f]{2})+/gi;
/** Text behind a tag, or the inside of one. */
const RUN_OF_MARKUP = /(?<=>|^)[^<]+|(?<=<)[^<>]+/g;
const ENTITY = /&(?:quot|apos|lt|gt|amp|#34|#39|#x22|#x27);/gi;
const CHARACTER_OF: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&#34;': '"',
  '&#x22;': '"',
  '&apos;': "'",
  '&#39;': "'",
  '&#x27;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
};
const ENTITY_OF: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function decodeEscapes(text: string): string {
  return text.replaceAll('+', ' ').replace(ESCAPES, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

function maskComponents(text: string, mask: Mask): string {
  return text.replace(COMPONENT, (component) => {
    if (!component.includes('%') && !component.includes('+')) return component;
    const plain = decodeEscapes(component);
    const masked = plain === component ? plain : mask(plain);
    if (masked === plain) return component;
    return encodeAroundMarks(masked);
  });
}

function decodeEntities(text: string): string {
  return text.replace(ENTITY, (entity) => CHARACTER_OF[entity.toLowerCase()] ?? entity);
}

function maskMarkup(text: string, mask: Mask): string {
  return text.replace(RUN_OF_MARKUP, (run) => {
    const plain = run.includes('&') ? decodeEntities(run) : run;
    const masked = plain === run ? plain : mask(plain);
    return masked === plain ? run : masked.replace(/[&<>"]/g, (character) => ENTITY_OF[character] ?? '');
  });
}

function maskLiterals(text: string, mask: Mask): string {
  let result = '';
  let done = 0;
  for (let at = text.indexOf("'"); at !== -1;) {
    const quoted = readQuoted(text, at);
    if (quoted === null) break;
    const plain = quoted.value.replaceAll("''", "'");
    const masked = plain === quoted.value ? plain : mask(plain);
    if (masked !== plain) {
      result += `${text.slice(done, at)}${quoted.open}${masked.replaceAll("'", "''")}${quoted.close}`;
      done = quoted.end;
    }
    at = text.indexOf("'", quoted.end);
  }
  return done === 0 ? text : result + text.slice(done);
}

export function maskEncodedTexts(text: string, mask: Mask): string {
  let result = text;
  if (result.includes('%') || result.includes('+')) result = maskComponents(result, mask);
  if (result.includes('&') && result.includes(';')) result = maskMarkup(result, mask);
  if (result.includes("''")) result = maskLiterals(result, mask);
  return result;
}
