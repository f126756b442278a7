/**
 * Secrets inside a text, by name and by shape: `name=value`, `name: value`, JSON, XML, form fields in HTML, multipart parts,
 * addresses with a password, tokens and keys that show what they are. In: text. Out: text, and what was found told to `learn`.
 *
 * Each rule finds the name first and looks at the value after that, as far as it goes: a value is masked whole however long,
 * and a text that was cut inside one is masked to its end. All of it takes time linear in the length of the text.
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
const NAME_IN_TEXT = /\b([A-Za-z][\w.-]{2,60})(\s{0,20}[:=]\s{0,20})(?!\/\/)/g;
/** What follows the name: a quoted text, or a word, which a scheme may precede. */
const VALUE_IN_TEXT =
  /"[^"]*"?|'[^']*'?|`[^`]*`?|(?:(?:Basic|Bearer|Digest|Token|Negotiate)[ \t]{1,8})?[^\s,;&"'`<>()[\]{}]+/iy;
/** Headers whose value goes to the end of the line. */
const LINE_NAME = /^(?:set-)?cookie$|authorization$/i;
const LINE_VALUE = /[^\r\n"'<>\\]*/y;
const LITERAL = /^["'`]/;
const TAG = /<([A-Za-z_][\w.:-]{0,60})(?:\s[^<>]*)?>/g;
const FIELD = /<(?:input|meta|button|option|textarea)\s[^<>]*>/gi;
const FIELD_NAME = /\b(?:name|id)\s{0,5}=\s{0,5}["']?([^"'\s<>]{1,200})/gi;
const FIELD_VALUE = /(\b(?:value|content)\s{0,5}=\s{0,5})("[^"]*"?|'[^']*'?|[^\s"'<>]+)/gi;
const PART =
  /(\bname="([^"\r\n]{1,200})"[^\r\n]{0,500}\r?\n(?:[^\r\n]{1,500}\r?\n){0,5}\r?\n)([\s\S]*?)(?=\r?\n--|$)/g;

/** JSON as the value of a parameter. */
function maskEncoded(pair: string, value: string, masking: TextMasking): string {
  const plain = decodeName(value);
  const masked = maskJson(plain, masking);
  if (masked === plain) return pair;
  const encoded = encodeURIComponent(masked.toWellFormed()).replaceAll(encodeURIComponent(MASK), MASK);
  return pair.slice(0, pair.length - value.length) + encoded;
}

function maskQuery(text: string, masking: TextMasking): string {
  const { isSecretName, learn } = masking;
  return text.replace(PAIR_IN_QUERY, (all, gap: string, name: string, value: string) => {
    const plainName = decodeName(name);
    if (value === '' || NO_VALUE.test(value)) return all;
    if (!isSecretName(plainName)) return value.includes('%22') ? maskEncoded(all, value, masking) : all;
    learn(plainName, decodeName(value));
    return `${gap}${name}=${MASK}`;
  });
}

/** The element's whole content; to the end of the text where the element is cut off. */
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

/** `isCode`: in an excerpt of source only a literal can be a secret: `token: string` is none. */
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

/** By name. */
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

/** Runs of characters that a JSON web token is made of: `header.payload.signature`, the last perhaps cut off. */
function maskWebTokens(run: string): string {
  if (!run.includes('eyJ')) return run;
  const parts = run.split('.');
  for (let index = 0; index + 1 < parts.length; index++) {
    const part = parts[index] ?? '';
    const at = part.lastIndexOf('eyJ');
    if (at === -1 || part.length - at < 8 || parts[index + 1]?.startsWith('eyJ') !== true) continue;
    parts.splice(index, 3, part.slice(0, at) + MASK);
  }
  return parts.join('.');
}

const SHAPES: readonly ((text: string) => string)[] = [
  (text) => text.replace(/([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@'"<>]*):[^\s/@'"<>]+@/gi, `$1:${MASK}@`),
  (text) => text.replace(/[\w.-]{20,}/g, maskWebTokens),
  (text) =>
    text.replace(
      /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
      MASK,
    ),
  (text) =>
    text.replace(
      /\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{30,}|AIza[\w-]{35}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|xox[abprs]-[A-Za-z0-9-]{10,})/g,
      MASK,
    ),
  (text) => text.replace(/\b(Bearer|Basic|Digest|Token)(\s{1,20})[A-Za-z0-9._~+/=-]{8,}/g, `$1$2${MASK}`),
];
/** Cheap test before the shapes are tried. */
const MAYBE_SHAPE =
  /:\/\/|eyJ|-----BEGIN|AKIA|ASIA|gh[pousr]_|github_|glpat-|npm_|AIza|k_live_|k_test_|xox|Bearer|Basic|Digest|Token/i;

/** By shape: what is a secret whatever its name. */
export function maskShapes(text: string): string {
  if (!MAYBE_SHAPE.test(text)) return text;
  return SHAPES.reduce((result, mask) => mask(result), text);
}
