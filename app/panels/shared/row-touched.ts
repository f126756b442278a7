/** The row that a statement reads or writes, as far as its text says: its table, and the values that columns are compared with. */
import { isMasked } from '../../profiler/redact.ts';
import { significant, type SqlToken } from './sql-tokens.ts';
import { type Binding, valuesInPlace } from './sql-values.ts';

export interface RowTouched {
  table: string;
  /** `count`: it reads how many there are, or another sum. */
  does: 'read' | 'count' | 'update' | 'insert' | 'delete';
  /** By column: values that its condition asks for, or that are inserted. */
  where: ReadonlyMap<string, string>;
  /** Its condition says more than that. */
  hasMore: boolean;
  /** Columns that it reads; null: all. */
  reads: ReadonlySet<string> | null;
  /** Columns that an update sets: to a value, or to what the database computes (null). */
  sets: ReadonlyMap<string, string | null>;
}

const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();
/** Statements about several tables or rows, or with alternatives, are not about one row that is known. */
const UNCLEAR = new Set(['join', 'or', 'union', 'select', 'group', 'having', 'limit']);
/** It waits for others that write, so nothing that it read is stale. */
const LOCKS = /^(?:update|share|no|key)$/i;
const SUMS = /^(?:count|sum|max|min|exists)$/i;
const NAME = /^[A-Za-z_"`[\u0080-\uffff]/;

function bare(name: string): string {
  return name.replace(/^["`[]|["`\]]$/g, '').toLowerCase();
}

function isWord([, text]: SqlToken, ...words: readonly string[]): boolean {
  return words.includes(text.toLowerCase());
}

function isValue([kind, text]: SqlToken): boolean {
  return (kind === 'v' || kind === 's' || kind === 'd') && !text.startsWith('`') && !/^[$?:@]/.test(text);
}

function plainValue(text: string): string {
  return /^'.*'$/s.test(text) ? text.slice(1, -1) : text;
}

/** `"public"."Product"` at this place, and what follows it; null if there is no name. */
function nameAt(tokens: readonly SqlToken[], at: number): { name: string; next: number } | null {
  let index = at;
  if (!NAME.test(tokens[index]?.[1] ?? '')) return null;
  while (tokens[index + 1]?.[1] === '.') index += 2;
  return { name: bare(tokens[index]?.[1] ?? ''), next: index + 1 };
}

function split(tokens: readonly SqlToken[], isEnd: (token: SqlToken) => boolean): SqlToken[][] {
  const parts: SqlToken[][] = [[]];
  for (const token of tokens) {
    if (isEnd(token)) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

/** `id = 7`, `id in (7)`; null for another condition. */
function equality(part: readonly SqlToken[]): [column: string, value: string] | null {
  const found = nameAt(part, 0);
  if (found === null) return null;
  const [operator, value, ...rest] = part.slice(found.next);
  if (operator === undefined || value === undefined || !isWord(operator, '=', 'in')) return null;
  return isValue(value) && (rest.length === 0 || rest[0]?.[1] === '::')
    ? [found.name, plainValue(value[1])]
    : null;
}

function conditionsIn(tokens: readonly SqlToken[]): Pick<RowTouched, 'where' | 'hasMore'> | null {
  if (tokens.some((token, at) => isWord(token, 'for') && LOCKS.test(tokens[at + 1]?.[1] ?? ''))) return null;
  const end = tokens.findIndex((token) => isWord(token, 'order', 'limit', 'offset', 'returning', ';'));
  const condition = end === -1 ? tokens : tokens.slice(0, end);
  if (condition.some(([, text]) => UNCLEAR.has(text.toLowerCase()) || text === ',')) return null;
  const where = new Map<string, string>();
  let hasMore = false;
  const plain = condition.filter(([, text]) => text !== '(' && text !== ')');
  for (const part of split(plain, (token) => isWord(token, 'and'))) {
    const found = equality(part);
    // `1 = 1`
    const isNothing = part.length === 0 || (part.length === 3 && part[0]?.[1] === part[2]?.[1]);
    if (found !== null && !isMasked(found[1])) where.set(found[0], found[1]);
    else hasMore ||= !isNothing;
  }
  return { where, hasMore };
}

function columnsRead(tokens: readonly SqlToken[]): ReadonlySet<string> | null {
  if (tokens.some(([, text], at) => text === '*' && tokens[at - 1]?.[1] !== '(')) return null;
  return new Set(tokens.filter(([, text]) => NAME.test(text)).map(([, text]) => bare(text)));
}

/** `stock = 3, sold = sold + 1`; commas within brackets separate no columns. */
function columnsSet(tokens: readonly SqlToken[]): Map<string, string | null> {
  let depth = 0;
  const parts = split(tokens, ([, text]) => {
    if (text === '(') depth++;
    if (text === ')') depth--;
    return text === ',' && depth === 0;
  });
  const sets = new Map<string, string | null>();
  for (const part of parts) {
    const found = nameAt(part, 0);
    if (found === null) continue;
    const [, value, ...rest] = part.slice(found.next);
    const isPlain = value !== undefined && isValue(value) && (rest.length === 0 || rest[0]?.[1] === '::');
    sets.set(found.name, isPlain ? plainValue(value[1]) : null);
  }
  return sets;
}

/** Between `select` and `from`, `set` and `where`; null without the second word, or with another `select`. */
function around(tokens: readonly SqlToken[], word: string): [before: SqlToken[], after: SqlToken[]] | null {
  const at = tokens.findIndex((token) => isWord(token, word));
  return at === -1 ? null : [tokens.slice(0, at), tokens.slice(at + 1)];
}

function insertedInto(tokens: readonly SqlToken[], bindings: readonly Binding[]): RowTouched | null {
  const table = nameAt(tokens, 2);
  const names = bindings.map(({ name }) => name);
  // Several rows, or values that are no columns'.
  if (table === null || new Set(names).size < names.length) return null;
  const where = new Map(
    bindings.flatMap(({ name, value }) =>
      /^[$…]/.test(name) || typeof value === 'object' || isMasked(String(value))
        ? []
        : [[name.toLowerCase(), String(value)] as const],
    ),
  );
  return { table: table.name, does: 'insert', where, hasMore: false, reads: null, sets: NOTHING };
}

/** null for a statement about no row, several tables, or rows that are not told by values. */
export function rowTouched(
  sql: string,
  bindings: readonly Binding[],
  system: string | undefined,
): RowTouched | null {
  const { tokens: placed } = valuesInPlace(sql, bindings, { system });
  const tokens = significant(placed);
  const verb = tokens[0]?.[1].toLowerCase();
  if (verb === 'insert') return insertedInto(tokens, bindings);
  if (verb !== 'select' && verb !== 'update' && verb !== 'delete') return null;
  const parts = around(tokens, 'where');
  if (parts === null) return null;
  const [before, after] = parts;
  const from = verb === 'update' ? before.slice(1) : around(before, 'from')?.[1];
  if (from === undefined || from.some(([, text]) => UNCLEAR.has(text.toLowerCase()))) return null;
  const table = nameAt(from, isWord(from[0] ?? ['', ''], 'only') ? 1 : 0);
  const conditions = conditionsIn(after);
  if (table === null || conditions === null || conditions.where.size === 0) return null;
  const touched = { table: table.name, ...conditions, reads: null, sets: NOTHING };
  if (verb === 'delete') return { ...touched, does: 'delete' };
  if (verb === 'update') {
    const [, sets = []] = around(from, 'set') ?? [];
    return { ...touched, does: 'update', sets: columnsSet(sets) };
  }
  const [columns = []] = around(before.slice(1), 'from') ?? [];
  const isSum = columns.some(([, text]) => SUMS.test(text));
  return { ...touched, does: isSum ? 'count' : 'read', reads: columnsRead(columns) };
}

function isWithin(a: RowTouched['where'], b: RowTouched['where']): boolean {
  return [...a].every(([column, value]) => b.get(column) === value);
}

/** One of the two names all values that the other one names: if each is about one row, it is the same. */
export function isSameRow(a: RowTouched, b: RowTouched): boolean {
  return a.table === b.table && (isWithin(a.where, b.where) || isWithin(b.where, a.where));
}
