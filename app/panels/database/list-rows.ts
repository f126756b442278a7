/** Items of the list -> rows as the view shows them. */
import type { PanelPage } from '../../profiler/panel.ts';
import type { SourceExcerpt } from '../../profiler/thrown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { differingNames } from '../shared/one-query.ts';
import { addressOf, firstRows } from '../../render/rows-page.ts';
import { coveredMs, eachText, pick } from '../shared/rows.ts';
import { sqlLines } from '../shared/sql-lines.ts';
import { joinTokens, plainName, type SqlToken, sqlTokens } from '../shared/sql-tokens.ts';
import { typeNameOf, valuesInPlace } from '../shared/sql-values.ts';
import type { DatabaseData, DatabaseGroup, DatabaseQuery } from './data.ts';
import { type Badge, badgeOf, LINE_LENGTH, type ListItem, STATEMENT_LENGTH } from './list-items.ts';
import type { ShownPlan } from './plans.ts';
import type { TransactionMark } from './transactions.ts';

type DatabaseRow = { query: QueryRow; group?: undefined } | { group: GroupRow; query?: undefined };

/** Characters of a value in the line of a row. */
const VALUE_LENGTH = 32;
/** Characters of the statement that the address opens. */
const WHOLE_LENGTH = 12_000;
/** From here on waiting for a connection is shown, and is a warning. */
const WAIT_SHOWN_MS = 1;
const LONG_WAIT_MS = 20;

