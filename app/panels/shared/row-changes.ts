/** Two reads of one row around a write: columns that changed although the write doesn't name them, as by REPLACE, a trigger or a cascade. */
import type { Json } from '../../profiler/json.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import type { DatabaseQuery, KeptDatabase } from '../database/data.ts';
import { aboutStatement } from './about-statement.ts';
import { foundRows } from './found-rows.ts';
import { rowTouched } from './row-touched.ts';
import { isWriting } from './statements.ts';

type Database = Pick<KeptDatabase, 'queries' | 'statements'>;

export interface UnnamedChanges {
  /** Index of the read before. */
  since: number;
  /** Index of the last write between. */
  write: number;
  /** `insured 1 → 0` */
  texts: string[];
}

const LONGEST = 40;
/** A database or an ORM sets them by itself. */
const BY_ITSELF = /(?:^|_)(?:version|modified|changed|updated|xmin|rowversion|lsn|search|tsv)|_at$|At$/i;

function statementOf({ statements }: Database, { statement }: DatabaseQuery) {
  return statements[statement] ?? { sql: '', system: undefined };
}

/** A read of one row that its text tells, and that found it. */
function rowReadBy(database: Database, query: DatabaseQuery): Record<string, Json> | null {
  const { sql, system } = statementOf(database, query);
  const row = query.rows === 1 ? rowTouched(sql, query.bindings, system) : null;
  return row === null || row.does !== 'read' || row.hasMore ? null : (foundRows(query)[0] ?? null);
}

/** The column under its own name; null for an expression. */
export function columnOf(name: string, sources: ReadonlyMap<string, string>): string | null {
  const source = sources.get(name);
  return source === undefined ? name : (/^(?:\w+ \. )*(\w+)$/.exec(source)?.[1] ?? null);
}

function valueText(value: Json | undefined): string {
  const text =
    typeof value === 'string' && isMasked(value) ? 'another value' : (JSON.stringify(value) ?? 'none');
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

function tableOf(database: Database, query: DatabaseQuery): string | undefined {
  const { sql, system } = statementOf(database, query);
  return aboutStatement(sql, system).table;
}

function isSame(value: Json | undefined, other: Json | undefined): boolean {
  return value === other || (typeof value === 'object' && JSON.stringify(value) === JSON.stringify(other));
}

/** The same statement with the same values. */
function isAskedAgain(database: Database, one: DatabaseQuery, query: DatabaseQuery): boolean {
  return (
    one.bindings.length === query.bindings.length &&
    (one.statement === query.statement ||
      statementOf(database, one).sql === statementOf(database, query).sql) &&
    one.bindings.every(({ value }, at) => isSame(value, query.bindings[at]?.value))
  );
}

/** By the index of the later read; null: nothing changed that way. */
export function unnamedChanges(database: Database, index: number): UnnamedChanges | null {
  const { queries } = database;
  const query = queries[index];
  const row = query === undefined ? null : rowReadBy(database, query);
  if (query === undefined || row === null) return null;
  const { sql, system } = statementOf(database, query);
  const since = queries.findLastIndex((one, at) => at < index && isAskedAgain(database, one, query));
  const before = since === -1 ? null : rowReadBy(database, queries[since] ?? query);
  if (before === null) return null;
  const table = tableOf(database, query);
  const writes = queries.flatMap((one, at) => {
    const isBetween = at > since && at < index && one.error === null && one.rows !== 0;
    return isBetween && isWriting(statementOf(database, one).sql) ? [{ one, at }] : [];
  });
  const write = writes.findLast(({ one }) => tableOf(database, one) === table)?.at;
  if (write === undefined) return null;
  const written = writes.map(({ one }) => statementOf(database, one).sql).join('\n');
  const { sources } = aboutStatement(sql, system);
  const texts = Object.entries(row).flatMap(([name, is]) => {
    const column = columnOf(name, sources);
    const was = before[name];
    if (column === null || JSON.stringify(was) === JSON.stringify(is) || BY_ITSELF.test(column)) return [];
    return new RegExp(`\\b${column.replace(/\W/g, '.')}\\b`, 'i').test(written)
      ? []
      : [`${name.slice(0, LONGEST)} ${valueText(was)} → ${valueText(is)}`];
  });
  return texts.length === 0 ? null : { since, write, texts };
}
