/**
 * Sums up requests by route in the database: one statement over the newest MOST_SUMMARIZED of a period, found by the index on time,
 * so that its cost is limited.
 *
 * `newest` is read once; the aggregates (figures, steps of time, durations, marks, both ends) are joined by the columns of the group,
 * which are never null, so that hash joins work.
 */
import { inTransaction, type Pool, quoted, withClient } from './pool.ts';
import {
  DURATION_EDGES,
  MOST_MARKS,
  MOST_ROUTES,
  MOST_SUMMARIZED,
  type RouteGroup,
  type RouteSummaries,
  type RouteSummary,
  SUMMARY_STEPS,
  type SummaryQuery,
  type SummaryStep,
} from '../profiler/route-summary.ts';
import { whole } from './postgres-route-percentiles.ts';
import { storable } from './text.ts';

const GROUP = 'missed, route, method, missed_status';

const GROUP_COLUMNS = `route is null as missed, coalesce(route, '') as route,
  case when route is null then '' else method end as method,
  case when route is null then coalesce(status, 0) else 0 end as missed_status`;

function statementOf(table: string, condition: string): string {
  return `
with newest as materialized (
  select ${GROUP_COLUMNS}, token, started_at, duration_ms, queries, mark,
    (error is not null or coalesce(status, 0) >= 500) as failed
  from ${table}
  where kind = 'request' and started_at >= $1::bigint and started_at < $2::bigint ${condition}
  order by started_at desc, token limit $3::int
), bounds as (
  select count(*)::int as looked, coalesce(sum(duration_ms), 0) as total,
    coalesce(min(started_at), $1::bigint) as first
  from newest
), groups as (
  select ${GROUP}, count(*)::int as count, count(*) filter (where failed)::int as errors,
    coalesce(sum(duration_ms), 0) as total, max(duration_ms) as longest, max(started_at) as last,
    percentile_disc(array[0.5, 0.95]) within group (order by duration_ms) as percentiles,
    percentile_disc(0.5) within group (order by queries) as queries
  from newest group by ${GROUP}
), top as (
  select * from groups order by total desc, count desc, route, method, missed_status limit ${MOST_ROUTES}
), steps as (
  select ${GROUP}, json_agg(json_build_array(step, count, errors, percentiles[1], percentiles[2], longest)) as steps from (
    select ${GROUP}, least(${SUMMARY_STEPS - 1}, (started_at - first) * ${SUMMARY_STEPS} / greatest($2::bigint - first, 1))::int as step,
      count(*)::int as count, count(*) filter (where failed)::int as errors, max(duration_ms) as longest,
      percentile_disc(array[0.5, 0.95]) within group (order by duration_ms) as percentiles
    from newest, bounds group by ${GROUP}, step
  ) as counted group by ${GROUP}
), durations as (
  select ${GROUP}, json_agg(json_build_array(bin, count)) as durations from (
    select ${GROUP}, width_bucket(duration_ms, array[${DURATION_EDGES.join(', ')}]::float8[]) as bin, count(*)::int as count
    from newest where duration_ms is not null group by ${GROUP}, bin
  ) as counted group by ${GROUP}
), marks as (
  select ${GROUP}, json_agg(json_build_array(mark, count) order by count desc, mark) as marks from (
    select ${GROUP}, mark, count(*)::int as count, row_number() over (partition by ${GROUP} order by count(*) desc, mark) as place
    from newest where mark is not null group by ${GROUP}, mark
  ) as counted where place <= ${MOST_MARKS} group by ${GROUP}
), ends as (
  select ${GROUP}, min(token) filter (where started_at = last) as newest,
    min(token) filter (where duration_ms = longest) as slowest
  from newest join top using (${GROUP}) where started_at = last or duration_ms = longest group by ${GROUP}
)
select bounds.first, bounds.looked, bounds.total as whole, (select count(*)::int from groups) as groups, top.*,
  steps.steps, durations.durations, marks.marks, ends.newest, ends.slowest
from bounds left join (top join steps using (${GROUP}) join ends using (${GROUP})
  left join durations using (${GROUP}) left join marks using (${GROUP})) on true
order by top.total desc, top.count desc, top.route, top.method, top.missed_status`;
}

