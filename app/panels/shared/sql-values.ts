/**
 * A statement with values in place of placeholders, to read and to run again by hand in the database that it came from. PostgreSQL interprets
 * them like the parameters: values are quoted literals without a type (`E'…'` for a backslash or a control character), also numbers in the
 * statement that is copied. For MySQL they are written as its drivers write them: lists without brackets, objects as assignments, names for `??`.
 * `isWhole` is false if a value was masked, truncated or not recorded; then the statement can't be run.
 */
import type { Facts } from '../../profiler/record/facts.ts';
import { isRecord, type Json } from '../../profiler/json.ts';
import { sentJson, UNDEFINED } from '../../profiler/record/plain.ts';
import { isMasked, maskedType } from '../../profiler/masking/redact.ts';
import { type SqlToken, sqlTokens } from './sql-tokens.ts';
import { namedPlaceholders } from './statements.ts';

/** Types that the JSON of a recorded value does not show (app/observe/databases/statement.ts). */
export type BindingType = NonNullable<NonNullable<Facts['query']['types']>[number]>;

export interface Binding {
  /** Column, `$1` where it is not plain, or `…` for a note about bindings that were not recorded. */
  name: string;
  /** Another name, which masking goes by too: the column of a placeholder with a name, or the key in `jsonb_build_object('token', $1)`. */
  field?: string;
  value: Json;
  type?: BindingType;
}

/** How app/profiler/record/plain.ts writes bytes: all of them, or how many. */
const BYTES = /^\[\w+, \d+ bytes: ([\da-f]*)\]$/;
const BYTES_LEFT_OUT = /^\[(\w+, \d+ bytes)\]$/;
const NEEDS_ESCAPES = /[\\\0-\x08\x0b-\x1f\x7f]/;
const ESCAPED = /[\\\0-\x08\x0b-\x1f\x7f]/g;

function quote(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  if (!NEEDS_ESCAPES.test(text)) return quoted;
  const escaped = quoted.replace(ESCAPED, (found) =>
    found === '\\' ? '\\\\' : `\\x${found.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `E${escaped}`;
}

/** As the driver writes an array: `{1,NULL,"a \"b\""}`. */
function arrayText(items: readonly Json[], areBigints: boolean): string {
  const parts = items.map((item) => {
    if (item === null || item === UNDEFINED) return 'NULL';
    if (Array.isArray(item)) return arrayText(item, areBigints);
    const text = typeof item === 'string' ? byteText(item) : sentJson(item);
    if (areBigints) return text.replace(/n$/, '');
    const isPlain = /^[\w.+:-]+$/.test(text) && !/^null$/i.test(text);
    return isPlain ? text : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  });
  return `{${parts.join(',')}}`;
}

export function hexOf(value: Json): string | undefined {
  return typeof value === 'string' ? BYTES.exec(value)?.[1] : undefined;
}

/** PostgreSQL’s text for bytes; other texts stay. */
function byteText(text: string): string {
  return text.replace(BYTES, '\\x$1');
}

/** The text that the driver sends; null for NULL. */
function sentText({ value, type }: Binding): string | null {
  if (value === null || type === 'undefined') return null;
  if (Array.isArray(value)) return arrayText(value, type === 'bigints');
  if (typeof value !== 'string') return sentJson(value);
  return type === 'bytes' ? byteText(value) : type === 'bigint' ? value.replace(/n$/, '') : value;
}

const MYSQL_ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\x1a': '\\Z',
  "'": "\\'",
  '\\': '\\\\',
};

function mysqlName(name: Json): string {
  if (Array.isArray(name)) return name.map(mysqlName).join(', ');
  const text = typeof name === 'string' ? name : JSON.stringify(name);
  return text
    .split('.')
    .map((part) => `\`${part.replaceAll('`', '``')}\``)
    .join('.');
}

/** As both drivers write a value in place of `?`. */
function mysqlValue(value: Json, type?: BindingType): string {
  if (value === null || type === 'undefined' || value === UNDEFINED) return 'null';
  if (Array.isArray(value)) {
    const item = (one: Json): string =>
      Array.isArray(one)
        ? `(${mysqlValue(one)})`
        : mysqlValue(
            one,
            type === 'bigints' && typeof one === 'string' && /^-?\d+n$/.test(one) ? 'bigint' : undefined,
          );
    return value.map(item).join(', ');
  }
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, held]) => `${mysqlName(name)} = ${mysqlValue(held)}`)
      .join(', ');
  if (typeof value !== 'string') return String(value);
  if (type === 'bigint') return value.replace(/n$/, '');
  const hex = hexOf(value);
  if (hex !== undefined) return `x'${hex}'`;
  return `'${value.replace(/[\0\b\t\n\r\x1a'\\]/g, (found) => MYSQL_ESCAPES[found] ?? found)}'`;
}

