/** Percentiles of a route's durations before a given request. Rows and time span are limited, so no timeout is needed. */
import { type Pool, quoted } from './pool.ts';
import {
  LOOKED_BACK,
  LOOKED_BACK_MS,
  type PercentilePair,
  type RoutePercentiles,
  type RoutePercentilesQuery,
} from '../profiler/route-summary.ts';
import { storable } from './text.ts';

interface PercentilesRow {
  count: number;
  percentiles: [number, number] | null;
  queries: [number, number] | null;
  blocked: [number, number] | null;
  /** bigint as text. */
  bytes: [string, string] | null;
}

function percentilesSql(column: string, name: string): string {
  return `percentile_disc(array[0.5, 0.95]) within group (order by ${column}) as ${name}`;
}

function statementOf(profiles: string): string {
  return `select count(*)::int as count, ${percentilesSql('duration_ms', 'percentiles')}, ${percentilesSql('queries', 'queries')},
      ${percentilesSql('blocked_ms', 'blocked')}, ${percentilesSql('response_bytes', 'bytes')}
    from (
      select route, method, duration_ms, queries, blocked_ms, response_bytes from ${profiles}
      where kind = 'request' and started_at < $1::bigint and started_at >= $1::bigint - ${LOOKED_BACK_MS}
      order by started_at desc limit ${LOOKED_BACK}
    ) as newest
    where newest.route = $2 and newest.method = $3 and newest.duration_ms is not null`;
}

/** Of no value the database makes either null or a list of nulls. */
function pairOf(pair: readonly (number | string | null)[] | null): PercentilePair | null {
  const [p50, p95] = pair ?? [];
  return p50 === null || p50 === undefined ? null : [Number(p50), Number(p95)];
}

function percentilesOf(row: PercentilesRow): RoutePercentiles {
  const [p50Ms, p95Ms] = pairOf(row.percentiles) ?? [null, null];
  return {
    count: row.count,
    p50Ms,
    p95Ms,
    queries: pairOf(row.queries),
    blockedMs: pairOf(row.blocked),
    responseBytes: pairOf(row.bytes),
  };
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
  const text = statementOf(`${quoted(schema)}.hindsight_profiles`);
  const { rows } = await pool.query<PercentilesRow>(text, [whole(before), storable(route), storable(method)]);
  const [row] = rows;
  return percentilesOf(row ?? { count: 0, percentiles: null, queries: null, blocked: null, bytes: null });
}
