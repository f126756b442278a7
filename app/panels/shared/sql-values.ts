/**
 * A statement with values in place of placeholders, to read and to run again by hand. PostgreSQL interprets them like the parameters: texts,
 * dates, arrays and JSON are quoted literals without a type (`E'…'` for a backslash or a control character), numbers are not quoted. `isWhole`
 * is false if a value was masked, truncated or not recorded; then the statement can't be run.
 */
import type { Facts } from '../../profiler/facts.ts';
import type { Json } from '../../profiler/json.ts';
import { isMasked } from '../../profiler/redact.ts';
import { type SqlToken, sqlTokens } from './sql-tokens.ts';
import { namedPlaceholders } from './statements.ts';

/** Types that the JSON of a recorded value does not show (app/observe/statement.ts). */
export type BindingType = NonNullable<NonNullable<Facts['query']['types']>[number]>;

export interface Binding {
  /** Column, `$1` where it is not plain, or `…` for a note about bindings that were not recorded. */
  name: string;
  value: Json;
  type?: BindingType;
}

/** How app/profiler/plain.ts marks what it left out. */
const CUT = /… (?:\(\d+ more characters\)|\d+ more)"?[\]}"]*$|, (?:not followed|unreadable)\]|\[circular\]/;
const NEEDS_ESCAPES = /[\\\0-\x08\x0b-\x1f\x7f]/;
const ESCAPED = /[\\\0-\x08\x0b-\x1f\x7f]/g;
const JSON_OPERATORS = new Set(['->', '->>', '#>', '#>>']);

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
    if (item === null) return 'NULL';
    if (Array.isArray(item)) return arrayText(item, areBigints);
    const text = typeof item === 'string' ? item : JSON.stringify(item);
    if (areBigints) return text.replace(/n$/, '');
    const isPlain = /^[\w.+:-]+$/.test(text) && !/^null$/i.test(text);
    return isPlain ? text : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  });
  return `{${parts.join(',')}}`;
}

/** The text that the driver sends; null for NULL. */
function sentText({ value, type }: Binding): string | null {
  if (value === null || type === 'undefined') return null;
  if (Array.isArray(value)) return arrayText(value, type === 'bigints');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return type === 'bigint' ? text.replace(/n$/, '') : text;
}

function literal(binding: Binding): string {
  const { value, type } = binding;
  if (type === 'bytes')
    return `'\\x' /* ${typeof value === 'string' ? value.replace(/^\[|\]$/g, '').replaceAll('*/', '* /') : 'bytes'}: not recorded */`;
  const text = sentText(binding);
  if (text === null) return 'null';
  const isPlain = typeof value === 'number' || typeof value === 'boolean' || type === 'bigint';
  return isPlain && /^(?:-?\d[\d.e+-]*|true|false)$/.test(text) ? text : quote(text);
}

function isWhole({ value, type }: Binding): boolean {
  if (type === 'bytes') return false;
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return true;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return !isMasked(text) && !CUT.test(text);
}

/** `?` is a placeholder where a dialect has no numbered ones; in PostgreSQL it is an operator. */
function indexesOf(tokens: readonly SqlToken[], count: number): (number | null)[] {
  const numbered = tokens.some(([kind, text]) => kind === 'd' && /^\$\d+$/.test(text));
  const named = namedPlaceholders(tokens) ?? [];
  let next = 0;
  return tokens.map(([kind, text]) => {
    if (kind !== 'd') return null;
    const at =
      text === '?' && !numbered
        ? next++
        : /^\$\d+$/.test(text)
          ? Number(text.slice(1)) - 1
          : named.indexOf(text.slice(1));
    return at >= 0 && at < count ? at : null;
  });
}

/** `a - -5` would begin a comment without its space, and `-5::text` negates a text. */
function needsBrackets(text: string, before: string, after: string): boolean {
  return text.startsWith('-') && (before.endsWith('-') || after === '::');
}

export interface InPlace {
  /** Those of class `v` are values. */
  tokens: SqlToken[];
  /** False if a value was masked, truncated or not recorded: the copied statement would not run as it did. */
  isWhole: boolean;
}

/** `longest`: maximum characters of a value, for a line that is read and not run. */
export function valuesInPlace(
  sql: string | readonly SqlToken[],
  bindings: readonly Binding[],
  longest = Infinity,
): InPlace {
  const tokens = typeof sql === 'string' ? sqlTokens(sql) : sql;
  const indexes = indexesOf(tokens, bindings.length);
  let whole = true;
  const placed = tokens.map((token, at): SqlToken => {
    const binding = bindings[indexes[at] ?? -1];
    if (binding === undefined) return token;
    if (binding.name === '…') {
      whole = false;
      return token;
    }
    whole &&= isWhole(binding);
    const before = tokens[at - 1]?.[1] ?? '';
    const operator = before.trim() === '' ? (tokens[at - 2]?.[1] ?? '') : before;
    let text = literal(binding);
    if (JSON_OPERATORS.has(operator) && /^\d/.test(text)) text = `'${text}'`;
    if (needsBrackets(text, before, tokens[at + 1]?.[1] ?? '')) text = `(${text})`;
    return ['v', text.length > longest ? `${text.slice(0, longest)}…${text.endsWith("'") ? "'" : ''}` : text];
  });
  return { tokens: placed, isWhole: whole };
}

/** The type of a value, in one word. */
export function typeNameOf({ value, type }: Binding): string {
  if (type === 'bigints' || Array.isArray(value)) return 'array';
  if (type !== undefined) return type;
  if (value === null) return 'null';
  return typeof value === 'object' ? 'json' : typeof value === 'string' ? 'text' : typeof value;
}