/** A backslash means nothing here, and there is no literal for true or infinity. */
function standardValue(binding: Binding): string {
  const { value, type } = binding;
  const text = sentText(binding);
  if (text === null) return 'null';
  if (typeof value === 'boolean') return value ? '1' : '0';
  const isPlain = typeof value === 'number' || type === 'bigint';
  if (type === 'bytes') return `x'${hexOf(value) ?? ''}'`;
  if (type === 'number') return text === 'NaN' ? 'null' : text.replace('Infinity', '9e999');
  return isPlain ? text : `'${text.replaceAll("'", "''")}'`;
}

/** Quoted, a literal has no type, like a parameter: a number can be compared with a text. `isRead`: for a line that is not run. */
function postgresValue(binding: Binding, isRead: boolean): string {
  const { value, type } = binding;
  const text = sentText(binding);
  if (text === null) return 'null';
  const isPlain = typeof value === 'number' || typeof value === 'boolean' || type === 'bigint';
  return isRead && isPlain ? text : quote(text);
}

/** Where both drivers write an object as assignments; elsewhere they differ. */
const ASSIGNED = /^(?:set|update|,)$/i;
const STANDARD = new Set(['sqlite', 'mssql', 'oracle']);

interface Place {
  placeholder: string;
  system: string | undefined;
  isRead: boolean;
}

function literal(binding: Binding, { placeholder, system, isRead }: Place): string {
  const { value, type } = binding;
  if (typeof value === 'string' && (maskedType(value) ?? 'string') !== 'string') return value;
  const leftOut = type === 'cut' && typeof value === 'string' ? BYTES_LEFT_OUT.exec(value)?.[1] : undefined;
  if (leftOut !== undefined)
    return `${system === undefined || system === 'postgresql' ? "'\\x'" : "x''"} /* ${leftOut}: not recorded */`;
  if (system === 'mysql') return placeholder === '??' ? mysqlName(value) : mysqlValue(value, type);
  return system !== undefined && STANDARD.has(system)
    ? standardValue(binding)
    : postgresValue(binding, isRead);
}

export function isWholeBinding({ name, value, type }: Binding): boolean {
  if (type === 'cut' || name === '…') return false;
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return true;
  return !isMasked(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Which binding each token stands for. `?` is a placeholder where a dialect has no numbered ones; in PostgreSQL it is an operator. */
export function indexesOf(tokens: readonly SqlToken[], count: number): (number | null)[] {
  const numbered = tokens.some(([kind, text]) => kind === 'd' && /^\$\d+$/.test(text));
  const named = namedPlaceholders(tokens) ?? [];
  let next = 0;
  return tokens.map(([kind, text]) => {
    if (kind !== 'd') return null;
    let at = named.indexOf(text.slice(1));
    if (/^[?$]\d+$/.test(text)) at = Number(text.slice(1)) - 1;
    else if ((text === '?' || text === '??') && !numbered) at = next++;
    return at >= 0 && at < count ? at : null;
  });
}

/** In PostgreSQL, `?` is an operator. */
function isPlaceholder([kind, text]: SqlToken, isPostgres: boolean): boolean {
  return kind === 'd' && (/^\$\d+$/.test(text) || (!isPostgres && text.startsWith('?')));
}

/** `a - -5` would begin a comment without its space. */
function needsBrackets(text: string, before: string): boolean {
  return text.startsWith('-') && before.endsWith('-');
}

export interface InPlace {
  tokens: SqlToken[];
  /** False if a value was masked, truncated or not recorded: the copied statement would not run as it did. */
  isWhole: boolean;
}

export interface InPlaceOptions {
  /** The database (`db.system.name`). */
  system?: string | undefined;
  longest?: number;
}

export function valuesInPlace(
  sql: string | readonly SqlToken[],
  bindings: readonly Binding[],
  { system, longest = Infinity }: InPlaceOptions = {},
): InPlace {
  const tokens = typeof sql === 'string' ? sqlTokens(sql, system) : sql;
  const indexes = indexesOf(tokens, bindings.length);
  const isPostgres = system === undefined || system === 'postgresql';
  let whole = true;
  const placed = tokens.map((token, at): SqlToken => {
    const binding = bindings[indexes[at] ?? -1];
    if (binding === undefined) {
      whole &&= !isPlaceholder(token, isPostgres);
      return token;
    }
    whole &&= isWholeBinding(binding);
    if (binding.name === '…') return token;
    const before = tokens[at - 1]?.[1] ?? '';
    const operator = before.trim() === '' ? (tokens[at - 2]?.[1] ?? '') : before;
    if (system === 'mysql' && isRecord(binding.value)) whole &&= ASSIGNED.test(operator);
    let text = literal(binding, { placeholder: token[1], system, isRead: longest < Infinity });
    if (needsBrackets(text, before)) text = `(${text})`;
    return ['v', text.length > longest ? `${text.slice(0, longest)}…${text.endsWith("'") ? "'" : ''}` : text];
  });
  return { tokens: placed, isWhole: whole };
}

export function typeNameOf({ value, type }: Binding): string {
  if (type === 'bigints' || Array.isArray(value)) return 'array';
  if (type !== undefined && type !== 'cut') return type;
  if (value === null) return 'null';
  return typeof value === 'object' ? 'json' : typeof value === 'string' ? 'text' : typeof value;
}
