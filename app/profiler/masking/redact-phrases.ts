/**
 * Masks secrets by name where neither `=` nor `:` joins the name and the value: `insert into users (email, password) values ('a', '…')`,
 * `alter role shop password '…'`, `--password …`, `password is …`, `['authorization', '…']`. Each expression is bounded, so all take
 * time linear in the length of the text.
 */
import { holdsMark } from './redact-marks.ts';
import { maskCommands } from './redact-commands.ts';
import { maskPrinted } from './redact-printed.ts';
import { quotedBetween, readQuoted, rewrite } from './redact-quoted.ts';
import { LINE_NAME, NO_VALUE, type TextMasking } from './redact-rules.ts';
import { CUT_NOTE } from '../record/plain.ts';

const COLUMNS =
  /\(([^()]{1,4000})\)\s{0,20}(?:(?:overriding\s{1,20}\w{1,10}\s{1,20}value\s{1,20})?values?|=(?:\s{0,20}row)?)\s{0,20}(?=\()/gi;
const BEFORE_VALUE = /[\sEN]*/iy;
const BEFORE_ROW = /[\s,]*/y;

function readRow(text: string, start: number): { values: [number, number][]; end: number } | null {
  if (text.charAt(start) !== '(') return null;
  const values: [number, number][] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "'") at = (readQuoted(text, at)?.end ?? at + 1) - 1;
    else if (character === '(') depth++;
    else if (character === ',' && depth === 1) {
      values.push([from, at]);
      from = at + 1;
    } else if (character === ')' && --depth === 0) {
      values.push([from, at]);
      return { values, end: at + 1 };
    }
  }
  values.push([from, text.length]);
  return { values, end: text.length };
}

function skip(text: string, from: number, skipped: RegExp): number {
  skipped.lastIndex = from;
  return from + (skipped.exec(text)?.[0].length ?? 0);
}

