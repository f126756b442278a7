/**
 * Masks secrets in a text by name: `name=value`, `name: value`, JSON, XML, form fields in HTML, multipart parts, and what
 * redact-phrases.ts finds.
 *
 * Each rule first finds the name and then reads the whole value, however long; if the text was truncated inside the value, it is
 * masked to the end. All rules take time linear in the length of the text.
 */
import { maskCode } from './redact-code.ts';
import { decodeBackslashes, decodePercent } from './redact-encoded.ts';
import { maskPhrases } from './redact-phrases.ts';
import { holdsMark, isMark } from './redact-marks.ts';
import { maskPrinted } from './redact-printed.ts';
import { execAt, quotedBetween, readConcatenated, rewrite } from './redact-quoted.ts';
import { LINE_NAME, maskByName, NO_VALUE, type TextMasking } from './redact-rules.ts';
import { CUT_NOTE } from '../record/plain.ts';

const PAIR_IN_QUERY = /([?&;]|^)([^=&?;\s"'<>]{1,200})=((?:[^&\s"<>\\]|\\(?!"))*)/g;
/** A name, perhaps quoted, also inside a string (`\"password\": …`), and what joins it to its value. */
const NAME_IN_TEXT =
  /(?:"([^"\r\n]{1,200})"|(?<![\w\u00c0-\u024f])([A-Za-z_\u00c0-\u024f][\w.\u00c0-\u024f-]{1,60})(\\{0,16}["'`])?(?:\)?\])?)(?:\s{0,20}(?:[:=]>?(?!:)|：|%3[AaDd])(?:\s|%20){0,20})(?!\/\/)/g;
const NUMBER = /-?\d[\d.eE+-]*/y;
const VALUE_IN_TEXT = /(?:(?:Basic|Bearer|Digest|Token|Negotiate)[ \t]{1,8})?[^\s,;&"'`<>()[\]{}]+/iy;
/** A block of YAML: the lines below `token: |` that are indented. */
const BLOCK = /[|>][+-]?\d?[+-]?[ \t]*\r?\n(?:[ \t]+[^\r\n]*(?:\r?\n|$)){1,200}/y;
/** `token=[…]`, `password=<…>` */
const BRACKETED = /([[<({])([^\s,;&"'`<>()[\]{}=:]{8,1000})[\])>}]/y;
const VALUE_START = /\\{0,16}["'`]?([^\s,;&"'`<>()[\]{}\\]{1,200})/y;
/** `password = crypt('…', gen_salt('bf'))` */
const CALL = /[A-Za-z_][\w.]{0,60}\([^)]{0,1000}/y;
/** Functions of SQL that make a stored password: `password = sha2(?, 256)` has no value in it. */
const FUNCTION =
  /^(?:aes_encrypt|all|any|array|coalesce|concat|crypt|digest|encode|encrypt|hashbytes|hex|hmac|lower|md5|old_password|password|sha\d?|to_base64|trim|upper)$/i;
const LINE_VALUE = /[^\r\n"'<>\\]*/y;
/** Words of a phrase, behind the first one (BIP 39). */
const PHRASE_NAME = /mnemonic|phrase/i;
const WORDS = /(?:[ ,][A-Za-z]{3,8}\b){2,23}/y;
/** Fields of OAuth, beside which `code` is a secret (RFC 6749, section 4.1). */
const OAUTH = /grant_type|client_id|redirect_uri|code_verifier|[?&]state=/i;
const TAG = /<([A-Za-z_][\w.:-]{0,60})(?:\s[^<>]*)?>/g;
const FIELD =
  /<(?:input|meta|button|option|textarea|add|property|param|entry|setting|variable|field)\s[^<>]*(?:>|$)/gi;
/** The quotes may be escaped, inside a string. Type, hint or label say it in `<input type="password">`. */
const FIELD_NAME =
  /\b(?:name|id|key|type|placeholder|autocomplete|aria-label)\s{0,5}=\s{0,5}(?:\\{0,16}["'])?([^"'\s<>\\]{1,200})/gi;
const FIELD_VALUE =
  /(\b(?:value|content)\s{0,5}=\s{0,5})("[^"]*"?|'[^']*'?|\\{1,16}"[^"\\]*(?:\\{1,16}"?)?|[^\s"'<>\\]+)/gi;
const PART =
  /(\bname="([^"\r\n]{1,200})"[^\r\n]{0,500}\r?\n(?:[^\r\n]{1,500}\r?\n){0,5}\r?\n)([\s\S]*?)(?=\r?\n--|$)/g;

function maskQuery(text: string, masking: TextMasking): string {
  const { isSecret, hide } = masking;
  return text.replace(PAIR_IN_QUERY, (all, gap: string, name: string, given: string) => {
    const plainName = decodePercent(name);
    // `sid=…; theme=…`: the separator of cookies is no part of a value.
    const value = given.replace(/;$/, '');
    if (value === '' || NO_VALUE.test(value) || isMark(value)) return all;
    const plain = decodePercent(value);
    if (!isSecret(plainName, plain)) return all;
    return `${gap}${name}=${hide(plainName, plain)}${given.slice(value.length)}`;
  });
}

function fieldName(tag: string, isSecretName: TextMasking['isSecretName']): string | undefined {
  return [...tag.matchAll(FIELD_NAME)].map(([, found]) => found ?? '').find(isSecretName);
}

/** What stands in an element with such a name is a value, and not a label or a sentence. */
function isCodeLike(content: string): boolean {
  return content.length >= 6 && /\d/.test(content) && !/\s/.test(content) && !holdsMark(content);
}

/** Masks the whole content of an element, up to the end of the text if the element is truncated. */
function maskElements(text: string, { isSecret, isSecretName, hide }: TextMasking): string {
  return rewrite(text, TAG, (tag, replace) => {
    const [whole, name = ''] = tag;
    const start = tag.index + whole.length;
    if (whole.endsWith('/>')) return;
    const content = /^[^<]*/.exec(text.slice(start, start + 200))?.[0] ?? '';
    if (!isSecret(name, content)) {
      const plain = content.replace(CUT_NOTE, '').trim();
      const given = isCodeLike(plain) ? fieldName(whole, isSecretName) : undefined;
      if (given !== undefined) replace(start, start + content.length, hide(given, plain));
      return;
    }
    const close = text.indexOf(`</${name}`, start);
    const end = close === -1 ? text.length : close;
    const value = text.slice(start, end).replace(/^\s*<!\[CDATA\[([\s\S]*)\]\]>\s*$/, '$1');
    if (value.trim() !== '') replace(start, end, hide(name, value));
    TAG.lastIndex = end;
  });
}

/** Without its closing quote, perhaps escaped. */
function withoutEnd(text: string): string {
  let end = /["']$/.test(text) ? text.length - 1 : text.length;
  while (text.charAt(end - 1) === '\\') end--;
  return text.slice(0, end);
}

function maskFields(text: string, { isSecretName, hide }: TextMasking): string {
  return text.replace(FIELD, (tag) => {
    const name = fieldName(tag, isSecretName);
    if (name === undefined) return tag;
    return tag.replace(FIELD_VALUE, (all, head: string, value: string) => {
      const [open = ''] = /^\\*["']?/.exec(value) ?? [];
      const plain = withoutEnd(value.slice(open.length));
      if (plain === '') return all;
      const quote = open === '' ? '"' : open;
      return `${head}${quote}${hide(name, plain)}${quote}`;
    });
  });
}

function maskParts(text: string, { isSecret, hide }: TextMasking): string {
  return text.replace(PART, (all, head: string, name: string, value: string) => {
    return value === '' || !isSecret(name, value) ? all : head + hide(name, value);
  });
}

/** `tokenSecret: process.env.SECRET ?? 'literal'` */
const FALLBACK = /([^,;"'`\r\n]{0,200}?(?:\?\?|\|\|)\s{0,5}(["'`]))((?:[^\\"'`\r\n]|\\.){1,500})\2/y;
const FILE_NAME = /\.(?:[cm]?[jt]sx?|ejs|html|json|vue|py|rb|php|go|java|sql)$/;
const LINE_NUMBER = /^\d{1,7}(?::\d{1,7})?$/;

function matchAt(expression: RegExp, text: string, start: number): string {
  return execAt(expression, text, start)?.[0] ?? '';
}

function isSecretAt(text: string, start: number, name: string, { isSecret }: TextMasking): boolean {
  VALUE_START.lastIndex = start;
  const value = VALUE_START.exec(text)?.[1] ?? '';
  return isSecret(name, value) && !(FILE_NAME.test(name) && LINE_NUMBER.test(value));
}

/** `isCode`: in a source excerpt only a literal can be a secret; `token: string` is not one. */
function maskLoosePairs(text: string, masking: TextMasking, isCode: boolean): string {
  const { hide, mark } = masking;
  return rewrite(text, NAME_IN_TEXT, (match, replace) => {
    const [whole, inQuotes, word = '', after = ''] = match;
    const start = match.index + whole.length;
    const name = inQuotes === undefined ? word : decodeBackslashes(inQuotes.replace(/\\+$/, ''));
    const quote = inQuotes === undefined ? after : `${/\\*$/.exec(inQuotes)?.[0] ?? ''}"`;
    if (!isSecretAt(text, start, name, masking)) return;
    const quoted = readConcatenated(text, start);
    for (const { start: from, open, value, close, end } of quoted)
      if (value !== '') replace(from, end, open + (isCode ? mark(value) : hide(name, value)) + close);
    if (quoted.length > 0) return;
    if (isCode) {
      const [, head = '', , value = ''] = execAt(FALLBACK, text, start) ?? [];
      if (value !== '') replace(start + head.length, start + head.length + value.length, mark(value));
      return;
    }
    const block = matchAt(BLOCK, text, start);
    if (block !== '') {
      const lines = block.slice(block.indexOf('\n') + 1).trimEnd();
      const from = start + block.indexOf('\n') + 1 + (lines.length - lines.trimStart().length);
      if (lines !== '' && !holdsMark(lines))
        replace(from, from + lines.trimStart().length, hide(name, lines.trimStart()));
      return;
    }
    const [, open = '', bracketed = ''] = execAt(BRACKETED, text, start) ?? [];
    if (/\d/.test(bracketed)) {
      replace(start + open.length, start + open.length + bracketed.length, mark(bracketed));
      return;
    }
    const printed = maskPrinted(text, start, { name, quote, masking });
    if (printed !== null) {
      replace(start, printed.end, printed.shown);
      return;
    }
    const call = matchAt(CALL, text, start);
    const arguments_ = call === '' ? [] : quotedBetween(text, start, start + call.length);
    if (arguments_.length > 0) {
      for (const { start: from, open, value, close, end } of arguments_)
        replace(from, end, open + hide(name, value) + close);
      return;
    }
    const isLine = LINE_NAME.test(name);
    const number = quote.endsWith('"') ? matchAt(NUMBER, text, start) : '';
    let value = number === '' ? matchAt(isLine ? LINE_VALUE : VALUE_IN_TEXT, text, start) : number;
    if (PHRASE_NAME.test(name)) value += matchAt(WORDS, text, start + value.length);
    if (text.charAt(start + value.length) === '(' && FUNCTION.test(value)) return;
    if (number !== '') replace(start, start + number.length, quote + mark(number, 'number') + quote);
    else if (!NO_VALUE.test(value) && value.length >= (isLine ? 1 : 3))
      replace(
        start,
        start + value.length,
        maskByName(name, value, (part) => mark(part)),
      );
  });
}

/** The names of the columns, alone in the first line. */
const COLUMN_HEAD = /^\ufeff?"?[A-Za-z_][\w. -]{0,60}"?(?:[,;\t]"?[A-Za-z_][\w. -]{0,60}"?){1,100}(?=\r?\n)/;

/** A quoted value may have the separator in it. */
function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = [];
  let isOpen = false;
  for (const part of line.split(separator)) {
    if (isOpen) cells.push(`${cells.pop() ?? ''}${separator}${part}`);
    else cells.push(part);
    if (part.split('"').length % 2 === 0) isOpen = !isOpen;
  }
  return cells;
}

/** CSV: `email,password` and lines with as many values. */
function maskColumns(text: string, { isSecretName, hide }: TextMasking): string {
  const head = COLUMN_HEAD.exec(text)?.[0] ?? '';
  const separator = /[,;\t]/.exec(head)?.[0] ?? ',';
  const names = head.split(separator).map((name) => name.replace(/^\ufeff|"/g, '').trim());
  if (!names.some(isSecretName)) return text;
  const body = text.slice(head.length);
  // A quoted value may have several lines.
  const lines = (body.split('"').length % 2 === 1 ? cellsOf(body, '\n') : body.split('\n')).map((line) => {
    const values = cellsOf(line, separator);
    if (values.length !== names.length) return line;
    return values
      .map((value, at) => {
        const name = names[at] ?? '';
        const open = /^\s*"?/.exec(value)?.[0] ?? '';
        const plain = value.slice(open.length).trimEnd().replace(/"$/, '');
        if (plain === '' || NO_VALUE.test(plain) || !isSecretName(name)) return value;
        return open + hide(name, plain) + value.slice(open.length + plain.length);
      })
      .join(separator);
  });
  return head + lines.join('\n');
}

const CELL_EDGE = /([|│])/;
const COLUMN_NAME = /^[A-Za-z_][\w. -]{0,60}$/;
/** Rules of a table have no values. */
const OF_RULE = /^[-─═+:┬┼┴├┤┌┐└┘\s]*$/;

/** A table as `console.table`, psql or Markdown prints it: a line of names, and lines with as many cells. */
function maskTables(text: string, { isSecretName, hide }: TextMasking): string {
  let names: string[] = [];
  const lines = text.split('\n').map((line) => {
    const cells = line.split(CELL_EDGE);
    if (OF_RULE.test(line)) return line;
    if (cells.length !== names.length) {
      names = cells.map((cell) => cell.trim());
      return line;
    }
    return cells
      .map((cell, at) => {
        const name = names[at] ?? '';
        const plain = cell.trim().replace(/^(['"])(.*)\1$/, '$2');
        if (OF_RULE.test(plain) || NO_VALUE.test(plain) || !COLUMN_NAME.test(name)) return cell;
        return isSecretName(name) ? cell.replace(plain, () => hide(name, plain)) : cell;
      })
      .join('');
  });
  return lines.join('\n');
}

export function maskPairs(text: string, given: TextMasking, isCode: boolean): string {
  if (isCode)
    return maskCode(maskLoosePairs(text, given, true), given, (part, careful) =>
      maskPairs(part, careful, false),
    );
  const masking = OAUTH.test(text)
    ? {
        ...given,
        isSecret: (name: string, value: string) => /^code$/i.test(name) || given.isSecret(name, value),
      }
    : given;
  let result = maskColumns(text, masking);
  if (CELL_EDGE.test(result)) result = maskTables(result, masking);
  if (result.includes('<')) result = maskFields(maskElements(result, masking), masking);
  if (result.includes('name="')) result = maskParts(result, masking);
  if (result.includes('=')) result = maskQuery(result, masking);
  return maskPhrases(maskLoosePairs(result, masking, false), masking);
}
