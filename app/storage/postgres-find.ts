/**
 * Searches profiles: returns a page of rows and the number of matches. Counting is limited in matches and time, because an exact count of
 * a million rows costs far more than the page. Beyond these limits the planner's estimate is returned and marked as an estimate.
 */
import { type Client, inTransaction, type Pool, quoted, withClient } from './pool.ts';
import type { ProfileIndex } from '../profiler/profile-index.ts';
import { type FindResult, MOST_COUNTED, type ProfileQuery } from '../profiler/storage.ts';
import { conditionOf, orderOf, type Condition } from './find-sql.ts';
import { pinsOf } from './pins.ts';
import { searchText } from './postgres-text.ts';
import { INDEX_COLUMNS, indexOfRow, type ProfileRow } from './rows.ts';
import { isCanceled } from './unavailable.ts';

/** Estimates from this number are not checked by counting: each match may cost the server a page, so 10,000 take 10 to 40 ms. */
const SURELY_MORE = 10 * MOST_COUNTED;
/** Timeout in milliseconds for counting, once the page was found. */
const COUNTING_MS = 100;

interface Plan {
  'QUERY PLAN': { Plan: { 'Node Type': string; 'Plan Rows': number } }[];
}

interface Search {
  /** Quoted for SQL. */
  schema: string;
  table: string;
  condition: Condition;
  query: ProfileQuery;
}

async function pageOf(client: Client, { table, condition, query }: Search): Promise<ProfileIndex[]> {
  const { sql, values } = condition;
  const [limit, offset] = [values.length + 1, values.length + 2];
  const found = await client.query(
    `select ${INDEX_COLUMNS.join(', ')} from ${table} where ${sql}
     order by ${orderOf(query)} limit $${limit} offset $${offset}`,
    [...values, query.limit, query.offset],
  );
  return (found.rows as ProfileRow[]).map(indexOfRow);
}

/** Counts up to MOST_COUNTED + 1; null if it takes too long. Must be the last statement of its transaction. */
async function countOf(client: Client, table: string, { sql, values }: Condition): Promise<number | null> {
  await client.query(`set local statement_timeout = ${COUNTING_MS}`);
  try {
    const counted = await client.query(
      `select count(*)::int as total from
         (select 1 from ${table} where ${sql} limit ${MOST_COUNTED + 1}) as matching`,
      values,
    );
    return (counted.rows as { total: number }[])[0]?.total ?? 0;
  } catch (error) {
    if (isCanceled(error)) return null;
    throw error;
  }
}

/** The planner's estimate, from the server's statistics; null if it has none, as of a table that Citus distributes. */
async function estimateOf(client: Client, table: string, { sql, values }: Condition): Promise<number | null> {
  const planned = await client.query(`explain (format json) select 1 from ${table} where ${sql}`, values);
  const plan = (planned.rows as Plan[])[0]?.['QUERY PLAN'][0]?.Plan;
  return plan === undefined || plan['Node Type'] === 'Custom Scan' ? null : Math.round(plan['Plan Rows']);
}

export async function findProfiles(
  pool: Pool,
  options: { schema: string; timeoutMs: number },
  query: ProfileQuery,
): Promise<FindResult> {
  const schema = quoted(options.schema);
  const table = `${schema}.hindsight_profiles`;
  const condition = conditionOf(query, schema);
  const whole: Search = { schema, table, condition, query };

  async function find(client: Client): Promise<FindResult> {
    const page = await pageOf(client, whole);
    if (query.counted === false)
      return { rows: page, total: query.offset + page.length, totalIsExact: page.length < query.limit };
    // Before counting, because no statement can follow a count that timed out.
    const pins = await pinsOf(client, schema, page);
    return { ...(await withTotal(client, page)), ...pins };
  }

  async function withTotal(client: Client, rows: ProfileIndex[]): Promise<FindResult> {
    const last = query.offset + rows.length;
    // A page that is not full is the last one, unless it is past the end.
    if (rows.length < query.limit && (rows.length > 0 || query.offset === 0))
      return { rows, total: last, totalIsExact: true };
    const estimate = (await estimateOf(client, table, condition)) ?? (rows.length === 0 ? 0 : last + 1);
    const counted = estimate >= SURELY_MORE ? null : await countOf(client, table, condition);
    if (counted !== null && counted <= MOST_COUNTED) return { rows, total: counted, totalIsExact: true };
    return {
      rows,
      total: Math.max(counted ?? 0, rows.length === 0 ? 0 : last, estimate),
      totalIsExact: false,
    };
  }

  const { text } = query;
  if (text !== undefined) return searchText(pool, { ...whole, text, timeoutMs: options.timeoutMs });
  return withClient(pool, (client) => inTransaction(client, options.timeoutMs, () => find(client)));
}