/** The statement in a line, without comments and the quotes that Knex puts around every name. */
function oneLine(sql: string, system: string | undefined): SqlToken[] {
  const tokens: SqlToken[] = [];
  let length = 0;
  for (const [kind, part] of sqlTokens(sql.slice(0, LINE_LENGTH * 4), system)) {
    if (kind === 'c') continue;
    const isSpace = part.trim() === '';
    if (isSpace && (tokens.length === 0 || tokens.at(-1)?.[1] === ' ')) continue;
    if (length > LINE_LENGTH) return [...tokens, ['', '…']];
    const text = isSpace ? ' ' : plainName(part);
    tokens.push([kind, text.length > LINE_LENGTH ? `${text.slice(0, LINE_LENGTH)}…` : text]);
    length += text.length;
  }
  return tokens;
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

function membersOf({ queries }: DatabaseData, { members }: DatabaseGroup): DatabaseQuery[] {
  return pick(queries, members);
}

/** What rows of one statement or group share, computed once. */
export interface SharedParts {
  /** The statement in a line, with its placeholders; not joined. */
  lineOf: (statement: number) => SqlToken[];
  /** Names of the bindings that differ within a group. */
  differingIn: (group: number) => string[];
  excerptOf: (place: string | null) => SourceExcerpt | null;
}

function remembered<T>(work: (index: number) => T): (index: number) => T {
  const known = new Map<number, T>();
  return (index) => {
    const value = known.get(index) ?? work(index);
    known.set(index, value);
    return value;
  };
}

export function sharedParts(data: DatabaseData): SharedParts {
  const excerpts = new Map((data.excerpts ?? []).map(({ place, excerpt }) => [place, excerpt]));
  return {
    lineOf: remembered((statement) => {
      const { sql = '', system } = data.statements[statement] ?? {};
      return oneLine(sql, system);
    }),
    differingIn: remembered((group) => {
      const found = data.groups[group];
      return found === undefined ? [] : differingNames(membersOf(data, found));
    }),
    excerptOf: (place) => (place === null ? null : (excerpts.get(place) ?? null)),
  };
}

export interface Building extends SharedParts {
  data: DatabaseData;
  slowMs: number;
  query: PanelPage['query'];
  /** Groups that have a card above the list. */
  explained: ReadonlySet<string>;
  /** By index of a query. */
  plans: ReadonlyMap<number, ShownPlan>;
  transactions: ReadonlyMap<number, TransactionMark>;
}

function badgesOf({ data, slowMs, plans }: Building, index: number, query: DatabaseQuery): Badge[] {
  const { durationMs, waitMs, error } = query;
  const group = query.group === null ? undefined : data.groups[query.group];
  const badges: Badge[] = [];
  if (error !== null) badges.push({ text: 'failed', tone: 'bad' });
  if (durationMs !== null && durationMs >= slowMs) badges.push({ text: 'slow', tone: 'warn' });
  if (waitMs >= WAIT_SHOWN_MS)
    badges.push({
      text: `waited ${numberHelpers.durationText(waitMs)}`,
      tone: waitMs >= LONG_WAIT_MS ? 'warn' : 'plain',
    });
  if (group !== undefined) badges.push(badgeOf(group));
  if (plans.get(index)?.tree !== undefined) badges.push({ text: 'plan', tone: 'accent' });
  return badges;
}

interface Body {
  /** The statement with its values, truncated. */
  lines: { tokens: SqlToken[] }[];
  /** The statement can be run as shown. */
  isWhole: boolean;
  /** Characters of the statement that are not shown. */
  truncated: number;
  bindings: { name: string; value: unknown; type: string }[];
  excerpt: SourceExcerpt | null;
  plan: ShownPlan | null;
  /** Number of another query whose plan is that of the same statement; null if it has its own, or there is none. */
  planAt: number | null;
}
/** Number of a query of this statement that has a plan. */
function plannedFor({ data, plans }: Building, statement: number): number | null {
  for (const [index, { tree }] of plans)
    if (tree !== undefined && data.queries[index]?.statement === statement) return index + 1;
  return null;
}

function bodyOf(building: Building, index: number, query: DatabaseQuery, open: boolean): Body {
  const { sql = '', system } = building.data.statements[query.statement] ?? {};
  const shown = sql.slice(0, open ? WHOLE_LENGTH : STATEMENT_LENGTH);
  const { tokens, isWhole } = valuesInPlace(sqlTokens(shown, system), query.bindings, { system });
  return {
    lines: sqlLines(tokens).map((line) => ({ tokens: line })),
    isWhole: isWhole && shown.length === sql.length,
    truncated: sql.length - shown.length,
    bindings: query.bindings.map((binding) => ({ ...binding, type: typeNameOf(binding) })),
    excerpt: building.excerptOf(query.caller),
    plan: building.plans.get(index) ?? null,
    planAt: building.plans.has(index) ? null : plannedFor(building, query.statement),
  };
}

export type QueryRow = ReturnType<typeof queryRow>;
type GroupRow = ReturnType<typeof groupRow>;

function queryRow(building: Building, index: number) {
  const { data, lineOf } = building;
  const query = data.queries[index];
  if (query === undefined) throw new RangeError(`There is no query ${index}.`);
  const id = `q${index + 1}`;
  const open = building.query.open === id;
  const system = data.statements[query.statement]?.system;
  return {
    id,
    /** Its place in the order of execution: `5`, or `5–22` for a group. */
    number: String(index + 1),
    tokens: joinTokens(
      valuesInPlace(lineOf(query.statement), query.bindings, { system, longest: VALUE_LENGTH }).tokens,
    ),
    query,
    badges: badgesOf(building, index, query),
    ...bodyOf(building, index, query, open),
    transaction: building.transactions.get(index) ?? null,
    /** The address opens it. */
    open,
  };
}

function memberRow({ differingIn }: Building, query: DatabaseQuery, index: number) {
  const id = `q${index + 1}`;
  const names = query.group === null ? [] : differingIn(query.group);
  return {
    id,
    number: String(index + 1),
    query,
    /** The values that differ within its group: `id = 311`. */
    differs: query.bindings
      .filter(({ name }) => names.includes(name))
      .map(({ name, value }) => `${name} = ${textOf(value)}`)
      .join(', '),
    /** The page that shows its statement and values: grouped queries have a row of their own only there. */
    openHref: `${addressOf('database', { order: 'time', open: id })}#${id}`,
  };
}

/** `5–22`, or `5 … 31` if others ran in between. */
function numbersOf(members: readonly number[]): string {
  const [first = 0] = members;
  const last = members.at(-1) ?? first;
  if (members.length === 1) return String(first + 1);
  return last - first + 1 === members.length ? `${first + 1}–${last + 1}` : `${first + 1} … ${last + 1}`;
}

function groupRow(building: Building, id: string, members: readonly number[], badge: Badge | null) {
  const { data, lineOf, transactions, query: asked } = building;
  const queries = members.map((index) => data.queries[index]).filter((query) => query !== undefined);
  const rows = queries.map((query) => query.rows).filter((count) => count !== null);
  const callers = new Set(queries.map(({ caller }) => caller));
  const marks = new Set(members.map((index) => transactions.get(index)?.name));
  const shown = firstRows(members, asked);
  const failed = queries.filter(({ error }) => error !== null);
  const anchor = id.startsWith('r') ? `g${id.slice(1)}` : null;
  return {
    id,
    /** Id that findings and the timeline link to; null if a card above has it. */
    anchor: anchor === null || building.explained.has(anchor) ? null : anchor,
    failed: failed.length,
    /** That of its first failed member. */
    error: failed[0]?.error ?? null,
    number: numbersOf(members),
    tokens: joinTokens(lineOf(queries[0]?.statement ?? 0)),
    badge,
    count: members.length,
    durationMs: coveredMs(queries),
    each: eachText(queries),
    rows: rows.length === 0 ? null : rows.reduce((total, count) => total + count, 0),
    caller: callers.size === 1 ? ([...callers][0] ?? null) : null,
    transaction: marks.size === 1 ? (transactions.get(members[0] ?? 0) ?? null) : null,
    members: shown.flatMap((index) => {
      const query = data.queries[index];
      return query === undefined ? [] : [memberRow(building, query, index)];
    }),
    /** Members that are not shown. */
    more: members.length - shown.length,
    open: asked.open === id || members.some((index) => asked.open === `q${index + 1}`),
  };
}

export function buildRow(building: Building, { members, id, badge }: ListItem): DatabaseRow {
  return id === null
    ? { query: queryRow(building, members[0] ?? 0) }
    : { group: groupRow(building, id, members, badge) };
}
