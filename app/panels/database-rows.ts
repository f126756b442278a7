/**
 * Rows of the database page: plans first (which queries, in which order, what they cost in characters), then the rows of
 * the one page that is shown.
 */
import type { DatabaseData, DatabaseGroup, DatabaseQuery } from './database.ts';
import { joinTokens, sqlLines, type SqlToken, sqlTokens } from './shared/sql-tokens.ts';
import { runnableSql } from './shared/statements.ts';

export interface QueryRow {
  id: string;
  /** Position in the order of running: `5`, or `5–22` for a group. */
  number: string;
  tokens: SqlToken[];
  query: DatabaseQuery;
  slow: boolean;
  badge: { text: string; tone: 'bad' | 'warn' | 'plain' } | null;
  /** Statement with its values, in lines; cut. */
  lines: { tokens: SqlToken[] }[];
  /** Characters of the statement that are not shown. */
  cut: number;
  /** What differs from the others of its group: `id = 311`. */
  differs: string;
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
  badge: { text: string; tone: 'bad' | 'warn' | 'plain' } | null;
  count: number;
  durationMs: number;
  rows: number | null;
  caller: string | null;
  members: QueryRow[];
  /** Members beyond those shown. */
  more: number;
  /** Where all members are shown. */
  openHref: string;
  open: boolean;
}

export type DatabaseRow = { query: QueryRow; group?: undefined } | { group: GroupRow; query?: undefined };

const LINE_LENGTH = 240;
const STATEMENT_LENGTH = 3000;
const MEMBERS_SHOWN = 8;

export const groupLabels = { 'n+1': 'N+1', loop: 'loop', duplicate: 'duplicate' } as const;
const tones = { 'n+1': 'bad', loop: 'warn', duplicate: 'plain' } as const;

/** For a row: quotes that Knex puts round every name say nothing there. */
function oneLine(sql: string): SqlToken[] {
  const text = sql.length > LINE_LENGTH ? `${sql.slice(0, LINE_LENGTH)}…` : sql;
  const tokens = sqlTokens(text.replace(/\s+/g, ' ').trim());
  return joinTokens(
    tokens.map(([kind, part]): SqlToken => [
      kind,
      /^"[a-z_][a-z0-9_]*"$/.test(part) ? part.slice(1, -1) : part,
    ]),
  );
}

function badgeOf({ kind, members }: DatabaseGroup): QueryRow['badge'] {
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
  /** The statement of this index in a line. */
  lineOf: (statement: number) => SqlToken[];
  /** Names of the bindings that differ within the group of this index. */
  differingIn: (group: number) => string[];
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
  return {
    lineOf: remembered((statement) => oneLine(data.statements[statement]?.sql ?? '')),
    differingIn: remembered((group) => {
      const found = data.groups[group];
      return found === undefined ? [] : differingNames(data, found);
    }),
  };
}

export interface Building extends SharedParts {
  data: DatabaseData;
  slowMs: number;
  /** Rows without statement and values: there are too many. */
  brief: boolean;
  /** Id of the row that was asked for. */
  open: string;
  /** Groups that are explained above the list. */
  explained: ReadonlySet<string>;
  hrefOf: (id: string) => string;
}

function queryRow(building: Building, index: number): QueryRow {
  const { data, slowMs, hrefOf, lineOf, differingIn } = building;
  const query = data.queries[index];
  if (query === undefined) throw new RangeError(`There is no query ${index}.`);
  const sql = data.statements[query.statement]?.sql ?? '';
  const group = query.group === null ? undefined : data.groups[query.group];
  const names = query.group === null ? [] : differingIn(query.group);
  const shown = sql.slice(0, STATEMENT_LENGTH);
  const id = `q${index + 1}`;
  const open = building.open === id;
  const whole = open || !building.brief;
  return {
    id,
    number: String(index + 1),
    tokens: lineOf(query.statement),
    query,
    slow: query.durationMs !== null && query.durationMs >= slowMs,
    badge: group === undefined ? null : badgeOf(group),
    lines: whole ? linesOf(shown, query) : [],
    cut: sql.length - shown.length,
    differs: query.bindings
      .filter(({ name }) => names.includes(name))
      .map(({ name, value }) => `${name} = ${textOf(value)}`)
      .join(', '),
    openHref: whole ? null : hrefOf(id),
    open,
  };
}

