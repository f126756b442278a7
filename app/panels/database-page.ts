/**
 * What the page of the database panel shows: rows in the asked order, groups folded to one row, colours, the statement
 * with its values in place. Made when the page is asked for, from stored and masked data only.
 */
import type { PanelPage } from '../profiler/panel.ts';
import type { DatabaseData, DatabaseGroup, DatabaseQuery } from './database.ts';
import { addressOf, PAGE_BUDGET, type Page, pageOf } from './shared/rows.ts';
import { joinTokens, sqlLines, type SqlToken, sqlTokens } from './shared/sql-tokens.ts';
import { runnableSql } from './shared/statements.ts';

export const ORDERS = { run: 'As run', time: 'Slowest first', statement: 'Grouped by statement' } as const;
type Order = keyof typeof ORDERS;

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

/** An N+1 as the page explains it, above the list. */
export interface GroupCard {
  id: string;
  label: string;
  tone: 'bad' | 'warn';
  count: number;
  /** Columns whose values differ. */
  differs: string[];
  tokens: SqlToken[];
  caller: string | null;
  durationMs: number;
  bars: number[];
  slowestMs: number;
  medianMs: number;
  /** One read that may stand for all; null where the statement does not show it. */
  instead: { tokens: SqlToken[] }[] | null;
}

const LINE_LENGTH = 240;
const STATEMENT_LENGTH = 3000;
const MEMBERS_SHOWN = 8;
const CARDS_SHOWN = 3;
const BARS_SHOWN = 60;

const labels = { 'n+1': 'N+1', loop: 'loop', duplicate: 'duplicate' } as const;
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
  return { text: `${labels[kind]} × ${members.length}`, tone: tones[kind] };
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

