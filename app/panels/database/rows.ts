/**
 * Rows of the database page: plans first (which queries, in which order, what they cost in characters), then the rows of
 * the one page that is shown.
 */
import type { SourceExcerpt } from '../../profiler/thrown.ts';
import type { DatabaseData, DatabaseGroup, DatabaseQuery } from './index.ts';
import { sqlLines } from '../shared/sql-lines.ts';
import { joinTokens, plainName, type SqlToken, sqlTokens } from '../shared/sql-tokens.ts';
import { typeNameOf, valuesInPlace } from '../shared/sql-values.ts';
import type { ShownPlan } from './plans.ts';
import type { TransactionMark } from './transactions.ts';

interface Badge {
  text: string;
  tone: 'bad' | 'warn' | 'plain' | 'accent';
}

export interface QueryRow {
  id: string;
  /** Position in the order of running: `5`, or `5–22` for a group. */
  number: string;
  tokens: SqlToken[];
  query: DatabaseQuery;
  /** Failed, slow, waited for the pool, part of a loop, has a plan: in this order. */
  badges: Badge[];
  /** Statement with its values, in lines; cut. */
  lines: { tokens: SqlToken[] }[];
  /** It can be run as it is shown. */
  isWhole: boolean;
  /** Characters of the statement that are not shown. */
  cut: number;
  bindings: { name: string; value: unknown; type: string }[];
  /** What differs from the others of its group: `id = 311`. */
  differs: string;
  excerpt: SourceExcerpt | null;
  plan: ShownPlan | null;
  /** Number of the query whose plan is that of the same statement; null where it has its own, or there is none. */
  planAt: number | null;
  transaction: TransactionMark | null;
  /** Where the row with its statement and values is shown; null where it is shown here. */
  openHref: string | null;
  /** It was asked for by itself. */
  open: boolean;
}

export interface GroupRow {
  id: string;
  /** Id that findings and the timeline lead to; null where a card above has it. */
  anchor: string | null;
  failed: number;
  /** What the first that failed was told. */
  error: string | null;
  number: string;
  tokens: SqlToken[];
  badge: Badge | null;
  count: number;
  durationMs: number;
  rows: number | null;
  caller: string | null;
  transaction: TransactionMark | null;
  members: QueryRow[];
  /** Members beyond those shown, and before them. */
  more: number;
  earlier: number;
  /** Where it is shown open, from its first member on; where it goes on. */
  openHref: string;
  nextHref: string;
  open: boolean;
}

export type DatabaseRow = { query: QueryRow; group?: undefined } | { group: GroupRow; query?: undefined };

const LINE_LENGTH = 240;
/** Characters of a value in a line. */
const VALUE_LENGTH = 32;
const STATEMENT_LENGTH = 3000;
/** Of the one that was asked for by itself. */
const WHOLE_LENGTH = 12_000;
const MEMBERS_SHOWN = 8;
/** Of a group that was asked for by itself. */
const MEMBERS_OPEN = 80;
/** Waiting for the pool that is shown, and that is worth a worry. */
const WAIT_SHOWN_MS = 1;
const LONG_WAIT_MS = 20;

export const groupLabels = { 'n+1': 'N+1', loop: 'loop', duplicate: 'duplicate' } as const;
const tones = { 'n+1': 'bad', loop: 'warn', duplicate: 'plain' } as const;