function linesOf(sql: string, { bindings }: DatabaseQuery): { tokens: SqlToken[] }[] {
  const values = bindings.map(({ value }) => value);
  return sqlLines(runnableSql(sql, values)).map((tokens) => ({ tokens }));
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
  badge: QueryRow['badge'],
): GroupRow {
  const { data, hrefOf, lineOf } = building;
  const queries = members.map((index) => data.queries[index]).filter((query) => query !== undefined);
  const rows = queries.map((query) => query.rows).filter((count) => count !== null);
  const callers = new Set(queries.map(({ caller }) => caller));
  const open = building.open === id;
  const shown = members.slice(0, open ? members.length : building.brief ? 0 : MEMBERS_SHOWN);
  const memberOf = { ...building, brief: true };
  const failed = queries.filter(({ error }) => error !== null);
  const anchor = id.startsWith('r') ? `g${id.slice(1)}` : null;
  return {
    id,
    anchor: anchor === null || building.explained.has(anchor) ? null : anchor,
    failed: failed.length,
    error: failed[0]?.error ?? null,
    number: numbersOf(members),
    tokens: lineOf(queries[0]?.statement ?? 0),
    badge,
    count: members.length,
    durationMs: queries.reduce((total, { durationMs }) => total + (durationMs ?? 0), 0),
    rows: rows.length === 0 ? null : rows.reduce((total, count) => total + count, 0),
    caller: callers.size === 1 ? ([...callers][0] ?? null) : null,
    members: shown.map((index) => queryRow(memberOf, index)),
    more: members.length - shown.length,
    openHref: hrefOf(id),
    open,
  };
}

/** A row before it is built: only the rows of one page are. */
export interface Plan {
  members: readonly number[];
  id: string | null;
  badge: QueryRow['badge'];
}

/** In the order of running; a group stands where its first member ran. */
export function planAsRun(data: DatabaseData): Plan[] {
  const plans: Plan[] = [];
  data.queries.forEach((query, index) => {
    const group = query.group === null ? undefined : data.groups[query.group];
    if (group === undefined) plans.push({ members: [index], id: null, badge: null });
    else if (group.members[0] === index)
      plans.push({ members: group.members, id: `r${(query.group ?? 0) + 1}`, badge: badgeOf(group) });
  });
  return plans;
}

export function planByTime(data: DatabaseData): Plan[] {
  return data.queries
    .map(({ durationMs }, index) => ({ index, durationMs: durationMs ?? Infinity }))
    .sort((a, b) => b.durationMs - a.durationMs)
    .map(({ index }) => ({ members: [index], id: null, badge: null }));
}

/** One row per text, the one that took longest in all first. */
export function planByStatement(data: DatabaseData): Plan[] {
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

export function build(building: Building, { members, id, badge }: Plan): DatabaseRow {
  return id === null
    ? { query: queryRow(building, members[0] ?? 0) }
    : { group: groupRow(building, id, members, badge) };
}

function statementText(data: DatabaseData, index: number): string {
  return data.statements[data.queries[index]?.statement ?? 0]?.sql ?? '';
}

/** Characters that a row takes on the page, roughly: its frame and coloured statement, and with it values and lines. */
export function costOf(data: DatabaseData, { members, id }: Plan, brief: boolean): number {
  const [first = 0] = members;
  const length = statementText(data, first).length;
  const line = 560 + Math.min(length, LINE_LENGTH) * 1.8;
  if (id !== null) return line + 240 + (brief ? 0 : Math.min(members.length, MEMBERS_SHOWN) * 330);
  if (brief) return line;
  const bindings = data.queries[first]?.bindings.length ?? 0;
  return line + 800 + Math.min(length, STATEMENT_LENGTH) * 2.2 + bindings * 110;
}

export function matches(data: DatabaseData, { members }: Plan, text: string): boolean {
  const [first = 0] = members;
  const caller = data.queries[first]?.caller ?? '';
  return `${statementText(data, first)}\n${caller}`.toLowerCase().includes(text);
}
