/** One statement instead of a loop of reads that differ in a single value: it returns what the loop read, with the column that tells the rows apart. */
import { escapeRegExp } from '../../profiler/escape-regexp.ts';
import type { DatabaseQuery } from '../database/data.ts';
import { foundRows } from './found-rows.ts';
import { endOf, pick } from './rows.ts';

interface Bound {
  bindings: readonly { name: string; value: unknown }[];
}

export function differingNames(queries: readonly Bound[]): string[] {
  const [first] = queries;
  const names = (first?.bindings ?? [])
    .filter(({ value }, at) =>
      queries.some(({ bindings }) => JSON.stringify(bindings[at]?.value) !== JSON.stringify(value)),
    )
    .map(({ name }) => name);
  return [...new Set(names)].slice(0, 5);
}

const LONGEST = 1000;
const SELECT = /^select\s+([^]+?)\s+from\s+([^]+)$/i;
/** With one of these, rows of several values are not simply those of each value together. */
const NOT_SIMPLE =
  /\b(?:or|union|intersect|except|having|over|with|distinct\s+on|for\s+(?:update|share|no\s+key))\b|\(\s*select\b/i;
const LIMIT = /\s+limit\s+(\$\d+|\?|\d+)(?:\s+offset\s+(\$\d+|\?|\d+))?$/i;
const ORDER = /\border\s+by\b/i;
const GROUP = /\bgroup\s+by\s+/i;
const AGGREGATE = /\b(?:count|sum|avg|min|max|every|bool_and|bool_or|group_concat|\w+_agg)\s*\(/i;

function numberOf(text: string | undefined, name: string, { bindings }: Bound): number {
  if (text === undefined) return 0;
  const bound = bindings.find((one) => one.name.toLowerCase() === name)?.value;
  return Number(/^\d/.test(text) ? text : (bound ?? Number.NaN));
}

/** Without `limit 1`, which asked for one row of each value; null for any other limit. */
function withoutLimit(rest: string, ran: Bound): string | null {
  const [text, limit, offset] = LIMIT.exec(rest) ?? [];
  if (text === undefined) return /\b(?:limit|offset|fetch)\b/i.test(rest) ? null : rest;
  const isOne = numberOf(limit, 'limit', ran) === 1 && numberOf(offset, 'offset', ran) === 0;
  return isOne && !ORDER.test(rest) ? rest.slice(0, -text.length) : null;
}

const ALIAS = /\s+as\s+["`]?\w+["`]?$/i;

function bareName(name: string): string {
  return name.replace(/["`]/g, '').toLowerCase();
}

function hasColumn(columns: string, column: string): boolean {
  const [name = '', ...prefix] = column.split('.').reverse();
  return columns.split(',').some((part) => {
    const [own = '', ...ownPrefix] = part.trim().replace(ALIAS, '').split('.').reverse();
    const isSame = bareName(own) === bareName(name) || own === '*';
    return (
      isSame &&
      (prefix.length === 0 ||
        ownPrefix.length === 0 ||
        bareName(ownPrefix.join()) === bareName(prefix.join()))
    );
  });
}

/** The select list with the column; a sum or count is made for each of its values. */
function selected(columns: string, rest: string, column: string): string | null {
  if (AGGREGATE.test(columns) || GROUP.test(rest)) {
    if (ORDER.test(rest)) return null;
    const grouped = GROUP.test(rest)
      ? rest.replace(GROUP, (text) => `${text}${column}, `)
      : `${rest} group by ${column}`;
    return `select ${column}, ${columns} from ${grouped}`;
  }
  if (hasColumn(columns, column)) return `select ${columns} from ${rest}`;
  const [, distinct = '', list = ''] = /^(distinct\s+)?([^]*)$/i.exec(columns) ?? [];
  return `select ${distinct}${column}, ${list} from ${rest}`;
}

/** `select name from users where id = $1 limit $2` -> `select id, name from users where id = any($1)`; null for anything less simple. */
export function inOneQuery(sql: string, column: string, ran: Bound): string | null {
  if (sql.length > LONGEST) return null;
  const [, columns, all] = SELECT.exec(sql.trim().replace(/;$/, '').trimEnd()) ?? [];
  if (columns === undefined || all === undefined || NOT_SIMPLE.test(sql)) return null;
  const rest = withoutLimit(all, ran);
  const name = escapeRegExp(column);
  const compared = [
    ...(rest ?? '').matchAll(
      new RegExp(`((?:["\`\\w]+\\.)*["\`]?\\b${name}\\b["\`]?)\\s*=\\s*(\\$\\d+|\\?)`, 'gi'),
    ),
  ];
  const [[text = '', qualified = '', value] = []] = compared;
  if (rest === null || compared.length !== 1) return null;
  const list = value === '?' ? `${qualified} in (?)` : `${qualified} = any(${value})`;
  return selected(
    columns,
    rest.replace(text, () => list),
    qualified,
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Columns by which a row led from one read of a loop to the next, or to a read in between that was given the value of the first. */
function columnsToNext(queries: readonly DatabaseQuery[], from: number, to: number): Set<string> {
  const [read, next] = [queries[from], queries[to]];
  if (read === undefined || next === undefined) return new Set();
  const own = new Set(read.bindings.map(({ value }) => textOf(value)));
  const given = next.bindings.map(({ value }) => textOf(value)).filter((value) => !own.has(value));
  const [value] = given;
  if (value === undefined || given.length > 1) return new Set();
  const differing = read.bindings.filter((one, at) => textOf(next.bindings[at]?.value) !== textOf(one.value));
  const led = new Set(differing.map((one) => textOf(one.value)));
  const between = queries
    .slice(from, to)
    .filter((query) => endOf(query) <= next.startMs)
    .filter((query) => query === read || query.bindings.some((one) => led.has(textOf(one.value))));
  const entries = between.flatMap((query) => foundRows(query).flatMap((row) => Object.entries(row)));
  return new Set(entries.flatMap(([name, found]) => (textOf(found) === value ? [name] : [])));
}

/** From this share of the steps on. Others begin at another row. */
const WALKED = 0.25;

/** A loop that goes from row to row, as up a tree: most values are not known before it. */
export function isWalk(queries: readonly DatabaseQuery[], members: readonly number[]): boolean {
  const times = new Map<string, number>();
  members.slice(1).forEach((to, at) => {
    for (const name of columnsToNext(queries, members[at] ?? to, to))
      times.set(name, (times.get(name) ?? 0) + 1);
  });
  return Math.max(0, ...times.values()) >= Math.max(1, (members.length - 1) * WALKED);
}

/** Instead of a loop of reads that differ in one value; null if one statement can’t return what they read. */
export function oneQueryFor(
  queries: readonly DatabaseQuery[],
  { members }: { members: readonly number[] },
  sql: string,
): { column: string; text: string } | null {
  const runs = pick(queries, members);
  const [first] = runs;
  const [column, ...others] = differingNames(runs);
  if (first === undefined || column === undefined || others.length > 0) return null;
  const text = isWalk(queries, members) ? null : inOneQuery(sql.trim(), column, first);
  return text === null ? null : { column, text };
}
