/**
 * Runs `EXPLAIN` of one statement on a connection, and returns its plan: in a read-only transaction that is rolled back, with timeouts.
 * The driver is called directly, so that nothing is recorded. Values are bound, never written into the text.
 */
import { promisify } from 'node:util';
import type { PlanNode, PlanOutcome, StatementToPlan } from '../../profiler/read/query-plan.ts';
import { isRecord } from '../../profiler/json.ts';
import { describeError } from '../../profiler/record/thrown-value.ts';
import {
  createValueRemover,
  type ParsedPlan,
  parseMariadbPlan,
  parseMysqlPlan,
  parsePlan,
  parseSqlitePlan,
  nodesOf,
} from './explain-plan.ts';
import { epochMs } from '../../profiler/record/clock.ts';

export interface ExplainedStatement extends StatementToPlan {
  statementMs: number;
  lockMs: number;
}

interface PgConnection {
  query(
    query: string | { text: string; values: readonly unknown[]; queryMode: 'extended' },
  ): Promise<{ rows?: unknown[] }>;
}
interface MysqlConnection {
  query(sql: string, values: readonly unknown[], done: (error: Error | null, rows: unknown) => void): unknown;
}
interface SqliteConnection {
  prepare?(sql: string): { all(...values: unknown[]): unknown };
  /** Of `sqlite3`, whose `prepare` is another one. */
  all?(sql: string, values: readonly unknown[], done: (error: Error | null, rows: unknown) => void): unknown;
}

const PREPARED = 'hindsight_plan';
const TABLES = `select n.nspname || '.' || c.relname as name, c.reltuples::float8 as rows
  from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
  where n.nspname || '.' || c.relname = any($1::text[]) and c.reltuples >= 0`;

export function problem(sentence: string): { problem: string } {
  return { problem: sentence };
}

async function tablesOf(connection: PgConnection, root: PlanNode): Promise<Record<string, number>> {
  const names = [...new Set(nodesOf(root).flatMap(({ relation }) => relation ?? []))];
  if (names.length === 0) return {};
  const { rows = [] } = await connection.query({ text: TABLES, values: [names], queryMode: 'extended' });
  return Object.fromEntries(
    (rows as { name: string; rows: number }[]).map(({ name, rows: count }) => [name, count]),
  );
}

function outcomeOf(
  parsed: ParsedPlan | null,
  { isGeneric, analyze }: ExplainedStatement,
  tables: Record<string, number> = {},
): PlanOutcome {
  if (parsed === null) return problem('The database returned no plan.');
  return {
    plannedAt: epochMs(),
    root: parsed.root,
    tables,
    ...(parsed.dropped === 0 ? {} : { dropped: parsed.dropped }),
    ...(isGeneric === true ? { isGeneric: true as const } : {}),
    ...(analyze === true ? { isAnalyzed: true as const } : {}),
  };
}

async function onPostgres(connection: PgConnection, statement: ExplainedStatement): Promise<PlanOutcome> {
  const { sql, values, isGeneric, analyze, settings = [], statementMs, lockMs } = statement;
  await connection.query(
    `begin read only; set local statement_timeout = ${statementMs}; set local lock_timeout = ${lockMs}`,
  );
  try {
    for (const setting of settings) await connection.query(setting);
    const how = `explain (${analyze === true ? 'analyze, ' : ''}format json, verbose)`;
    if (isGeneric === true)
      await connection.query(`set local plan_cache_mode = force_generic_plan; prepare ${PREPARED} as ${sql}`);
    // The extended protocol allows one statement.
    const { rows } = await connection.query(
      isGeneric === true
        ? `${how} execute ${PREPARED}${values.length === 0 ? '' : `(${values.map(() => 'null').join(', ')})`}`
        : { text: `${how} ${sql}`, values, queryMode: 'extended' },
    );
    const answer = (rows?.[0] as { 'QUERY PLAN'?: unknown } | undefined)?.['QUERY PLAN'];
    const parsed = parsePlan(answer, createValueRemover(sql, values));
    return outcomeOf(parsed, statement, parsed === null ? {} : await tablesOf(connection, parsed.root));
  } finally {
    await connection.query('rollback');
    // A prepared statement outlives its transaction, if it was made at all.
    if (isGeneric === true) await connection.query(`deallocate ${PREPARED}`).catch(() => undefined);
  }
}

async function asked(
  connection: MysqlConnection,
  sql: string,
  values: readonly unknown[] = [],
): Promise<unknown[]> {
  const query = promisify<string, readonly unknown[], unknown>(connection.query.bind(connection));
  const rows = await query(sql, values);
  return Array.isArray(rows) ? (rows as unknown[]) : [];
}

function firstText(rows: readonly unknown[]): string {
  const [row] = rows;
  const [first] = isRecord(row) ? Object.values(row) : [];
  return typeof first === 'string' ? first : '';
}

async function onMysql(connection: MysqlConnection, statement: ExplainedStatement): Promise<PlanOutcome> {
  const { sql, values, isGeneric, analyze, statementMs } = statement;
  if (isGeneric === true)
    return problem('MySQL and MariaDB plan no statement without its values, and some of them are masked');
  const isMariadb = /mariadb/i.test(firstText(await asked(connection, 'select version()')));
  const clean = createValueRemover(sql, values);
  await asked(connection, 'start transaction read only');
  try {
    if (isMariadb) {
      const how =
        analyze === true ? `set statement max_statement_time=${statementMs / 1000} for analyze` : 'explain';
      return outcomeOf(
        parseMariadbPlan(firstText(await asked(connection, `${how} format=json ${sql}`, values)), clean),
        statement,
      );
    }
    const limited = sql.replace(
      /^\s*select\b/i,
      (word) => `${word} /*+ MAX_EXECUTION_TIME(${statementMs}) */`,
    );
    const text = analyze === true ? `explain analyze ${limited}` : `explain format=tree ${sql}`;
    return outcomeOf(parseMysqlPlan(firstText(await asked(connection, text, values)), clean), statement);
  } finally {
    await asked(connection, 'rollback');
  }
}

async function onSqlite(connection: SqliteConnection, statement: ExplainedStatement): Promise<PlanOutcome> {
  const { sql, values, names = null } = statement;
  const given: readonly unknown[] =
    names === null ? values : [Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]))];
  const text = `explain query plan ${sql}`;
  const all = connection.all?.bind(connection);
  const rows =
    all === undefined
      ? connection.prepare?.(text).all(...given)
      : await promisify<string, readonly unknown[], unknown>(all)(text, names === null ? given : []);
  return outcomeOf(parseSqlitePlan(rows, createValueRemover(sql, values)), statement);
}

const RUNS: Readonly<
  Record<string, (connection: never, statement: ExplainedStatement) => Promise<PlanOutcome>>
> = {
  postgresql: onPostgres,
  mysql: onMysql,
  sqlite: onSqlite,
};

export async function explainOn(connection: object, statement: ExplainedStatement): Promise<PlanOutcome> {
  try {
    return (
      (await RUNS[statement.system]?.(connection as never, statement)) ??
      problem('There is no EXPLAIN for this database')
    );
  } catch (error) {
    const { message } = describeError(error);
    return problem(`EXPLAIN failed: ${message.slice(0, 300)}`);
  }
}
