/**
 * The parts of a statement: tables, conditions, assignments, limits. Read from its tokens, so that texts and comments can't be taken for
 * SQL. It reads the plain statements that applications and ORMs send; null for any other (`with`, `union`), of which nothing is concluded.
 */
import type { Json } from '../../profiler/json.ts';
import type { SqlToken } from './sql-tokens.ts';
import { type Binding, indexesOf } from './sql-values.ts';
import { bare, significant } from './statements.ts';

export type StatementValue =
  | { kind: 'bound'; index: number }
  | { kind: 'literal'; text: string }
  | { kind: 'null' }
  | { kind: 'other' };

export interface Comparison {
  column: string;
  of?: string;
  /** Lower case: `=`, `<>`, `in`, `not in`, `like`, `is` … */
  operator: string;
  /** One, those of a list, or both ends of `between`. */
  values: StatementValue[];
  wrapped: string | null;
}

export interface ReadStatement {
  verb: 'select' | 'insert' | 'update' | 'delete';
  table: string | null;
  /** Another name of the table within the statement. */
  alias?: string;
  joins: number;
  sets: { column: string; value: StatementValue }[];
  where: Comparison[] | null;
  /** The comparisons of the WHERE all have to hold: no OR, CASE or subselect. */
  isPlain: boolean;
  /** The comparisons between the ORs of the WHERE that are in no brackets; one list if it has no such OR. */
  alternatives: Comparison[][];
  limit: StatementValue | null;
  offset: StatementValue | null;
  orderBy: string;
  /** Of ORDER BY and GROUP BY: most are columns, so `other`. */
  sortKeys: StatementValue[];
  /** Only columns of `select`: `*` and names, no functions. */
  isAggregated: boolean;
  isStar: boolean;
  isLocking: boolean;
}

type Words = readonly { kind: SqlToken[0]; text: string; lower: string; at: number | null }[];

const CLAUSES = new Set([
  'select', 'insert', 'update', 'delete', 'from', 'set', 'values', 'where', 'group', 'having', 'order', 'limit', 'offset', 'fetch',
  'returning', 'for', 'window', 'on', 'join', 'into', 'using', 'lock',
]); // prettier-ignore
const NOT_READ = new Set(['union', 'intersect', 'except']);
const OPERATORS = new Set([
  '=', '<>', '!=', '<', '>', '<=', '>=', '<=>', 'like', 'ilike', 'in', 'is', 'between', '~', '~*',
]); // prettier-ignore
const AGGREGATES =
  /^(?:count|sum|avg|min|max|every|bool_and|bool_or|group_concat|string_agg|array_agg|json_agg|jsonb_agg|json_arrayagg|json_group_array)$/;

