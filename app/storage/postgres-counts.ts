/**
 * Counts for the list: requests that match each saved view, and requests over time. Both are limited in rows and time: a list without
 * them is better than a list that takes a second.
 */
import { type Client, inTransaction, type Pool, quoted, withClient } from './pool.ts';
import {
  MOST_COUNTED,
  MOST_IN_HISTOGRAM,
  type CountsAndHistogram,
  type CountsAndHistogramQuery,
} from '../profiler/storage.ts';
import { conditionOf } from './find-sql.ts';
import { isCanceled } from './unavailable.ts';

const COUNTING_MS = 100;
/** Timeout of a single count, used if counting all together took too long. */
const COUNTING_ONE_MS = 30;
const HISTOGRAM_MS = 150;

/** null if it takes too long. */
async function within<T>(client: Client, ms: number, work: () => Promise<T>): Promise<T | null> {
  try {
    return await inTransaction(client, ms, work);
  } catch (error) {
    if (isCanceled(error)) return null;
    throw error;
  }
}

async function count(
  client: Client,
  schema: string,
  queries: CountsAndHistogramQuery['counts'],
): Promise<number[]> {
  const values: unknown[] = [];
  const parts = queries.map((query, i) => {
    const condition = conditionOf(query, schema);
    const first = values.length;
    values.push(...condition.values);
    const sql = condition.sql.replace(/\$(\d+)/g, (_all, n: string) => `$${first + Number(n)}`);
    return `(select count(*)::int from (
      select 1 from ${schema}.hindsight_profiles where ${sql} limit ${MOST_COUNTED + 1}) as matching) as n${i}`;
  });
  const { rows } = await client.query(`select ${parts.join(', ')}`, values);
  const row = rows[0] as Record<string, number>;
  return queries.map((_query, i) => row[`n${i}`] ?? 0);
}

/** Counts in one statement, which is faster than one each. If that takes too long, counts separately, so that only slow counts are lost. */
async function countAll(
  client: Client,
  schema: string,
  queries: CountsAndHistogramQuery['counts'],
): Promise<CountsAndHistogram['counts']> {
  if (queries.length === 0) return [];
  const all = await within(client, COUNTING_MS, () => count(client, schema, queries));
  if (all !== null || queries.length === 1) return all ?? [null];
  const counts: (number | null)[] = [];
  for (const query of queries) {
    const one = await within(client, COUNTING_ONE_MS, () => count(client, schema, [query]));
    counts.push(one?.[0] ?? null);
  }
  return counts;
}

interface Part {
  part: number;
  count: number;
  errors: number;
  /** Sums over all parts. */
  taken: number;
  oldest: string;
}

async function histogramOf(
  client: Client,
  schema: string,
  { query, from, until, parts }: NonNullable<CountsAndHistogramQuery['histogram']>,
): Promise<CountsAndHistogram['histogram']> {
  const { sql, values } = conditionOf({ ...query, from: Math.max(from, query.from ?? 0), until }, schema);
  const width = Math.max(1, Math.ceil((until - from) / parts));
  const { rows } = await client.query(
    `with taken as materialized (
       select started_at,
         (status >= 500 or (error is not null and coalesce(status, 0) not between 400 and 499)) is true as failed
       from ${schema}.hindsight_profiles where ${sql} order by started_at desc limit ${MOST_IN_HISTOGRAM}
     )
     select ((started_at - ${Math.trunc(from)}) / ${width})::int as part, count(*)::int as count,
       count(*) filter (where failed)::int as errors, sum(count(*)) over ()::int as taken,
       min(min(started_at)) over () as oldest
     from taken group by 1`,
    values,
  );
  const found = rows as Part[];
  const [first] = found;
  const drawn = Array.from({ length: parts }, () => ({ count: 0, errors: 0 }));
  for (const { part, count: requests, errors } of found) {
    const place = drawn[part];
    if (place !== undefined) Object.assign(place, { count: requests, errors });
  }
  return { parts: drawn, since: first?.taken === MOST_IN_HISTOGRAM ? Number(first.oldest) : from };
}

export function countProfiles(
  pool: Pool,
  { schema: name }: { schema: string },
  { counts, histogram }: CountsAndHistogramQuery,
): Promise<CountsAndHistogram> {
  const schema = quoted(name);
  return withClient(pool, async (client) => ({
    counts: await countAll(client, schema, counts),
    histogram:
      histogram === undefined
        ? null
        : await within(client, HISTOGRAM_MS, () => histogramOf(client, schema, histogram)),
  }));
}