type StepRow = [
  step: number,
  count: number,
  errors: number,
  p50: number | null,
  p95: number | null,
  max: number | null,
];

interface SummaryRow {
  first: string;
  looked: number;
  whole: number;
  /** Over all groups; the following columns are null if there is none. */
  groups: number;
  missed: boolean | null;
  route: string;
  method: string;
  missed_status: number;
  count: number;
  errors: number;
  total: number;
  longest: number | null;
  last: string;
  percentiles: [number | null, number | null] | null;
  queries: number;
  steps: StepRow[];
  durations: [bin: number, count: number][] | null;
  marks: [mark: string, count: number][] | null;
  newest: string;
  slowest: string | null;
}

function stepsOf(rows: readonly StepRow[]): SummaryStep[] {
  const steps = Array.from({ length: SUMMARY_STEPS }, (): SummaryStep => ({
    count: 0,
    errors: 0,
    p50Ms: null,
    p95Ms: null,
    maxMs: null,
  }));
  for (const [step, count, errors, p50Ms, p95Ms, maxMs] of rows)
    steps[step] = { count, errors, p50Ms, p95Ms, maxMs };
  return steps;
}

function durationsOf(rows: SummaryRow['durations']): number[] {
  const counts = new Array<number>(DURATION_EDGES.length + 1).fill(0);
  for (const [bin, count] of rows ?? []) counts[bin] = count;
  return counts;
}

function summaryOf(row: SummaryRow): RouteSummary {
  const [p50Ms, p95Ms] = row.percentiles ?? [null, null];
  const missed = row.missed === true;
  return {
    route: missed ? null : row.route,
    method: row.method,
    status: missed && row.missed_status !== 0 ? row.missed_status : null,
    count: row.count,
    errors: row.errors,
    totalMs: row.total,
    p50Ms,
    p95Ms,
    maxMs: row.longest,
    queries: row.queries,
    lastAt: Number(row.last),
    newest: row.newest,
    slowest: row.slowest,
    steps: stepsOf(row.steps),
    durations: durationsOf(row.durations),
    marks: (row.marks ?? []).map(([mark, count]) => ({ mark, count })),
  };
}

function conditionOf(group: RouteGroup | undefined): { sql: string; values: unknown[] } {
  if (group === undefined) return { sql: '', values: [] };
  const { route, method, status } = group;
  if (route === null)
    return { sql: 'and route is null and coalesce(status, 0) = $4::int', values: [status ?? 0] };
  return { sql: 'and route = $4 and method = $5', values: [storable(route), storable(method)] };
}

export async function summarizeProfiles(
  pool: Pool,
  { schema, timeoutMs }: { schema: string; timeoutMs: number },
  { from, until, group, most = MOST_SUMMARIZED }: SummaryQuery,
): Promise<RouteSummaries> {
  const { sql, values } = conditionOf(group);
  const statement = statementOf(`${quoted(schema)}.hindsight_profiles`, sql);
  const limit = Math.min(most, MOST_SUMMARIZED);
  const found = await withClient(pool, (client) =>
    inTransaction(client, timeoutMs, () =>
      client.query<SummaryRow>(statement, [whole(from), whole(until), limit, ...values]),
    ),
  );
  const { rows } = found;
  const routes = rows.filter(({ missed }) => missed !== null).map(summaryOf);
  const [head] = rows;
  const looked = head?.looked ?? 0;
  return {
    routes,
    more: (head?.groups ?? 0) - routes.length,
    looked,
    newestOnly: looked >= limit,
    totalMs: head?.whole ?? 0,
    from: Number(head?.first ?? from),
    until: whole(until),
  };
}
