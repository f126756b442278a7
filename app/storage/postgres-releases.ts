/** Sums up requests by route and release in the database: one statement over the newest requests, so that its cost is limited. */
import {
  MOST_OF_RELEASES,
  MOST_RELEASE_SUMMARIES,
  type ReleaseQuery,
  type ReleaseSummary,
} from '../profiler/release-summary.ts';
import { inTransaction, type Pool, quoted, withClient } from './pool.ts';
import { storable } from './text.ts';

const GROUP = 'release, method, route';

function statementOf(table: string, condition: string): string {
  return `
with newest as materialized (
  select ${GROUP}, token, started_at, duration_ms, queries, (error is not null or coalesce(status, 0) >= 500) as failed
  from ${table}
  where kind = 'request' and route is not null and release is not null ${condition}
  order by started_at desc, token limit $1::int
)
select ${GROUP}, count(*)::int as count, count(*) filter (where failed)::int as errors,
  percentile_disc(array[0.5, 0.95]) within group (order by duration_ms) filter (where not failed) as percentiles,
  percentile_disc(0.5) within group (order by queries) filter (where not failed) as queries,
  min(started_at) as first, max(started_at) as last, right(max(lpad(started_at::text, 16, '0') || token), 6) as newest
from newest group by ${GROUP}
order by last desc, ${GROUP} limit ${MOST_RELEASE_SUMMARIES}`;
}

interface ReleaseRow extends Pick<
  ReleaseSummary,
  'release' | 'route' | 'method' | 'count' | 'errors' | 'newest'
> {
  percentiles: [number | null, number | null] | null;
  queries: number | null;
  /** bigint as text. */
  first: string;
  last: string;
}

function summaryOf({ percentiles, first, last, ...row }: ReleaseRow): ReleaseSummary {
  const [p50Ms, p95Ms] = percentiles ?? [null, null];
  return { ...row, p50Ms, p95Ms, firstAt: Number(first), lastAt: Number(last) };
}

export async function summarizeReleases(
  pool: Pool,
  { schema, timeoutMs }: { schema: string; timeoutMs: number },
  { of, most = MOST_OF_RELEASES }: ReleaseQuery,
): Promise<ReleaseSummary[]> {
  const statement = statementOf(
    `${quoted(schema)}.hindsight_profiles`,
    of === undefined ? '' : 'and route = $2 and method = $3',
  );
  const values = of === undefined ? [] : [storable(of.route), storable(of.method)];
  const { rows } = await withClient(pool, (client) =>
    inTransaction(client, timeoutMs, () =>
      client.query<ReleaseRow>(statement, [Math.min(most, MOST_OF_RELEASES), ...values]),
    ),
  );
  return rows.map(summaryOf);
}
