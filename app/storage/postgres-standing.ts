/**
 * What the requests of a route took before another one: bounded by rows and by time, so that it needs no timeout. Asked for by
 * itself, or as a column of the profile that is read.
 */
import { type Pool, quoted } from './pool.ts';
import { LOOKED_BACK, LOOKED_BACK_MS, type Standing, type StandingQuery } from '../profiler/route-summary.ts';
import { storable } from './text.ts';

/** As PostgreSQL gives it. */
export interface StandingRow {
  count: number;
  percentiles: [number, number] | null;
}

/** The parameters are expressions in SQL. */
function statementOf(
  profiles: string,
  { route, method, before }: Record<keyof StandingQuery, string>,
): string {
  return `select count(*)::int as count, percentile_disc(array[0.5, 0.95]) within group (order by duration_ms) as percentiles
    from (
      select route, method, duration_ms from ${profiles}
      where kind = 'request' and started_at < ${before} and started_at >= ${before} - ${LOOKED_BACK_MS}
      order by started_at desc limit ${LOOKED_BACK}
    ) as newest
    where newest.route = ${route} and newest.method = ${method} and newest.duration_ms is not null`;
}

/** An expression in a statement that reads the row `profile`: JSON of a StandingRow, null where there is nothing to ask for. */
export function standingColumn(profiles: string, profile: string): string {
  const of = { route: `${profile}.route`, method: `${profile}.method`, before: `${profile}.started_at` };
  return `case when ${profile}.kind = 'request' and ${profile}.route is not null
    then (select row_to_json(found) from (${statementOf(profiles, of)}) as found) end`;
}

export function standingOf({ count, percentiles }: StandingRow): Standing {
  const [p50Ms, p95Ms] = percentiles ?? [null, null];
  return { count, p50Ms, p95Ms };
}

/** Stored moments are whole. */
function whole(at: number): number {
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(at)));
}

export async function readStanding(
  pool: Pool,
  schema: string,
  { route, method, before }: StandingQuery,
): Promise<Standing> {
  const of = { before: '$1::bigint', route: '$2', method: '$3' };
  const text = statementOf(`${quoted(schema)}.hindsight_profiles`, of);
  const { rows } = await pool.query<StandingRow>(text, [whole(before), storable(route), storable(method)]);
  const [row] = rows;
  return standingOf(row ?? { count: 0, percentiles: null });
}