function maskRows(text: string, { isSecretName, hide }: TextMasking): string {
  return rewrite(text, COLUMNS, (match, replace) => {
    const names = (match[1] ?? '').split(',').map((name) => name.trim().replace(/^["`[]|["`\]]$/g, ''));
    if (!names.some(isSecretName)) return;
    let at = match.index + match[0].length;
    for (let row = readRow(text, at); row !== null; row = readRow(text, at)) {
      for (const [index, [from, to]] of row.values.entries()) {
        const name = names[index] ?? '';
        if (!isSecretName(name)) continue;
        // Also those in a call: `crypt('…', gen_salt('bf'))`.
        for (const { start, open, value, close, end } of quotedBetween(text, from, to))
          replace(start, end, open + hide(name, value) + close);
      }
      at = skip(text, row.end, BEFORE_ROW);
    }
    COLUMNS.lastIndex = at;
  });
}

const NAME_BEFORE_BLANK =
  /(?<![\w-])(-{0,2})([A-Za-z][\w.-]{2,60})(?:\s{1,5}(?:is|was|to|by|with|of):?(?=\s)\s{1,5}|\s{1,5}|\s{0,5}\(\s{0,5}(?=\\{0,16}["'`]))(?!$)/gi;
const BARE_VALUE = /[^\s,;&"'`<>()[\]{}|]{1,1000}/y;
/** In a statement, a literal after a name is its value; in prose (`token 'a' not found`) it may be anything. */
const STATEMENT = /\b(?:alter|create|set)\s/i;
/** MySQL's and Oracle's `identified by '…'`. */
const IDENTIFIED = /^(?:identified|IDENTIFIED|Identified)$/;
const SHORTEST_BARE = 8;

/** Prose goes on after a name (`password reset`); only a value with a digit is taken for a secret. After `--password`, everything is. */
function isBareSecret(value: string, isOption: boolean): boolean {
  if (holdsMark(value) || NO_VALUE.test(value) || value.startsWith('-')) return false;
  if (isOption) return true;
  return value.length >= SHORTEST_BARE && /\d/.test(value) && !/^\/|:\/\//.test(value);
}

function maskAfterBlanks(text: string, { isSecretName, hide, mark }: TextMasking): string {
  const isStatement = text.includes("'") && STATEMENT.test(text);
  return rewrite(text, NAME_BEFORE_BLANK, (match, replace) => {
    const [whole, dashes = '', name = ''] = match;
    const start = match.index + whole.length;
    // The next name may be the word that was taken for a conjunction.
    NAME_BEFORE_BLANK.lastIndex = match.index + dashes.length + name.length;
    if (!isSecretName(name) && !IDENTIFIED.test(name)) return;
    const quoted = readQuoted(text, start);
    if (quoted === null) {
      BARE_VALUE.lastIndex = start;
      const value = BARE_VALUE.exec(text)?.[0] ?? '';
      if (value !== '' && isBareSecret(value, dashes !== ''))
        replace(start, start + value.length, mark(value));
      return;
    }
    const { open, value, close, end } = quoted;
    if (value === '' || holdsMark(value) || (close === '' && !CUT_NOTE.test(value))) return;
    const isLiteral = open.endsWith("'") && (isStatement || IDENTIFIED.test(name));
    if (isLiteral || isBareSecret(value, dashes !== ''))
      replace(start, end, open + hide(name, value) + close);
  });
}

/** Columns of a condition that is no `=`, and the literals it has: `token in ('…', '…')`, `lower(token) like '…'`. */
const CONDITION =
  /\b([A-Za-z_][\w.]{1,60})["`\]]?\s{0,5}\)?\s{0,5}(?:::\s{0,5}\w{1,30}\s{0,5})?\)?\s{0,5}(?:<>|!=|[<>]=?|=|(?:not\s{1,5})?(?:i?like|in|between)\b|is\s{1,5}(?:not\s{1,5})?distinct\s{1,5}from\b)\s{0,5}(?:any\s{0,5})?(?:\(|array\[){0,2}\s{0,5}(?=[EN]?')/gi;
const NEXT_LITERAL = /\s{0,20}(?:,|and\b)\s{0,20}(?=[EN]?')/iy;

function maskConditions(text: string, { isSecretName, hide }: TextMasking): string {
  return rewrite(text, CONDITION, (match, replace) => {
    const [whole, name = ''] = match;
    if (!isSecretName(name)) return;
    let at = match.index + whole.length;
    for (;;) {
      const start = skip(text, at, BEFORE_VALUE);
      const quoted = readQuoted(text, start);
      if (quoted === null) return;
      const { open, value, close, end } = quoted;
      if (value !== '' && !holdsMark(value)) replace(start, end, open + hide(name, value) + close);
      at = skip(text, end, NEXT_LITERAL);
      if (at === end) return;
    }
  });
}

/** What a database says of a value that is there already: `Key (api_token)=(…) already exists`, `Duplicate entry '…' for key 'users.api_token'`. */
const DETAIL = /\(((?:\w{1,60}\()?[\w", .:]{1,300}\)?)\)=\(([^()]{1,2000})(?=\)|\(\d)/g;
/** Without its end, the key is not known. */
const DUPLICATE =
  /\bentry '((?:[^'\\]|''|\\.){1,500})(?:' for key '([\w.$-]{1,200})'|(?<=… \(\d{1,9} more characters\))$)/g;

function maskDuplicates(text: string, { isSecretName, hide }: TextMasking): string {
  return text
    .replace(DETAIL, (whole, columns: string, given: string) => {
      const names = columns.split(',').map((column) => column.replace(/^.*\(|[")\s]|::.*$/g, ''));
      const name = names.find(isSecretName);
      if (name === undefined || holdsMark(given)) return whole;
      const values = given.split(', ');
      const shown =
        values.length === names.length
          ? values.map((value, at) => (isSecretName(names[at] ?? '') ? hide(names[at] ?? '', value) : value))
          : [hide(name, given)];
      return `(${columns})=(${shown.join(', ')}`;
    })
    .replace(DUPLICATE, (whole, value: string, key?: string) => {
      if (key === undefined) return `entry '${hide('secret', value)}`;
      const column = key.replace(/[_-](?:key|unique|uniq|idx|index)$/i, '');
      return isSecretName(column) ? `entry '${hide(column, value)}' for key '${key}'` : whole;
    });
}

/** A code that is sent to a person: `Your verification code is 482913`. */
const CODE =
  /\b((?:(?:verification|security|one[- ]?time|log[- ]?in|sign[- ]?in|confirmation|reset|recovery|authentication|activation|2fa|mfa|two-factor) (?:code|pin|passcode|password)|your code|passcode|otp)(?:\s{1,5}(?:is|was))?\s{0,5}[:=]?\s{0,20}(?:<\/?[a-z][^<>]{0,200}>\s{0,20}){0,6})([a-z\d][a-z\d-]{2,38}[a-z\d])(?![\w-])/gi;

function maskCodes(text: string, { mark }: TextMasking): string {
  return text.replace(CODE, (whole, before: string, code: string) =>
    /\d\D{0,3}\d\D{0,3}\d/.test(code) || (code.length >= SHORTEST_BARE && /\d/.test(code))
      ? before + mark(code)
      : whole,
  );
}

/** A comma, or the type of the value, as PHP's serialize() writes it. There, a private name begins with that of its class, between zero bytes. */
const LISTED_NAME =
  /["'`](?:(?:\0|\\u0000)[\w*\\]{1,100}(?:\0|\\u0000))?(-{0,2}[A-Za-z][\w.-]{2,60})\\{0,16}["'`](?:\s{0,10},\s{0,10}|(;s:\d{1,9}:))(?=\\{0,16}["'`]|\[)/g;
/** A PHP session: `password|s:8:"…"`. */
const SESSION_NAME = /\b([A-Za-z]\w{2,60})\|s:\d{1,9}:(?=\\{0,16}")/g;

/** Whether the item after a secret name in a list is its value and not another name. */
export function isListedValue(value: string): boolean {
  return value.includes(' ') || (value.length >= SHORTEST_BARE && /\d/.test(value));
}

/** Lists in which a value follows its name, as Node's `rawHeaders`, or its values, as `Object.entries(headers)` has cookies. */
function maskListed(text: string, masking: TextMasking): string {
  const { isSecretName, hide } = masking;
  return rewrite(text, LISTED_NAME, (match, replace) => {
    const [whole, name = '', type] = match;
    const start = match.index + whole.length;
    const printed = LINE_NAME.test(name) ? maskPrinted(text, start, { name, quote: '', masking }) : null;
    if (printed !== null) {
      replace(start, printed.end, printed.shown);
      return;
    }
    const quoted = isSecretName(name) ? readQuoted(text, start) : null;
    if (quoted === null || holdsMark(quoted.value) || (type === undefined && !isListedValue(quoted.value)))
      return;
    replace(start, quoted.end, quoted.open + hide(name, quoted.value) + quoted.close);
  });
}

function maskSessions(text: string, { isSecretName, hide }: TextMasking): string {
  return rewrite(text, SESSION_NAME, (match, replace) => {
    const [whole, name = ''] = match;
    const quoted = isSecretName(name) ? readQuoted(text, match.index + whole.length) : null;
    if (quoted === null || holdsMark(quoted.value)) return;
    replace(match.index + whole.length, quoted.end, quoted.open + hide(name, quoted.value) + quoted.close);
  });
}

/** Fields that hold a name and its value: `{"name":"password","value":"…"}`. SCIM begins a name with the URN of its schema. */
const NAMED_VALUE =
  /\b(?:name|key|path|param|property|field|label|instancePath|type(?=\\{0,16}["']?\s{0,3}:\s{0,5}\\{0,16}["']password))\\{0,16}["']?\s{0,3}:\s{0,5}\\{0,16}["'](?:urn:[\w.:-]{1,100}:)?([\w./[\]-]{2,60})\\{0,16}["']\s{0,3},\s{0,20}\\{0,16}["']?(?:val(?:ue)?|(?:old|new)_?value|received|input|data)\\{0,16}["']?\s{0,3}:\s{0,5}/gi;

function maskNamedValues(text: string, masking: TextMasking): string {
  const { isSecret, hide } = masking;
  return rewrite(text, NAMED_VALUE, (match, replace) => {
    const [whole, name = ''] = match;
    const start = match.index + whole.length;
    const quote = whole.includes('"') ? '"' : '';
    const printed = isSecret(name, '') ? maskPrinted(text, start, { name, quote, masking }) : null;
    if (printed !== null) {
      replace(start, printed.end, printed.shown);
      return;
    }
    const quoted = readQuoted(text, start);
    if (quoted === null || holdsMark(quoted.value) || !isSecret(name, quoted.value)) return;
    replace(start, quoted.end, quoted.open + hide(name, quoted.value) + quoted.close);
  });
}

/** A name and its value with nothing but markup between them: `<td>Password</td><td>…</td>`, `Password: <b>…</b>`. */
const IN_MARKUP =
  /([A-Za-z][\w.-]{2,60})\s{0,5}:?\s{0,5}((?:<\/?[A-Za-z][^<>]{0,200}>[\s:]{0,20}){1,6})([^\s<>&]{1,200})/g;
const SHORTEST_IN_MARKUP = 6;

function maskMarkup(text: string, { isSecretName, hide }: TextMasking): string {
  return rewrite(text, IN_MARKUP, (match, replace) => {
    const [whole, name = '', , value = ''] = match;
    // The value may be the next name.
    IN_MARKUP.lastIndex = match.index + whole.length - value.length;
    if (!isSecretName(name) || holdsMark(value) || NO_VALUE.test(value)) return;
    if (value.length < SHORTEST_IN_MARKUP || !/\d/.test(value)) return;
    const end = match.index + whole.length;
    replace(end - value.length, end, hide(name, value));
  });
}

export function maskPhrases(text: string, masking: TextMasking): string {
  const named = /val|input|received|data/i.test(text) ? maskNamedValues(text, masking) : text;
  const listed = maskListed(named.includes('(') ? maskRows(named, masking) : named, masking);
  const rows = listed.includes('|s:') ? maskSessions(listed, masking) : listed;
  const literals = rows.includes("'")
    ? maskDuplicates(maskConditions(rows, masking), masking)
    : maskDuplicates(rows, masking);
  const shown = text.includes('<') ? maskMarkup(literals, masking) : literals;
  return maskAfterBlanks(maskCommands(maskCodes(shown, masking), masking), masking);
}