function isName(
  { kind, text }: Words[number] | undefined = { kind: 'c', text: '', lower: '', at: null },
): boolean {
  return kind !== 's' && kind !== 'd' && kind !== 'c' && /^[A-Za-z_"`\u0080-\uffff]/.test(text);
}

function textOf(literal: string): string {
  return literal.replace(/^\w*['"]|['"]$/g, '').replaceAll("''", "'");
}

function closeOf(words: Words, open: number): number {
  let depth = 0;
  for (let at = open; at < words.length; at++) {
    if (words[at]?.text === '(') depth++;
    if (words[at]?.text === ')' && --depth === 0) return at;
  }
  return words.length;
}

function openOf(words: Words, close: number): number {
  let depth = 0;
  for (let at = close; at >= 0; at--) {
    if (words[at]?.text === ')') depth++;
    if (words[at]?.text === '(' && --depth === 0) return at;
  }
  return -1;
}

function valueOf(words: Words): StatementValue {
  const isCast = words[1]?.text === '::';
  const [first, second] = words;
  if (first?.text === '-' && words.length === 2 && second?.kind === 'd' && second.at === null)
    return { kind: 'literal', text: `-${second.text}` };
  if (first?.text === '(' && closeOf(words, 0) === words.length - 1) return valueOf(words.slice(1, -1));
  if (first === undefined || (words.length > 1 && !isCast)) return { kind: 'other' };
  if (first.at !== null) return { kind: 'bound', index: first.at };
  if (first.kind === 's') return { kind: 'literal', text: textOf(first.text) };
  if (first.lower === 'null') return { kind: 'null' };
  const isLiteral = (first.kind === 'd' && /^\d/.test(first.text)) || /^(?:true|false)$/.test(first.lower);
  return isLiteral ? { kind: 'literal', text: first.text } : { kind: 'other' };
}

function splitAt(words: Words, separator: string): Words[] {
  const parts: Words[number][][] = [[]];
  let depth = 0;
  for (const word of words) {
    if (word.text === '(') depth++;
    if (word.text === ')') depth--;
    if (word.lower === separator && depth === 0) parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts;
}

function withoutBrackets(words: Words): Words {
  const isWhole = words[0]?.text === '(' && closeOf(words, 0) === words.length - 1;
  return isWhole ? withoutBrackets(words.slice(1, -1)) : words;
}

function columnBefore(words: Words, operator: number): Pick<Comparison, 'column' | 'of' | 'wrapped'> | null {
  let at = operator - 1;
  if (words[at]?.lower === 'not') at--;
  if (words[at - 1]?.text === '::') {
    const column = words[at - 2];
    return isName(column)
      ? { column: bare(column?.text ?? ''), wrapped: `::${words[at]?.text ?? ''}` }
      : null;
  }
  const last = words[at];
  if (last?.text === ')') {
    const open = openOf(words, at);
    const inner = words.slice(open + 1, at);
    const name = inner.findLast((word) => isName(word) && word.kind === '');
    const by = words[open - 1];
    if (name === undefined) return null;
    return { column: bare(name.text), wrapped: isName(by) && by?.kind === '' ? by.lower : null };
  }
  if (!isName(last) || last?.kind === 'k') return null;
  const of = words[at - 1]?.text === '.' ? { of: bare(words[at - 2]?.text ?? '') } : {};
  return { column: bare(last?.text ?? ''), ...of, wrapped: null };
}

function valueEnd(words: Words, from: number): number {
  let depth = 0;
  for (let at = from; at < words.length; at++) {
    const { text, lower } = words[at] ?? { text: '', lower: '' };
    if (text === '(') depth++;
    if (text === ')' && depth-- === 0) return at;
    if (depth === 0 && (lower === 'and' || lower === 'or')) return at;
  }
  return words.length;
}

function valuesAfter(words: Words, operator: number): StatementValue[] {
  const from = operator + 1;
  const first = words[from];
  if (words[operator]?.lower === 'in' && first?.text === '(') {
    const list = words.slice(from + 1, closeOf(words, from));
    if (list[0]?.lower === 'select') return [{ kind: 'other' }];
    return list.length === 0 ? [] : splitAt(list, ',').map(valueOf);
  }
  const end = valueEnd(words, from);
  const value = valueOf(words.slice(from, end));
  if (words[operator]?.lower !== 'between') return [value];
  return [value, valueOf(words.slice(end + 1, valueEnd(words, end + 1)))];
}

function comparisonsIn(words: Words): Comparison[] {
  return words.flatMap((word, at): Comparison[] => {
    if (!OPERATORS.has(word.lower) || word.kind === 's') return [];
    const column = columnBefore(words, at);
    if (column === null) return [];
    const operator = words[at - 1]?.lower === 'not' ? `not ${word.lower}` : word.lower;
    return [{ ...column, operator, values: valuesAfter(words, at) }];
  });
}

function tableIn(words: Words): { table: string | null; alias?: string } {
  let at = 0;
  while (/^(?:only|ignore|or|replace|abort|low_priority)$/.test(words[at]?.lower ?? '')) at++;
  while (words[at + 1]?.text === '.') at += 2;
  if (!isName(words[at])) return { table: null };
  const next = words[at + 1]?.lower === 'as' ? words[at + 2] : words[at + 1];
  const isAlias = isName(next) && next?.kind !== 'k';
  return { table: bare(words[at]?.text ?? ''), ...(isAlias ? { alias: bare(next?.text ?? '') } : {}) };
}

interface Clause {
  name: string;
  words: Words;
}

/** The clauses at depth 0, in order; null if it has several selects. */
function clausesOf(words: Words): Clause[] | null {
  const clauses: { name: string; words: Words[number][] }[] = [];
  let depth = 0;
  for (const [at, word] of words.entries()) {
    if (word.text === '(') depth++;
    if (word.text === ')') depth--;
    const isWord = depth === 0 && word.kind === 'k' && words[at - 1]?.text !== '.';
    if (isWord && NOT_READ.has(word.lower)) return null;
    const inUpdate = word.lower === 'update' && clauses.at(-1)?.name === 'for';
    if (isWord && CLAUSES.has(word.lower) && !inUpdate) clauses.push({ name: word.lower, words: [] });
    else clauses.at(-1)?.words.push(word);
  }
  return clauses;
}

function readLimits(clauses: readonly Clause[]): Pick<ReadStatement, 'limit' | 'offset'> {
  const of = (name: string): Words | undefined => clauses.find((clause) => clause.name === name)?.words;
  const [first, second] = splitAt(of('limit') ?? [], ',');
  // MySQL: `limit 20, 10` skips 20 rows.
  if (second !== undefined) return { limit: valueOf(second), offset: valueOf(first ?? []) };
  const fetched = of('fetch')?.filter(({ kind }) => kind === 'd');
  const offset = of('offset')?.filter(({ lower }) => lower !== 'rows' && lower !== 'row');
  const limit = of('limit') ?? fetched;
  return {
    limit: limit === undefined ? null : valueOf(limit),
    offset: offset === undefined ? null : valueOf(offset),
  };
}

function setsIn(clause: Clause | undefined): ReadStatement['sets'] {
  return splitAt(clause?.words ?? [], ',').flatMap((words) => {
    const equals = words.findIndex(({ text }) => text === '=');
    const name = words[equals - 1];
    return equals > 0 && isName(name)
      ? [{ column: bare(name?.text ?? ''), value: valueOf(words.slice(equals + 1)) }]
      : [];
  });
}

function wordsOf(sql: string, system: string | undefined): Words {
  const tokens = significant(sql, system).filter(([, text]) => text !== ';');
  const indexes = indexesOf(tokens, Infinity);
  return tokens.map(([kind, text], at) => ({
    kind,
    text,
    lower: text.toLowerCase(),
    at: indexes[at] ?? null,
  }));
}

function sortKeysIn(clauses: readonly Clause[]): StatementValue[] {
  return clauses
    .filter(({ name }) => name === 'order' || name === 'group')
    .flatMap(({ words }) => splitAt(words.slice(1), ','))
    .map((words) => valueOf(words.filter(({ lower }) => !/^(?:asc|desc|nulls|first|last)$/.test(lower))));
}

export function readStatement(sql: string, system?: string): ReadStatement | null {
  const words = wordsOf(sql, system);
  const clauses = clausesOf(words);
  const verb = clauses?.[0]?.name;
  if (clauses === null || (verb !== 'select' && verb !== 'insert' && verb !== 'update' && verb !== 'delete'))
    return null;
  if (words[0]?.lower !== verb) return null;
  const find = (name: string): Clause | undefined => clauses.find((clause) => clause.name === name);
  const named = { select: find('from'), insert: find('into'), update: find('update'), delete: find('from') }[
    verb
  ];
  const where = find('where')?.words;
  const columns = find('select')?.words ?? [];
  return {
    verb,
    ...(named === undefined ? { table: null } : tableIn(named.words)),
    joins: clauses.filter(({ name }) => name === 'join').length,
    sets: verb === 'update' ? setsIn(find('set')) : [],
    where: where === undefined ? null : comparisonsIn(where),
    isPlain: !(where ?? []).some(
      ({ kind, lower }) => kind === 'k' && /^(?:or|case|select|exists)$/.test(lower),
    ),
    alternatives: splitAt(withoutBrackets(where ?? []), 'or').map(comparisonsIn),
    ...readLimits(clauses),
    sortKeys: sortKeysIn(clauses),
    orderBy: (find('order')?.words ?? [])
      .slice(1)
      .map(({ lower }) => lower)
      .join(''),
    isAggregated:
      find('group') !== undefined ||
      columns.some(
        ({ lower }, at) => lower === 'distinct' || (columns[at + 1]?.text === '(' && AGGREGATES.test(lower)),
      ),
    isStar: columns.at(-1)?.text === '*',
    isLocking: find('for') !== undefined || find('lock') !== undefined,
  };
}

/** What a value was when the statement ran; undefined if the record doesn't say. */
export function givenValue(
  value: StatementValue | undefined,
  bindings: readonly Binding[],
): Json | undefined {
  if (value === undefined) return undefined;
  if (value.kind === 'literal') return value.text;
  if (value.kind === 'null') return null;
  const binding = value.kind === 'bound' ? bindings[value.index] : undefined;
  if (binding === undefined || binding.name === '…' || binding.type === 'cut') return undefined;
  return binding.type === 'undefined' ? null : binding.value;
}
