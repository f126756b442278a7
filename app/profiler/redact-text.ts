/**
 * Masks secrets in a text by name: `name=value`, `name: value`, JSON, XML, form fields in HTML, multipart parts, and what
 * redact-phrases.ts finds. Masked values are reported to `learn`.
 *
 * Each rule first finds the name and then reads the whole value, however long; if the text was truncated inside the value, it is
 * masked to the end. All rules take time linear in the length of the text.
 */
import { maskJson } from './redact-json.ts';
import { maskPhrases } from './redact-phrases.ts';
import { readQuoted } from './redact-quoted.ts';
import { decodeName, MASK, NO_VALUE, type TextMasking } from './redact-rules.ts';

const PAIR_IN_QUERY = /([?&;]|^)([^=&?;\s"'<>]{1,200})=((?:[^&\s"<>\\]|\\(?!"))*)/g;
/** The name may be quoted, also inside a string: `\"password\": …`. */
const NAME_IN_TEXT =
  /\b([A-Za-z][\w.-]{1,60})(?:\\{0,16}["'`])?\]?(\s{0,20}(?:[:=]>?|%3[AaDd])(?:\s|%20){0,20})(?!\/\/)/g;
/** A word after the name, perhaps preceded by a scheme. */
const VALUE_IN_TEXT = /(?:(?:Basic|Bearer|Digest|Token|Negotiate)[ \t]{1,8})?[^\s,;&"'`<>()[\]{}]+/iy;
/** The beginning of a value of either kind. */
const VALUE_START = /\\{0,16}["'`]?([^\s,;&"'`<>()[\]{}\\]{1,200})/y;
/** Headers whose value extends to the end of the line. */
const LINE_NAME = /^(?:set-)?cookie$|authorization$|^sec-websocket-protocol$/i;
const LINE_VALUE = /[^\r\n"'<>\\]*/y;
/** Fields of OAuth, beside which `code` is a secret (RFC 6749, section 4.1). */
const OAUTH = /grant_type|client_id|redirect_uri|code_verifier|[?&]state=/i;
const TAG = /<([A-Za-z_][\w.:-]{0,60})(?:\s[^<>]*)?>/g;
const FIELD = /<(?:input|meta|button|option|textarea)\s[^<>]*>/gi;
/** The quotes may be escaped, inside a string. */
const FIELD_NAME = /\b(?:name|id)\s{0,5}=\s{0,5}(?:\\{0,16}["'])?([^"'\s<>\\]{1,200})/gi;
const FIELD_VALUE =
  /(\b(?:value|content)\s{0,5}=\s{0,5})("[^"]*"?|'[^']*'?|\\{1,16}"[^"\\]*(?:\\{1,16}"?)?|[^\s"'<>\\]+)/gi;
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
  const { isSecret, learn } = masking;
  return text.replace(PAIR_IN_QUERY, (all, gap: string, name: string, value: string) => {
    const plainName = decodeName(name);
    if (value === '' || NO_VALUE.test(value)) return all;
    const plain = decodeName(value);
    if (!isSecret(plainName, plain))
      return HOLDS_ENCODED.test(value) ? maskEncoded(all, value, masking) : all;
    learn(plainName, plain);
    return `${gap}${name}=${MASK}`;
  });
}

/** Masks the whole content of an element, up to the end of the text if the element is truncated. */
function maskElements(text: string, { isSecret, learn }: TextMasking): string {
  let result = '';
  let done = 0;
  TAG.lastIndex = 0;
  for (let tag = TAG.exec(text); tag !== null; tag = TAG.exec(text)) {
    const [whole, name = ''] = tag;
    const start = tag.index + whole.length;
    if (whole.endsWith('/>') || !isSecret(name, /^[^<]*/.exec(text.slice(start, start + 200))?.[0] ?? ''))
      continue;
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
      const [, open = '', plain = ''] = /^(\\*["']?)([^]*?)\\*["']?$/.exec(value) ?? [];
      if (plain === '') return all;
      learn(name, plain);
      const quote = open === '' ? '"' : open;
      return `${head}${quote}${MASK}${quote}`;
    });
  });
}

function maskParts(text: string, { isSecret, learn }: TextMasking): string {
  return text.replace(PART, (all, head: string, name: string, value: string) => {
    if (value === '' || value === MASK || !isSecret(name, value)) return all;
    learn(name, value);
    return `${head}${MASK}`;
  });
}

/** `token-store.ts:12:34` names a place in a file. */
const FILE_NAME = /\.(?:[cm]?[jt]sx?|ejs|html|json|vue|py|rb|php|go|java|sql)$/;
const LINE_NUMBER = /^\d{1,7}(?::\d{1,7})?$/;

function isSecretAt(text: string, start: number, name: string, { isSecret }: TextMasking): boolean {
  VALUE_START.lastIndex = start;
  const value = VALUE_START.exec(text)?.[1] ?? '';
  return isSecret(name, value) && !(FILE_NAME.test(name) && LINE_NUMBER.test(value));
}

interface LooseValue {
  shown: string;
  end: number;
  /** Without quotes; null if it had none. */
  literal: string | null;
}

/** The value that begins at `start`, masked; null if it isn't secret. */
function maskLooseValue(text: string, start: number, isLine: boolean): LooseValue | null {
  const quoted = readQuoted(text, start);
  if (quoted !== null) {
    const { open, value, close, end } = quoted;
    return value === '' || value === MASK ? null : { shown: `${open}${MASK}${close}`, end, literal: value };
  }
  const expression = isLine ? LINE_VALUE : VALUE_IN_TEXT;
  expression.lastIndex = start;
  const value = expression.exec(text)?.[0] ?? '';
  if (value === '' || value === MASK || NO_VALUE.test(value) || (!isLine && value.length < 3)) return null;
  const scheme = /^(?:Basic|Bearer|Digest|Token|Negotiate)[ \t]+/i.exec(value)?.[0] ?? '';
  return { shown: `${scheme}${MASK}`, end: start + value.length, literal: null };
}

/** `isCode`: in a source excerpt only a literal can be a secret; `token: string` is not one. */
function maskLoosePairs(text: string, masking: TextMasking, isCode: boolean): string {
  let result = '';
  let done = 0;
  NAME_IN_TEXT.lastIndex = 0;
  for (let match = NAME_IN_TEXT.exec(text); match !== null; match = NAME_IN_TEXT.exec(text)) {
    const [whole, name = ''] = match;
    const start = match.index + whole.length;
    if (!isSecretAt(text, start, name, masking)) continue;
    const value = maskLooseValue(text, start, LINE_NAME.test(name) && !isCode);
    if (value === null || (isCode && value.literal === null)) continue;
    if (value.literal !== null && !isCode) masking.learn(name, value.literal);
    result += text.slice(done, start) + value.shown;
    done = value.end;
    NAME_IN_TEXT.lastIndex = done;
  }
  return done === 0 ? text : result + text.slice(done);
}

/** Applies all rules by name. `isCode`: the text is a source excerpt. */
export function maskPairs(text: string, given: TextMasking, isCode: boolean): string {
  if (isCode) return maskLoosePairs(text, given, true);
  const masking = OAUTH.test(text)
    ? {
        ...given,
        isSecret: (name: string, value: string) => /^code$/i.test(name) || given.isSecret(name, value),
      }
    : given;
  let result = text;
  if (result.includes('<')) result = maskFields(maskElements(result, masking), masking);
  if (result.includes('name="')) result = maskParts(result, masking);
  if (result.includes('=')) result = maskQuery(result, masking);
  if (result.includes('"') && result.includes(':')) result = maskJson(result, masking);
  return maskPhrases(maskLoosePairs(result, masking, false), masking);
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
