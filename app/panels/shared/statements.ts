/** A statement's shape, short label and columns of its bindings, without parsing it. */
import { significant as withoutSpace, type SqlToken, sqlTokens } from './sql-tokens.ts';

let last: { sql: string; system: string | undefined; tokens: SqlToken[] } | null = null;

/** Those of the last statement are remembered: what is known of one is asked for at once. */
export function significant(sql: string, system?: string): readonly SqlToken[] {
  if (last?.sql !== sql || last.system !== system)
    last = { sql, system, tokens: withoutSpace(sqlTokens(sql, system)) };
  return last.tokens;
}

const NO_SPACE_BEFORE = new Set([',', ')', '.', ';', '::']);
const NO_SPACE_AFTER = new Set(['(', '.', '::']);

function write(parts: readonly string[]): string {
  let text = '';
  for (const [index, part] of parts.entries()) {
    const before = parts[index - 1];
    const gap = before !== undefined && !NO_SPACE_BEFORE.has(part) && !NO_SPACE_AFTER.has(before);
    text += gap ? ` ${part}` : part;
  }
  return text;
}

/** Statements that differ only in values, or in how many are listed, get the same text. */
export function shapeOf(sql: string, system?: string): string {
  const parts: string[] = [];
  for (const [kind, text] of significant(sql, system)) {
    const part = kind === 's' || kind === 'd' ? '?' : kind === 'k' ? text.toLowerCase() : text;
    // `?, ?, ?` and `(?), (?)` count as one.
    if (part === '?' && parts.at(-1) === ',' && parts.at(-2) === '?') parts.pop();
    else parts.push(part);
    if (parts.slice(-7).join('') === '(?),(?)') parts.splice(-4);
  }
  return write(parts);
}

