/**
 * A search: a page of rows, and how many match in all. Counting stops at a bound, of matches and of time; beyond it the
 * planner's estimate has to do, marked as such, because an exact count of a million rows costs far more than the page.
 *
 * The newest page is looked for in the newest two partitions first: most filters fill it there, and planning for all
 * partitions alone takes longer than that.
 */
import { type Client, inTransaction, type Pool, quoted, withClient } from './pool.ts';
import type { ProfileIndex } from '../profiler/profile-index.ts';
import { type FindResult, MOST_COUNTED, type ProfileQuery } from '../profiler/storage.ts';
import { conditionOf, orderOf, type Condition } from './find-sql.ts';
import { pinsOf } from './pins.ts';
import { searchText } from './postgres-text.ts';
import { INDEX_COLUMNS, indexOfRow, type ProfileRow } from './rows.ts';

/** An estimate from here on is not checked by counting: each match may cost the server a page, so that 10 000 take 10 to 40 ms. */
const SURELY_MORE = 10 * MOST_COUNTED;
/** Milliseconds that counting may take, where the page itself was found. */
const COUNTING_MS = 100;
/** SQLSTATE: query_canceled. */
const CANCELED = '57014';

interface Plan {
  'QUERY PLAN': { Plan: { 'Plan Rows': number } }[];
}

interface Search {
  /** As it stands in SQL. */
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

/** The same search since the partition before the one of now; null where that would tell nothing. */
function recent(search: Search, partitionMs: number): Search | null {
  const {
    sort = 'startedAt',
    descending = true,
    token,
    parent,
    from = -Infinity,
    until = Infinity,
  } = search.query;
  if (sort !== 'startedAt' || !descending || token !== undefined || parent !== undefined) return null;
  const since = (Math.floor(Date.now() / partitionMs) - 1) * partitionMs;
  if (from >= since || until <= since) return null;
  const query = { ...search.query, from: since };
  return { ...search, query, condition: conditionOf(query, search.schema) };
}

/** One more than MOST_COUNTED at most; null where it takes too long. Nothing can follow it in its transaction. */
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
    if (error instanceof Error && 'code' in error && error.code === CANCELED) return null;
    throw error;
  }
}

/** By the statistics that the server has of the columns. */
async function estimateOf(client: Client, table: string, { sql, values }: Condition): Promise<number> {
  const planned = await client.query(`explain (format json) select 1 from ${table} where ${sql}`, values);
  return Math.round((planned.rows as Plan[])[0]?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0);
}

export async function findProfiles(
  pool: Pool,
  options: { schema: string; timeoutMs: number; partitionMs: number },
  query: ProfileQuery,
): Promise<FindResult> {
  const schema = quoted(options.schema);
  const table = `${schema}.hindsight_profiles`;
  const condition = conditionOf(query, schema);
  const whole: Search = { schema, table, condition, query };
  const newest = recent(whole, options.partitionMs);

  async function find(client: Client): Promise<FindResult> {
    const page = await findPage(client);
    if (query.counted === false)
      return { rows: page, total: query.offset + page.length, totalIsExact: page.length < query.limit };
    // Before anything is counted: nothing can follow that.
    const pins = await pinsOf(client, schema, page);
    return { ...(await withTotal(client, page)), ...pins };
  }

  async function findPage(client: Client): Promise<ProfileIndex[]> {
    let rows = newest === null ? [] : await pageOf(client, newest);
    if (rows.length < query.limit) rows = await pageOf(client, whole);
    return rows;
  }

  async function withTotal(client: Client, rows: ProfileIndex[]): Promise<FindResult> {
    const last = query.offset + rows.length;
    // A page that is not full ends the list, unless it is past the end.
    if (rows.length < query.limit && (rows.length > 0 || query.offset === 0))
      return { rows, total: last, totalIsExact: true };
    const estimate = await estimateOf(client, table, condition);
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
