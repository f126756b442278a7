/**
 * Masks secrets in a text by name: `name=value`, `name: value`, JSON, XML, form fields in HTML, multipart parts. Masked values are
 * reported to `learn`.
 *
 * Each rule first finds the name and then reads the whole value, however long; if the text was truncated inside the value, it is
 * masked to the end. All rules take time linear in the length of the text.
 */
import { maskJson } from './redact-json.ts';
import { decodeName, MASK, NO_VALUE } from './redact-rules.ts';

export interface TextMasking {
  isSecretName: (name: string) => boolean;
  learn: (name: string, value: string) => void;
}

const PAIR_IN_QUERY = /([?&;]|^)([^=&?;\s"'<>]{1,200})=((?:[^&\s"<>\\]|\\(?!"))*)/g;
const PAIR_IN_ESCAPED_JSON =
  /(\\{1,16}"([^"\\]{1,200})\\{1,16}"\s{0,20}:\s{0,20})\\{1,16}"[\s\S]*?(\\{1,16}"|$)/g;
const NAME_IN_TEXT = /\b([A-Za-z][\w.-]{2,60})(\s{0,20}(?:[:=]|%3[AaDd])(?:\s|%20){0,20})(?!\/\/)/g;
/** The value after the name: a quoted text, or a word, perhaps preceded by a scheme. */
const VALUE_IN_TEXT =
  /"[^"]*"?|'[^']*'?|`[^`]*`?|(?:(?:Basic|Bearer|Digest|Token|Negotiate)[ \t]{1,8})?[^\s,;&"'`<>()[\]{}]+/iy;
/** Headers whose value extends to the end of the line. */
const LINE_NAME = /^(?:set-)?cookie$|authorization$|^sec-websocket-protocol$/i;
const LINE_VALUE = /[^\r\n"'<>\\]*/y;
const LITERAL = /^["'`]/;
const TAG = /<([A-Za-z_][\w.:-]{0,60})(?:\s[^<>]*)?>/g;
const FIELD = /<(?:input|meta|button|option|textarea)\s[^<>]*>/gi;
const FIELD_NAME = /\b(?:name|id)\s{0,5}=\s{0,5}["']?([^"'\s<>]{1,200})/gi;
const FIELD_VALUE = /(\b(?:value|content)\s{0,5}=\s{0,5})("[^"]*"?|'[^']*'?|[^\s"'<>]+)/gi;
const PART =
  /(\bname="([^"\r\n]{1,200})"[^\r\n]{0,500}\r?\n(?:[^\r\n]{1,500}\r?\n){0,5}\r?\n)([\s\S]*?)(?=\r?\n--|$)/g;

/** The value of a parameter may contain a pair or JSON: `q=token%3A%20x`. */
const HOLDS_ENCODED = /%(?:22|3[ad])|%[\da-f]{2}[\w.-]{2,60}[:=]/i;

/** Masks text or JSON in the value of a parameter. */
function maskEncoded(pair: string, value: string, masking: TextMasking): string {
  const plain = decodeName(value);
  const masked = maskLoosePairs(maskJson(plain, masking), masking, false);
  if (masked === plain) return pair;
  const encoded = encodeURIComponent(masked.toWellFormed()).replaceAll(encodeURIComponent(MASK), MASK);
  return pair.slice(0, pair.length - value.length) + encoded;
}

function maskQuery(text: string, masking: TextMasking): string {
  const { isSecretName, learn } = masking;
  return text.replace(PAIR_IN_QUERY, (all, gap: string, name: string, value: string) => {
    const plainName = decodeName(name);
    if (value === '' || NO_VALUE.test(value)) return all;
    if (!isSecretName(plainName)) return HOLDS_ENCODED.test(value) ? maskEncoded(all, value, masking) : all;
    learn(plainName, decodeName(value));
    return `${gap}${name}=${MASK}`;
  });
}

/** Masks the whole content of an element, up to the end of the text if the element is truncated. */
function maskElements(text: string, { isSecretName, learn }: TextMasking): string {
  let result = '';
  let done = 0;
  TAG.lastIndex = 0;
  for (let tag = TAG.exec(text); tag !== null; tag = TAG.exec(text)) {
    const [whole, name = ''] = tag;
    const start = tag.index + whole.length;
    if (whole.endsWith('/>') || !isSecretName(name)) continue;
    const close = text.indexOf(`</${name}`, start);
    const end = close === -1 ? text.length : close;
    const value = text.slice(start, end);
    if (value.trim() !== '' && value !== MASK) {
      learn(name, value.replace(/^\s*<!\[CDATA\[([\s\S]*)\]\]>\s*$/, '$1'));
      result += text.slice(done, start) + MASK;
      done = end;
    }
    TAG.lastIndex = end;
  }
  return done === 0 ? text : result + text.slice(done);
}

function maskFields(text: string, { isSecretName, learn }: TextMasking): string {
  return text.replace(FIELD, (tag) => {
    const name = [...tag.matchAll(FIELD_NAME)].map(([, found]) => found ?? '').find(isSecretName);
    if (name === undefined) return tag;
    return tag.replace(FIELD_VALUE, (all, head: string, value: string) => {
      const plain = value.replace(/^["']|["']$/g, '');
      if (plain === '') return all;
      learn(name, plain);
      return `${head}"${MASK}"`;
    });
  });
}

function maskParts(text: string, { isSecretName, learn }: TextMasking): string {
  return text.replace(PART, (all, head: string, name: string, value: string) => {
    if (value === '' || value === MASK || !isSecretName(name)) return all;
    learn(name, value);
    return `${head}${MASK}`;
  });
}

/** `isCode`: in a source excerpt only a literal can be a secret; `token: string` is not one. */
function maskLoosePairs(text: string, { isSecretName }: TextMasking, isCode: boolean): string {
  let result = '';
  let done = 0;
  NAME_IN_TEXT.lastIndex = 0;
  for (let match = NAME_IN_TEXT.exec(text); match !== null; match = NAME_IN_TEXT.exec(text)) {
    const [whole, name = ''] = match;
    if (!isSecretName(name)) continue;
    const start = match.index + whole.length;
    const isLine = LINE_NAME.test(name) && !isCode;
    const expression = isLine && !LITERAL.test(text.charAt(start)) ? LINE_VALUE : VALUE_IN_TEXT;
    expression.lastIndex = start;
    const value = expression.exec(text)?.[0] ?? '';
    if (value === '' || value === MASK || NO_VALUE.test(value) || (isCode && !LITERAL.test(value))) continue;
    if (!isLine && !LITERAL.test(value) && value.length < 3) continue;
    const scheme = /^(?:Basic|Bearer|Digest|Token|Negotiate)[ \t]+/i.exec(value)?.[0] ?? '';
    result += `${text.slice(done, start)}${scheme}${MASK}`;
    done = start + value.length;
    NAME_IN_TEXT.lastIndex = done;
  }
  return done === 0 ? text : result + text.slice(done);
}

/** Applies all rules by name. `isCode`: the text is a source excerpt. */
export function maskPairs(text: string, masking: TextMasking, isCode: boolean): string {
  if (isCode) return maskLoosePairs(text, masking, true);
  let result = text;
  if (result.includes('<')) result = maskFields(maskElements(result, masking), masking);
  if (result.includes('name="')) result = maskParts(result, masking);
  if (result.includes('=')) result = maskQuery(result, masking);
  if (result.includes('"') && result.includes(':')) result = maskJson(result, masking);
  if (result.includes('\\"'))
    result = result.replace(PAIR_IN_ESCAPED_JSON, (all, head: string, name: string, end: string) =>
      masking.isSecretName(name) ? `${head}\\"${MASK}${end}` : all,
    );
  return maskLoosePairs(result, masking, false);
}

/** Escapes in JSON that contain a letter: they can hide a name from the scan, as part of it or beside it. */
const LETTER_ESCAPE = /\\[bfnrtu]/;
/** The last escape of a string that is followed by a colon. */
const ESCAPED_JSON_NAME = /\\[^"][^"\\]*"\s*:/;
/** The last escape of a name in a query. */
const ESCAPED_QUERY_NAME = /%[^%=&?;\s"'<>]*=/;
/** FIELD_NAME truncates names at this length, perhaps in the middle of a word. */
const LONGEST_FIELD_NAME = 200;

function endsFieldName(text: string, at: number): boolean {
  return /["'\s<>]/.test(text.charAt(at));
}

/** Whether a run of characters is long enough for the name of a form field to be truncated in it. */
export function mayCutFieldName(text: string): boolean {
  if (text.length < LONGEST_FIELD_NAME || !text.includes('<')) return false;
  let start = 0;
  for (let end = LONGEST_FIELD_NAME; end <= text.length; end = start + LONGEST_FIELD_NAME) {
    let at = end - 1;
    while (at >= start && !endsFieldName(text, at)) at--;
    if (at < start) return true;
    start = at + 1;
  }
  return false;
}

/** In a query, percent-encoding may hide a name, also one inside an encoded text or JSON value. */
function isQueryUnseen(text: string, masking: TextMasking): boolean {
  return (
    text.includes('%') &&
    (ESCAPED_QUERY_NAME.test(text) || HOLDS_ENCODED.test(text)) &&
    maskQuery(text, masking) !== text
  );
}

/** In JSON, escapes may hide a name, also one in JSON that is itself a string. */
function isJsonUnseen(text: string, masking: TextMasking): boolean {
  return (
    text.includes('\\') &&
    LETTER_ESCAPE.test(text) &&
    (ESCAPED_JSON_NAME.test(text) || text.includes('\\"')) &&
    maskJson(text, masking) !== text
  );
}

/** Masks by name if the scan found no secret name: for names that the scan can't read. */
export function maskUnseenPairs(text: string, masking: TextMasking): string {
  const isUnseen = mayCutFieldName(text) || isQueryUnseen(text, masking) || isJsonUnseen(text, masking);
  return isUnseen ? maskPairs(text, masking, false) : text;
}