interface Building {
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
  const { data, slowMs, hrefOf } = building;
  const query = data.queries[index];
  if (query === undefined) throw new RangeError(`There is no query ${index}.`);
  const sql = data.statements[query.statement]?.sql ?? '';
  const group = query.group === null ? undefined : data.groups[query.group];
  const names = group === undefined ? [] : differingNames(data, group);
  const shown = sql.slice(0, STATEMENT_LENGTH);
  const id = `q${index + 1}`;
  const open = building.open === id;
  const whole = open || !building.brief;
  return {
    id,
    number: String(index + 1),
    tokens: oneLine(sql),
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
  const { data, hrefOf } = building;
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
    tokens: oneLine(data.statements[queries[0]?.statement ?? 0]?.sql ?? ''),
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
interface Plan {
  members: readonly number[];
  id: string | null;
  badge: QueryRow['badge'];
}

/** In the order of running; a group stands where its first member ran. */
function planAsRun(data: DatabaseData): Plan[] {
  const plans: Plan[] = [];
  data.queries.forEach((query, index) => {
    const group = query.group === null ? undefined : data.groups[query.group];
    if (group === undefined) plans.push({ members: [index], id: null, badge: null });
    else if (group.members[0] === index)
      plans.push({ members: group.members, id: `r${(query.group ?? 0) + 1}`, badge: badgeOf(group) });
  });
  return plans;
}

function planByTime(data: DatabaseData): Plan[] {
  return data.queries
    .map(({ durationMs }, index) => ({ index, durationMs: durationMs ?? Infinity }))
    .sort((a, b) => b.durationMs - a.durationMs)
    .map(({ index }) => ({ members: [index], id: null, badge: null }));
}

/** One row per text, the one that took longest in all first. */
function planByStatement(data: DatabaseData): Plan[] {
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

function build(building: Building, { members, id, badge }: Plan): DatabaseRow {
  return id === null
    ? { query: queryRow(building, members[0] ?? 0) }
    : { group: groupRow(building, id, members, badge) };
}

/** `where id = $1 limit $2` -> `where id = any($1)`; null where nothing as plain as that is there. */
function readInstead(sql: string, column: string, count: number): { tokens: SqlToken[] }[] | null {
  const pattern = new RegExp(`("?${column.replace(/\W/g, '\\$&')}"?\\s*=\\s*)(\\$\\d+)`);
  if (sql.length > 1000 || !pattern.test(sql)) return null;
  const changed = sql.replace(pattern, '$1any($2)').replace(/\s+limit\s+(?:\$\d+|1)\s*;?$/i, '');
  const lines = sqlLines(changed).map((tokens) => ({ tokens }));
  lines.at(-1)?.tokens.push(['c', `  -- ${count} values`]);
  return lines;
}

function cardOf(data: DatabaseData, group: DatabaseGroup, at: number): GroupCard {
  const durations = group.members.map((index) => data.queries[index]?.durationMs ?? 0);
  const sorted = [...durations].sort((a, b) => a - b);
  const differs = differingNames(data, group);
  const sql = data.statements[group.statement]?.sql ?? '';
  const [only] = differs;
  return {
    id: `g${at + 1}`,
    label: labels[group.kind],
    tone: group.kind === 'n+1' ? 'bad' : 'warn',
    count: group.members.length,
    differs,
    tokens: oneLine(sql),
    caller: group.caller,
    durationMs: group.durationMs,
    bars: durations.slice(0, BARS_SHOWN),
    slowestMs: sorted.at(-1) ?? 0,
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0,
    instead:
      group.kind === 'n+1' && differs.length === 1 && only !== undefined
        ? readInstead(sql, only, group.members.length)
        : null,
  };
}

function statementText(data: DatabaseData, index: number): string {
  return data.statements[data.queries[index]?.statement ?? 0]?.sql ?? '';
}

/** Characters that a row takes on the page, roughly: its frame and coloured statement, and with it values and lines. */
function costOf(data: DatabaseData, { members, id }: Plan, brief: boolean): number {
  const [first = 0] = members;
  const length = statementText(data, first).length;
  const line = 560 + Math.min(length, LINE_LENGTH) * 1.8;
  if (id !== null) return line + 240 + (brief ? 0 : Math.min(members.length, MEMBERS_SHOWN) * 330);
  if (brief) return line;
  const bindings = data.queries[first]?.bindings.length ?? 0;
  return line + 800 + Math.min(length, STATEMENT_LENGTH) * 2.2 + bindings * 110;
}

function matches(data: DatabaseData, { members }: Plan, text: string): boolean {
  const [first = 0] = members;
  const caller = data.queries[first]?.caller ?? '';
  return `${statementText(data, first)}\n${caller}`.toLowerCase().includes(text);
}

/** The first page where it holds the row that is asked for, else a page that begins with it. */
function fromOf(data: DatabaseData, plans: readonly Plan[], open: string): string {
  const at = plans.findIndex(({ members, id }) => (id ?? `q${(members[0] ?? 0) + 1}`) === open);
  let spent = 0;
  for (const plan of plans.slice(0, Math.max(0, at))) spent += costOf(data, plan, true);
  return spent > PAGE_BUDGET - 4000 ? String(at) : '0';
}

export function presentDatabase(data: DatabaseData, { query, slowMs }: PanelPage & { slowMs: number }) {
  const order: Order = query.order === 'time' || query.order === 'statement' ? query.order : 'run';
  const find = (query.find ?? '').slice(0, 200);
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('database', { order: order === 'run' ? null : order, find, ...changes });
  const plans = { run: planAsRun, time: planByTime, statement: planByStatement }[order](data);
  const found = find === '' ? plans : plans.filter((plan) => matches(data, plan, find.toLowerCase()));
  const brief = found.reduce((sum, plan) => sum + costOf(data, plan, false), 0) > PAGE_BUDGET;
  const open = query.open ?? '';
  const asked = { ...query, from: query.from ?? fromOf(data, found, open) };
  const planned = pageOf(found, { query: asked, cost: (plan) => costOf(data, plan, brief) });
  const cards = data.groups
    .map((group, at) => ({ group, at }))
    .filter(({ group }) => group.kind !== 'duplicate')
    .sort((a, b) => b.group.durationMs - a.group.durationMs);
  const shownCards = cards.slice(0, CARDS_SHOWN).map(({ group, at }) => cardOf(data, group, at));
  const building: Building = {
    data,
    slowMs,
    brief,
    open,
    explained: new Set(shownCards.map(({ id }) => id)),
    hrefOf: (id) => `${link({ from: planned.from === 0 ? null : planned.from, open: id })}#${id}`,
  };
  const page: Page<DatabaseRow> = { ...planned, rows: planned.rows.map((plan) => build(building, plan)) };
  return {
    order,
    orders: Object.entries(ORDERS).map(([name, title]) => ({
      title,
      href: link({ order: name === 'run' ? null : name }),
      current: name === order,
    })),
    find,
    clear: link({ find: null }),
    page,
    nextHref: page.next === null ? null : link({ from: page.next }),
    firstHref: link({}),
    allHref: link({ all: 1 }),
    cards: shownCards,
    moreCards: Math.max(0, cards.length - CARDS_SHOWN),
    slowestMs: Math.max(0, ...data.queries.map(({ durationMs }) => durationMs ?? 0)),
  };
}
