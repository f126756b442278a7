/** Helpers of rules that read the database panel. */
import { isControl, rollsBack } from '../../profiler/transaction-sql.ts';
import type { ReadStatement } from '../../panels/shared/read-statement.ts';
import { pick } from '../../panels/shared/rows.ts';
import { aboutStatement, labelOfStatement } from '../../panels/shared/about-statement.ts';
import { isWriting } from '../../panels/shared/statements.ts';
import type { FindingDraft } from '../../profiler/read/finding-rule.ts';
import { type Database, endOf, type Query } from './kept.ts';
import { addTo } from '../../profiler/group-by.ts';
import type { Json } from '../../profiler/json.ts';

export { PRIMARY } from '../../panels/shared/primary-key.ts';

export function readOf(
  { statements }: Database,
  { statement }: Pick<Query, 'statement'>,
): ReadStatement | null {
  const { sql = '', system } = statements[statement] ?? {};
  return aboutStatement(sql, system).read;
}

export interface Read {
  query: Query;
  index: number;
  read: ReadStatement;
}

/** Of the queries of a profile, for all rules. */
const known = new WeakMap<Database['queries'], readonly Read[]>();

/** None of a request without a database. */
export function readsOf(database: Database | undefined): readonly Read[] {
  if (database === undefined) return [];
  const before = known.get(database.queries);
  if (before !== undefined) return before;
  const reads = database.queries.flatMap((query, index) => {
    const found = query.error === null ? readOf(database, query) : null;
    return found === null ? [] : [{ query, index, read: found }];
  });
  known.set(database.queries, reads);
  return reads;
}

export function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

export function isWrite({ read }: Read): boolean {
  return read.verb === 'insert' || read.verb === 'update';
}

const JOINS = /\b(?:(?:left|inner|right|full|outer) )*join .*?(?= where | group | order | limit |;|$)/i;

/** Whether another statement has all joins of this one, written the same. */
export function hasJoinsOf(sql: string, other: string): boolean {
  const joins = JOINS.exec(sql)?.[0].toLowerCase();
  return joins !== undefined && other.toLowerCase().includes(joins);
}

/** An INSERT that skips rows that are there. */
export const LEAVES_AS_IS = /\bon conflict\b[^;]*? do nothing\b|\binsert (?:or )?ignore\b/i;

/** A finding about a statement, of a failure that the response does not show. */
export function draftAt(
  { query, index }: Omit<Read, 'read'>,
  sentence: string,
  severity: FindingDraft['severity'],
): FindingDraft {
  const place = query.caller;
  return { broke: 'unseen', severity, sentence, panel: 'database', anchor: rowOf(index), place };
}

export function sqlOf({ statements }: Database, { statement }: Query): string {
  return statements[statement]?.sql ?? '';
}

/** The runs of the statement with this text. */
export function runsOf(database: Database | undefined, sql: string): Query[] {
  return database?.queries.filter((query) => sqlOf(database, query) === sql) ?? [];
}

/** Bound, or in quotes in its text, as some ORMs write it. */
export function hasValue(database: Database, query: Query, value: string): boolean {
  return (
    query.bindings.some((one) => textOf(one.value) === value) || sqlOf(database, query).includes(`'${value}'`)
  );
}

/** A text of the statement in which names have no quotes, for patterns. */
export function plainSql(database: Database, query: Query): string {
  return sqlOf(database, query).replace(/["`]/g, '').replace(/\s+/g, ' ').trim();
}

/** All tables that it reads, in lower case. */
export function tablesOf(database: Database, query: Query): Set<string> {
  const sql = sqlOf(database, query)
    .replace(/'(?:[^']|'')*'/g, "''")
    .replace(/["`]/g, '');
  return new Set(
    Array.from(sql.matchAll(/\b(?:from|join)\s+(?:\w+\.)?(\w+)/gi), ([, table]) =>
      (table ?? '').toLowerCase(),
    ),
  );
}

export function labelOf({ statements }: Database, { statement }: Pick<Query, 'statement'>): string {
  const found = statements[statement];
  return found === undefined ? '' : labelOfStatement(found);
}

export function rowOf(index: number): string {
  return `q${index + 1}`;
}

type StatementKind = 'read' | 'write' | 'control';

export function kindOf(database: Database, query: Query): StatementKind {
  const sql = sqlOf(database, query);
  if (sql === '' || isControl(sql)) return 'control';
  return isWriting(sql) ? 'write' : 'read';
}

const MANY_ROWS = 5000;

export function isLarge(database: Database, query: Query): boolean {
  return (query.rows ?? 0) >= MANY_ROWS && kindOf(database, query) === 'read';
}

/** How many of them do work. */
export function workOf(database: Database, queries: readonly Query[]): number {
  return queries.filter((query) => kindOf(database, query) !== 'control').length;
}

export interface Transaction {
  /** Indexes of its statements. */
  members: number[];
  sent: Query[];
  first: Query;
  last: Query;
}

export function transactionsOf({ queries }: Database): Transaction[] {
  const byName = new Map<string, number[]>();
  queries.forEach(({ transaction, connection }, index) => {
    if (transaction === null) return;
    addTo(byName, `${connection ?? ''} ${transaction}`, index);
  });
  return [...byName.values()].flatMap((members) => {
    const sent = pick(queries, members);
    const [first] = sent;
    const last = sent.at(-1);
    return first === undefined || last === undefined ? [] : [{ members, sent, first, last }];
  });
}

/**
 * It ran in no transaction, on another connection, after this statement of a transaction and before the last one. Of a statement that was
 * prepared before the profiler started, `node:sqlite` does not tell the connection.
 */
export function isBeside(query: Query, after: Query, last: Query): boolean {
  return (
    query.transaction === null &&
    query.instance === after.instance &&
    query.connection !== null &&
    query.connection !== after.connection &&
    query.startMs - query.waitMs >= endOf(after) &&
    endOf(query) <= last.startMs
  );
}

/** Writes that began and ended while the transaction was open, and don't belong to it. */
export function writesBeside(
  database: Database,
  { first, last }: Pick<Transaction, 'first' | 'last'>,
): Query[] {
  return database.queries.filter(
    (query) => query.error === null && isBeside(query, first, last) && kindOf(database, query) === 'write',
  );
}

export function rolledBack(database: Database): Transaction[] {
  return transactionsOf(database).filter(({ sent }) =>
    sent.some((query) => rollsBack(sqlOf(database, query))),
  );
}