/** Without its quotes. */
export function bare(name: string): string {
  return name.replace(/^["`[]|["`\]]$/g, '');
}

/** Index of a keyword outside of brackets, else of the first one. */
function keywordAt(tokens: readonly SqlToken[], word: string): number {
  let depth = 0;
  let first = -1;
  for (const [at, [kind, text]] of tokens.entries()) {
    if (text === '(') depth++;
    if (text === ')') depth--;
    if (kind !== 'k' || text.toLowerCase() !== word) continue;
    if (depth === 0) return at;
    if (first === -1) first = at;
  }
  return first;
}

function nameAfter(tokens: readonly SqlToken[], word: string): string | null {
  // What `with` names is no table.
  const isNamed = tokens[0]?.[1].toLowerCase() === 'with';
  const at = isNamed
    ? tokens.findIndex(([kind, text]) => kind === 'k' && text.toLowerCase() === word)
    : keywordAt(tokens, word);
  if (at === -1) return null;
  let index = at + 1;
  while (/^(?:only|if|not|exists|into|table|\()$/i.test(tokens[index]?.[1] ?? '')) index++;
  let name = tokens[index]?.[1] ?? '';
  while (tokens[index + 1]?.[1] === '.') {
    index += 2;
    name = tokens[index]?.[1] ?? '';
  }
  if (/^select$/i.test(name)) return nameAfter(tokens.slice(index), word);
  return /^[A-Za-z_"`[\u0080-\uffff]/.test(name) ? bare(name) : null;
}

/** A command of MongoDB as it is recorded: `db.users.find({"email": ?})`. */
const COMMAND = /^db\.([^(]*?)\.?([A-Za-z]+)\(/;
const READS = new Set(['find', 'aggregate', 'count', 'distinct', 'getMore']);

/** Select, or a reading command; a `with` may write too. */
export function isRead(sql: string): boolean {
  const [, , command] = COMMAND.exec(sql) ?? [];
  return command === undefined ? /^\s*(?:select|with)\b/i.test(sql) : READS.has(command);
}

/** What a statement does, and with which table or collection. */
export interface Operation {
  name: string;
  table: string | null;
}

const BEFORE_TABLE: Readonly<Record<string, string>> = {
  select: 'from', with: 'from', insert: 'into', replace: 'into', update: 'update', delete: 'from',
}; // prettier-ignore

export function operationOf(sql: string, system?: string): Operation {
  const [, collection, command] = COMMAND.exec(sql) ?? [];
  if (command !== undefined) return { name: command, table: collection === '' ? null : (collection ?? null) };
  const tokens = significant(sql, system);
  const first = tokens[0]?.[1].toLowerCase() ?? '';
  // Elsewhere it is a function.
  const name =
    first === 'replace' ? first : (tokens.find(([kind]) => kind === 'k')?.[1].toLowerCase() ?? first);
  const word = BEFORE_TABLE[name];
  return { name, table: word === undefined ? null : nameAfter(tokens, word) };
}

export function labelOf(sql: string, system?: string): string {
  const { name, table } = operationOf(sql, system);
  if (COMMAND.test(sql)) return table === null ? name : `${table}.${name}`;
  const short = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
  switch (name) {
    case 'select':
    case 'with':
      return short(table === null ? 'select' : `select … from ${table}`);
    case 'insert':
    case 'replace':
      return short(`${name} into ${table ?? '…'}`);
    case 'update':
      return short(`update ${table ?? '…'}`);
    case 'delete':
      return short(`delete from ${table ?? '…'}`);
    case '':
      return 'waiting for a connection';
    default: {
      const first = significant(sql, system).slice(0, 4);
      return short(write(first.map(([, text]) => text.toLowerCase())).replace(/;$/, ''));
    }
  }
}

const WRITES = /\b(?:insert\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into)\b/i;

/** Of a statement that is no control; a `with` may read or write. */
export function isWriting(sql: string): boolean {
  if (!isRead(sql) && !/^\s*(?:show|values|table)\b/i.test(sql)) return true;
  return /^\s*with\b/i.test(sql) && WRITES.test(sql);
}

const COMPARISON = /^(?:=|<|>|<=|>=|<>|!=|~|like|ilike|in|any|is|set|between)$/i;

const NAMED = 100;
const NAME = /^[A-Za-z_"`\u0080-\uffff]/;

/** Of `insert into t (a, b) values (?, ?)`, or `… select ?, ?`, whose values are at depth 0; also `replace`, and after `with`. */
function insertColumns(
  tokens: readonly SqlToken[],
): { columns: string[]; from: number; depth: number } | null {
  const textAt = (at: number): string => tokens[at]?.[1] ?? '';
  const start = tokens.findIndex(
    ([, text], at) => /^(?:insert|replace)$/i.test(text) && textAt(at + 1) !== '(',
  );
  const open = tokens.findIndex(([, text], at) => at > start && text === '(');
  const close = tokens.findIndex(([, text], at) => at > open && text === ')');
  if (start === -1 || open === -1 || close === -1) return null;
  const isSelect = /^select$/i.test(textAt(close + 1));
  if (!isSelect && !/^values$/i.test(textAt(close + 1))) return null;
  const columns = tokens
    .slice(open + 1, close)
    .filter(([, text]) => text !== ',')
    .map(([, text]) => bare(text));
  return { columns, from: close + 2, depth: isSelect ? 0 : 1 };
}

/** Index before values, lists, casts and functions around a placeholder: `= any(lower($1::text), $2` -> `any`. */
function beforeValues(tokens: readonly SqlToken[], at: number): number {
  let index = at - 1;
  let depth = 0;
  for (; index >= 0; index--) {
    const [kind, text] = tokens[index] ?? ['', ''];
    // Of `lower($1), $2` and `($1, $2), ($3` what is in brackets.
    if (text === ')') depth++;
    else if (text === '(' && depth > 0) depth--;
    if (depth > 0 || text === '(') continue;
    const next = tokens[index + 1]?.[1];
    const isCast = text === '::' || tokens[index - 1]?.[1] === '::';
    const isFunction = kind === '' && next === '(' && /^[A-Za-z_]/.test(text);
    if (!isCast && !isFunction && text !== ',' && kind !== 'd' && kind !== 's') break;
  }
  return index;
}

/** `select $1::text as name`; in `cast($1 as text)` it is a type. */
function aliasOf(tokens: readonly SqlToken[], at: number): string | null {
  const textAt = (place: number): string => tokens[place]?.[1] ?? '';
  if (/^cast$/i.test(textAt(at - 2))) return null;
  const next = textAt(at + 1) === '::' ? at + 3 : at + 1;
  return /^as$/i.test(textAt(next)) ? bare(textAt(next + 1)) : null;
}

/** Of a value of `(a, b) < (?, ?)` or `(a, b) in ((?, ?))` the column in its place; undefined if no rows are compared. */
function rowColumn(tokens: readonly SqlToken[], operator: number, at: number): string | null | undefined {
  const textAt = (place: number): string => tokens[place]?.[1].toLowerCase() ?? '';
  const isList = textAt(operator) === 'in';
  let open = operator - (textAt(operator - 1) === 'not' ? 2 : 1);
  const columns: string[] = [''];
  for (let depth = 0; open >= 0; open--) {
    const [kind, text] = tokens[open] ?? ['', ''];
    if (text === ')') depth++;
    if (text === '(') depth--;
    if (depth === 0) break;
    if (text === ',' && depth === 1) columns.unshift('');
    else if (columns[0] === '' && kind === '' && NAME.test(text)) columns[0] = bare(text);
  }
  const isFunction = tokens[open - 1]?.[0] === '' && NAME.test(textAt(open - 1));
  if (columns.length < 2 || isFunction || textAt(open + 1) === 'select') return undefined;
  let place = 0;
  for (let index = operator + 1, depth = isList ? -1 : 0; index < at; index++) {
    if (textAt(index) === '(' && ++depth === 1) place = 0;
    if (textAt(index) === ')') depth--;
    if (textAt(index) === ',' && depth === 1) place++;
  }
  return columns[place] ?? null;
}

function comparedColumn(tokens: readonly SqlToken[], at: number): string | null {
  let index = beforeValues(tokens, at);
  const wordAt = (place: number): string => tokens[place]?.[1].toLowerCase() ?? '';
  if (wordAt(index) === 'and' && wordAt(beforeValues(tokens, index)) === 'between')
    index = beforeValues(tokens, index);
  if (wordAt(index) === 'row') index--;
  const operator = wordAt(index);
  if (operator === 'limit' || operator === 'offset') return operator;
  // `set a = case id when 1 then ? end` is about `a`.
  if (operator === 'then' || operator === 'else')
    index = tokens.findLastIndex(([, text], place) => place < index && /^case$/i.test(text)) - 1;
  if (!COMPARISON.test(wordAt(index))) return aliasOf(tokens, at);
  const ofRow = rowColumn(tokens, index, at);
  if (ofRow !== undefined) return ofRow;
  index--;
  // `lower(email) = $1` is about email.
  while (/^(?:=|not|any|!|<|>|~|\))$/i.test(wordAt(index))) index--;
  const [kind, column] = tokens[index] ?? ['', ''];
  return kind === '' && NAME.test(column) ? bare(column) : null;
}

/** `:id`, `@id` and `$id` contain their names; null for placeholders without one. */
export function namedPlaceholders(tokens: readonly SqlToken[]): string[] | null {
  const names = new Set<string>();
  for (const [kind, text] of tokens) {
    if (kind !== 'd') continue;
    if (/^(?:\?|\$\d)/.test(text)) return null;
    if (/^[:@$][A-Za-z_]/.test(text)) names.add(text.slice(1));
  }
  return names.size === 0 ? null : [...names];
}

/** The keys of a command's values: of `{"age": {"$gt": ?}}` it is `age`. */
function commandKeys(tokens: readonly SqlToken[]): (string | null)[] {
  const names: (string | null)[] = [];
  const keys: string[] = [];
  let key = '';
  for (const [index, [, text]] of tokens.entries()) {
    if (tokens[index + 1]?.[1] === ':') key = bare(text);
    if (text === '{' || text === '[') keys.push(key);
    if (text === '}' || text === ']') key = keys.pop() ?? '';
    if (text === '?')
      names.push([...keys, key].findLast((name) => name !== '' && !name.startsWith('$')) ?? null);
  }
  return names;
}

/** Of a token its place among the bindings, `before` of which came before it; -1: it is no placeholder. */
function placeOf(tokens: readonly SqlToken[]): (text: string, before: number) => number {
  const named = namedPlaceholders(tokens);
  if (named !== null) return (text) => (/^[:@$]/.test(text) ? named.indexOf(text.slice(1)) : -1);
  // `?` is an operator where placeholders are numbered.
  if (tokens.some(([kind, text]) => kind === 'd' && text.startsWith('$')))
    return (text) => (/^\$\d+$/.test(text) ? Number(text.slice(1)) - 1 : -1);
  return (text, before) => (/^\?\??$/.test(text) ? before : -1);
}

/** Of `(values ($1, $2)) as s(id, token)`, by the index of `values`. */
function listColumns(tokens: readonly SqlToken[], at: number): ReturnType<typeof insertColumns> {
  const textAt = (place: number): string => tokens[place]?.[1] ?? '';
  let end = at;
  for (let depth = 1; depth > 0 && end < tokens.length;)
    depth += textAt(++end) === '(' ? 1 : textAt(end) === ')' ? -1 : 0;
  const open = end + (/^as$/i.test(textAt(end + 1)) ? 3 : 2);
  const close = tokens.findIndex(([, text], place) => place > open && text === ')');
  if (textAt(open) !== '(' || close === -1) return null;
  const columns = tokens.slice(open + 1, close).filter(([, text]) => text !== ',');
  return { columns: columns.map(([, text]) => bare(text)), from: at + 1, depth: 1 };
}

function columnsIn(tokens: readonly SqlToken[]): (string | null)[] {
  const names: (string | null)[] = [];
  const textAt = (at: number): string => tokens[at]?.[1] ?? '';
  const place = placeOf(tokens);
  let insert = insertColumns(tokens);
  let depth = 0;
  let column = 0;
  for (const [index, [, text]] of tokens.entries()) {
    if (insert === null && textAt(index - 1) === '(' && /^values$/i.test(text)) {
      insert = listColumns(tokens, index);
      [depth, column] = [0, 0];
    }
    if (insert !== null && index >= insert.from) {
      if (text === '(' && depth++ === 0 && insert.depth === 1) column = 0;
      if (text === ')' && depth-- === 0) insert = null;
      if (text === ',' && depth === insert?.depth) column++;
      // `select * from unnest($1, $2)` has a list for each column.
      if (insert?.depth === 0 && depth === 0 && /^(?:from|where|on)$/i.test(text))
        insert = /^unnest$/i.test(textAt(index + 1)) ? { ...insert, depth: 1 } : null;
    }
    const at = place(text, names.length);
    if (at < 0 || at >= NAMED) continue;
    const isRow = depth === 1 && textAt(index - 1) === '(' && textAt(index + 1) === ')';
    if (insert?.depth === 1 && (index === insert.from || (isRow && insert.columns.length > 1))) {
      // `values ?` and `values (?)` of MySQL: a list of rows, or a row.
      names[at] ??= insert.columns.join(', ');
      continue;
    }
    const isValue = insert !== null && index >= insert.from && depth >= insert.depth;
    names[at] ??= (isValue ? insert?.columns[column] : undefined) ?? comparedColumn(tokens, index);
  }
  return Array.from(names, (name) => name ?? null);
}

/** For each placeholder of a statement, in the order of its bindings, its name or its column; null if that is unclear. */
export function bindingColumns(sql: string, system?: string): (string | null)[] {
  const tokens = significant(sql, system);
  if (COMMAND.test(sql)) return commandKeys(tokens);
  return namedPlaceholders(tokens) ?? columnsIn(tokens);
}

/** MySQL's placeholder for a name; of `?? = ?` the field is the value before. */
export const NAME_BINDING = '??';
const KEY_TEXT = /^(['"])\{?([\w.-]{2,60})\}?\1$/;

/**
 * What masking goes by besides: the column of a placeholder with a name, and the text before one, as in
 * `jsonb_build_object('password', $1)` and `set_config('app.token', $1, true)`.
 */
export function bindingFields(sql: string, system?: string): (string | null)[] {
  const tokens = significant(sql, system);
  const fields = namedPlaceholders(tokens) === null ? [] : columnsIn(tokens);
  const place = placeOf(tokens);
  let count = 0;
  for (const [index, [, text]] of tokens.entries()) {
    const at = place(text, count);
    if (at < 0 || at >= NAMED) continue;
    count++;
    const [kind, before = ''] = tokens[index - 2] ?? [];
    const [, , key] = kind === 's' && tokens[index - 1]?.[1] === ',' ? (KEY_TEXT.exec(before) ?? []) : [];
    if (key !== undefined) fields[at] = key;
    if (before === NAME_BINDING && COMPARISON.test(tokens[index - 1]?.[1] ?? '')) fields[at] = NAME_BINDING;
  }
  return fields;
}
