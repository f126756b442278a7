/**
 * Percentiles of a route's durations before a given request, as a separate statement or as a column of the statement that reads the
 * profile. Rows and time span are limited, so no timeout is needed.
 */
import { type Pool, quoted } from './pool.ts';
import {
  LOOKED_BACK,
  LOOKED_BACK_MS,
  type RoutePercentiles,
  type RoutePercentilesQuery,
} from '../profiler/route-summary.ts';
import { storable } from './text.ts';

/** The row as returned by PostgreSQL. */
export interface PercentilesRow {
  count: number;
  percentiles: [number, number] | null;
}

/** The parameters are SQL expressions. */
function statementOf(
  profiles: string,
  { route, method, before }: Record<keyof RoutePercentilesQuery, string>,
): string {
  return `select count(*)::int as count, percentile_disc(array[0.5, 0.95]) within group (order by duration_ms) as percentiles
    from (
      select route, method, duration_ms from ${profiles}
      where kind = 'request' and started_at < ${before} and started_at >= ${before} - ${LOOKED_BACK_MS}
      order by started_at desc limit ${LOOKED_BACK}
    ) as newest
    where newest.route = ${route} and newest.method = ${method} and newest.duration_ms is not null`;
}

/** SQL expression for a statement that reads the row `profile`: JSON of a PercentilesRow; null for a profile without a route. */
export function percentilesColumn(profiles: string, profile: string): string {
  const of = { route: `${profile}.route`, method: `${profile}.method`, before: `${profile}.started_at` };
  return `case when ${profile}.kind = 'request' and ${profile}.route is not null
    then (select row_to_json(found) from (${statementOf(profiles, of)}) as found) end`;
}

export function percentilesOf({ count, percentiles }: PercentilesRow): RoutePercentiles {
  const [p50Ms, p95Ms] = percentiles ?? [null, null];
  return { count, p50Ms, p95Ms };
}

/** Stored times are whole milliseconds. */
export function whole(at: number): number {
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(at)));
}

export async function readRoutePercentiles(
  pool: Pool,
  schema: string,
  { route, method, before }: RoutePercentilesQuery,
): Promise<RoutePercentiles> {
  const of = { before: '$1::bigint', route: '$2', method: '$3' };
  const text = statementOf(`${quoted(schema)}.hindsight_profiles`, of);
  const { rows } = await pool.query<PercentilesRow>(text, [whole(before), storable(route), storable(method)]);
  const [row] = rows;
  return percentilesOf(row ?? { count: 0, percentiles: null });
}