/** For a row: quotes that Knex puts round every name say nothing there, nor do comments. */
function oneLine(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let length = 0;
  for (const [kind, part] of sqlTokens(sql.slice(0, LINE_LENGTH * 4))) {
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

function badgeOf({ kind, members }: DatabaseGroup): Badge {
  return { text: `${groupLabels[kind]} × ${members.length}`, tone: tones[kind] };
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** Names of the bindings that are not the same in all members. */
function differingNames(data: DatabaseData, { members }: DatabaseGroup): string[] {
  const first = data.queries[members[0] ?? 0];
  const names = (first?.bindings ?? [])
    .filter(({ value }, at) =>
      members.some(
        (index) => JSON.stringify(data.queries[index]?.bindings[at]?.value) !== JSON.stringify(value),
      ),
    )
    .map(({ name }) => name);
  return [...new Set(names)].slice(0, 5);
}

/** What the rows of one statement or group share, worked out once. */
export interface SharedParts {
  /** The statement of this index in a line, with its placeholders; not joined. */
  lineOf: (statement: number) => SqlToken[];
  /** Names of the bindings that differ within the group of this index. */
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
    lineOf: remembered((statement) => oneLine(data.statements[statement]?.sql ?? '')),
    differingIn: remembered((group) => {
      const found = data.groups[group];
      return found === undefined ? [] : differingNames(data, found);
    }),
    excerptOf: (place) => (place === null ? null : (excerpts.get(place) ?? null)),
  };
}

export interface Building extends SharedParts {
  data: DatabaseData;
  slowMs: number;
  /** Rows without statement and values: there are too many. */
  brief: boolean;
  /** Id of the row that was asked for. */
  open: string;
  /** First member of an open group that is shown. */
  memberFrom: number;
  /** Groups that are explained above the list. */
  explained: ReadonlySet<string>;
  /** By index of a query. */
  plans: ReadonlyMap<number, ShownPlan>;
  transactions: ReadonlyMap<number, TransactionMark>;
  hrefOf: (id: string, memberFrom?: number) => string;
}

function badgesOf({ data, slowMs, plans }: Building, index: number, query: DatabaseQuery): Badge[] {
  const { durationMs, waitMs, error } = query;
  const group = query.group === null ? undefined : data.groups[query.group];
  const badges: Badge[] = [];
  if (error !== null) badges.push({ text: 'failed', tone: 'bad' });
  if (durationMs !== null && durationMs >= slowMs) badges.push({ text: 'slow', tone: 'warn' });
  if (waitMs >= WAIT_SHOWN_MS)
    badges.push({ text: `waited ${waitMs.toFixed(1)} ms`, tone: waitMs >= LONG_WAIT_MS ? 'warn' : 'plain' });
  if (group !== undefined) badges.push(badgeOf(group));
  if (plans.get(index)?.tree !== undefined) badges.push({ text: 'plan', tone: 'accent' });
  return badges;
}

type Body = Pick<QueryRow, 'lines' | 'isWhole' | 'cut' | 'bindings' | 'excerpt' | 'plan' | 'planAt'>;

const NO_BODY: Body = {
  lines: [],
  isWhole: true,
  cut: 0,
  bindings: [],
  excerpt: null,
  plan: null,
  planAt: null,
};

/** The query that was planned for this statement. */
function plannedFor({ data, plans }: Building, statement: number): number | null {
  for (const [index, { tree }] of plans)
    if (tree !== undefined && data.queries[index]?.statement === statement) return index + 1;
  return null;
}

function bodyOf(building: Building, index: number, query: DatabaseQuery, open: boolean): Body {
  const sql = building.data.statements[query.statement]?.sql ?? '';
  const shown = sql.slice(0, open ? WHOLE_LENGTH : STATEMENT_LENGTH);
  const { tokens, isWhole } = valuesInPlace(shown, query.bindings);
  return {
    lines: sqlLines(tokens).map((line) => ({ tokens: line })),
    isWhole: isWhole && shown.length === sql.length,
    cut: sql.length - shown.length,
    bindings: query.bindings.map((binding) => ({ ...binding, type: typeNameOf(binding) })),
    excerpt: building.excerptOf(query.caller),
    plan: building.plans.get(index) ?? null,
    planAt: building.plans.has(index) ? null : plannedFor(building, query.statement),
  };
}

function queryRow(building: Building, index: number): QueryRow {
  const { data, hrefOf, lineOf, differingIn } = building;
  const query = data.queries[index];
  if (query === undefined) throw new RangeError(`There is no query ${index}.`);
  const names = query.group === null ? [] : differingIn(query.group);
  const id = `q${index + 1}`;
  const open = building.open === id;
  const whole = open || !building.brief;
  return {
    id,
    number: String(index + 1),
    tokens: joinTokens(valuesInPlace(lineOf(query.statement), query.bindings, VALUE_LENGTH).tokens),
    query,
    badges: badgesOf(building, index, query),
    ...(whole ? bodyOf(building, index, query, open) : NO_BODY),
    differs: query.bindings
      .filter(({ name }) => names.includes(name))
      .map(({ name, value }) => `${name} = ${textOf(value)}`)
      .join(', '),
    transaction: building.transactions.get(index) ?? null,
    openHref: whole ? null : hrefOf(id),
    open,
  };
}

/** `5–22`, or `5 … 31` where others ran between. */
function numbersOf(members: readonly number[]): string {
  const [first = 0] = members;
  const last = members.at(-1) ?? first;
  if (members.length === 1) return String(first + 1);
  return last - first + 1 === members.length ? `${first + 1}–${last + 1}` : `${first + 1} … ${last + 1}`;
}

function groupRow(
  building: Building,
  id: string,
  members: readonly number[],
  badge: GroupRow['badge'],
): GroupRow {
  const { data, hrefOf, lineOf, transactions } = building;
  const queries = members.map((index) => data.queries[index]).filter((query) => query !== undefined);
  const rows = queries.map((query) => query.rows).filter((count) => count !== null);
  const callers = new Set(queries.map(({ caller }) => caller));
  const marks = new Set(members.map((index) => transactions.get(index)?.name));
  const open = building.open === id;
  const from = open ? Math.min(building.memberFrom, members.length - 1) : 0;
  const to = from + (open ? MEMBERS_OPEN : building.brief ? 0 : MEMBERS_SHOWN);
  const shown = members.slice(from, to);
  const memberOf = { ...building, brief: true };
  const failed = queries.filter(({ error }) => error !== null);
  const anchor = id.startsWith('r') ? `g${id.slice(1)}` : null;
  return {
    id,
    anchor: anchor === null || building.explained.has(anchor) ? null : anchor,
    failed: failed.length,
    error: failed[0]?.error ?? null,
    number: numbersOf(members),
    tokens: joinTokens(lineOf(queries[0]?.statement ?? 0)),
    badge,
    count: members.length,
    durationMs: queries.reduce((total, { durationMs }) => total + (durationMs ?? 0), 0),
    rows: rows.length === 0 ? null : rows.reduce((total, count) => total + count, 0),
    caller: callers.size === 1 ? ([...callers][0] ?? null) : null,
    transaction: marks.size === 1 ? (transactions.get(members[0] ?? 0) ?? null) : null,
    members: shown.map((index) => queryRow(memberOf, index)),
    more: Math.max(0, members.length - to),
    earlier: from,
    openHref: hrefOf(id),
    nextHref: hrefOf(id, open ? to : 0),
    open,
  };
}

/** Characters of a member of a group on the page, roughly. */
const MEMBER_COST = 400;

/** A row before it is built: only the rows of one page are. */
export interface RowPlan {
  members: readonly number[];
  id: string | null;
  badge: GroupRow['badge'];
}

function single(index: number): RowPlan {
  return { members: [index], id: null, badge: null };
}

/** In the order of running; a group stands where its first member ran. */
export function planAsRun(data: DatabaseData): RowPlan[] {
  const plans: RowPlan[] = [];
  data.queries.forEach((query, index) => {
    const group = query.group === null ? undefined : data.groups[query.group];
    if (group === undefined) plans.push(single(index));
    else if (group.members[0] === index)
      plans.push({ members: group.members, id: `r${(query.group ?? 0) + 1}`, badge: badgeOf(group) });
  });
  return plans;
}

export function planByTime(data: DatabaseData): RowPlan[] {
  return data.queries
    .map(({ durationMs }, index) => ({ index, durationMs: durationMs ?? Infinity }))
    .sort((a, b) => b.durationMs - a.durationMs)
    .map(({ index }) => single(index));
}

export function planFailed(data: DatabaseData): RowPlan[] {
  return data.queries.flatMap(({ error }, index) => (error === null ? [] : [single(index)]));
}

/** One row per text, the one that took longest in all first. */
export function planByStatement(data: DatabaseData): RowPlan[] {
  const members = data.statements.map((): number[] => []);
  const total = data.statements.map(() => 0);
  data.queries.forEach(({ statement, durationMs }, index) => {
    members[statement]?.push(index);
    total[statement] = (total[statement] ?? 0) + (durationMs ?? 0);
  });
  return members
    .map((list, statement) => ({ list, statement }))
    .sort((a, b) => (total[b.statement] ?? 0) - (total[a.statement] ?? 0))
    .map(({ list, statement }) => ({ members: list, id: `t${statement + 1}`, badge: null }));
}

export function build(building: Building, { members, id, badge }: RowPlan): DatabaseRow {
  return id === null
    ? { query: queryRow(building, members[0] ?? 0) }
    : { group: groupRow(building, id, members, badge) };
}

function statementText(data: DatabaseData, index: number): string {
  return data.statements[data.queries[index]?.statement ?? 0]?.sql ?? '';
}

/** Characters that a row takes on the page, roughly: its frame and coloured statement, and with it values and lines. */
export function costOf(data: DatabaseData, { members, id }: RowPlan, brief: boolean): number {
  const [first = 0] = members;
  const text = statementText(data, first);
  const { length } = text;
  // Written as an entity each; most stand round plain names and are left out.
  const quotes = text.slice(0, LINE_LENGTH).split('"').length - 1;
  const bindings = data.queries[first]?.bindings ?? [];
  const line = 560 + Math.min(length, LINE_LENGTH) * 1.8 + quotes * 2.5 + Math.min(bindings.length, 8) * 24;
  if (id !== null) return line + 240 + (brief ? 0 : Math.min(members.length, MEMBERS_SHOWN) * MEMBER_COST);
  if (brief) return line;
  const values = JSON.stringify(bindings).length;
  return line + 800 + Math.min(length, STATEMENT_LENGTH) * 2.2 + bindings.length * 150 + values * 2;
}

/** The same of a row that was asked for by itself. */
export function openCostOf(data: DatabaseData, row: RowPlan): number {
  if (row.id === null) return costOf(data, row, false);
  return costOf(data, row, true) + Math.min(row.members.length, MEMBERS_OPEN) * MEMBER_COST;
}

export function matches(data: DatabaseData, { members }: RowPlan, text: string): boolean {
  const [first = 0] = members;
  if (statementText(data, first).toLowerCase().includes(text)) return true;
  return members.some((index) => {
    const { caller, error, bindings } = data.queries[index] ?? { caller: null, error: null, bindings: [] };
    const values = bindings.map(({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)));
    return [caller ?? '', error ?? '', ...values].some((part) => part.toLowerCase().includes(text));
  });
}
