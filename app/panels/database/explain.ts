/** Which recorded statements can be explained again, and the statements that do it. */
import type { Json } from '../../profiler/json.ts';
import type { StatementToPlan } from '../../profiler/read/query-plan.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import { aboutStatement } from '../shared/about-statement.ts';
import { sqlTokens } from '../shared/sql-tokens.ts';
import { hexOf, isWholeBinding } from '../shared/sql-values.ts';
import { labelOf, namedPlaceholders } from '../shared/statements.ts';
import type { DatabaseQuery, KeptDatabase } from './data.ts';
import { CUT_NOTE } from '../../profiler/record/plain.ts';

const MOST_LISTED = 100;
const SYSTEMS = new Set(['postgresql', 'mysql', 'sqlite']);
const CAN_BE_PLANNED =
  /^\s*(?:(?:--[^\n]*\n|\/\*[^*]*\*\/)\s*)*(?:select|insert|update|delete|with|replace)\b/i;
/** Anything after a semicolon, even inside a literal: a driver that takes several statements would run it. */
const MAY_BE_SEVERAL = /;\s*\S/;
/** What a connection can be set to that changes what a statement means. */
const SETTING = /^\s*set\s+(?:session\s+|local\s+)?((?:search_path|role)\b[^;]*);?\s*$/i;

type Given = Pick<KeptDatabase, 'queries' | 'statements'>;

function canBePlanned({ statements }: Given, { statement, connection }: DatabaseQuery): boolean {
  const { sql = '', system = '' } = statements[statement] ?? {};
  return connection !== null && SYSTEMS.has(system) && CAN_BE_PLANNED.test(sql);
}

export function plannable(data: Given): { index: number; text: string }[] {
  const slowest = new Map<number, number>();
  data.queries.forEach((query, index) => {
    const known = data.queries[slowest.get(query.statement) ?? -1];
    if (canBePlanned(data, query) && (known?.durationMs ?? -1) < (query.durationMs ?? 0))
      slowest.set(query.statement, index);
  });
  return [...slowest.values()].slice(0, MOST_LISTED).map((index) => {
    const { sql = '', system } = data.statements[data.queries[index]?.statement ?? -1] ?? {};
    return { index, text: `${index + 1}: ${labelOf(sql, system)}` };
  });
}

function bigintOf(value: Json): unknown {
  return typeof value === 'string' ? BigInt(value.replace(/n$/, '')) : value;
}

function driverValue({ value, type }: DatabaseQuery['bindings'][number]): unknown {
  if (type === 'undefined') return null;
  if (type === 'bytes') return Buffer.from(hexOf(value) ?? '', 'hex');
  if (type === 'number') return Number(value);
  if (type === 'bigint') return bigintOf(value);
  return type === 'bigints' && Array.isArray(value) ? value.map(bigintOf) : value;
}

function settingsOf({ queries, statements }: Given, at: number): string[] {
  const connection = queries[at]?.connection;
  return queries.slice(0, at).flatMap((query) => {
    const sql = statements[query.statement]?.sql ?? '';
    const isOfIt = query.connection === connection && query.bindings.length === 0 && !isMasked(sql);
    const [, what] = isOfIt ? (SETTING.exec(sql) ?? []) : [];
    return what === undefined ? [] : [`set local ${what}`];
  });
}

/** Functions whose effect a rollback does not take back, or that only wait. */
const OUTLIVES =
  /\b(?:pg_\w*(?:advisory|terminate|cancel|reload|switch|promote|rotate|sleep|logical|replication)\w*|dblink\w*|lo_\w+|get_lock|release_(?:all_locks|lock)|sleep|benchmark|load_file)\s*\(/i;

function canBeRun(sql: string, system: string): boolean {
  const read = aboutStatement(sql, system).read;
  return (
    system !== 'sqlite' &&
    read?.verb === 'select' &&
    !read.isLocking &&
    !/\binto\b/i.test(sql) &&
    !OUTLIVES.test(sql)
  );
}

export function statementToPlan(
  data: Given,
  index: number,
  analyze: boolean,
): (StatementToPlan & { connection: string }) | string {
  const query = data.queries[index];
  const { sql = '', system = '' } = data.statements[query?.statement ?? -1] ?? {};
  if (query === undefined || query.connection === null || !canBePlanned(data, query))
    return 'This statement has no query plan.';
  if (isMasked(sql) || CUT_NOTE.test(sql) || MAY_BE_SEVERAL.test(sql))
    return 'Part of its text is masked or truncated, or it may be several statements.';
  const isWhole = query.bindings.every(isWholeBinding);
  if (analyze && !(isWhole && canBeRun(sql, system)))
    return 'Measuring runs the statement again. Only a single SELECT in PostgreSQL, MySQL or MariaDB is run again, if all its values are known and it calls no function that locks, waits or ends sessions.';
  return {
    connection: query.connection,
    system,
    sql,
    values: query.bindings.map((binding) => (isWhole ? driverValue(binding) : null)),
    isGeneric: !isWhole,
    names: namedPlaceholders(sqlTokens(sql, system)),
    analyze,
    settings: settingsOf(data, index),
  };
}
