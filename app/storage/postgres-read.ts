/**
 * Reads a profile with its amendments and, on request, the percentiles of its route. It uses one statement, because every page of a
 * profile needs them and a round trip costs as much CPU as a panel.
 */
import type { ReadOptions, ReadProfile } from '../profiler/storage.ts';
import { percentilesColumn, percentilesOf, type PercentilesRow } from './postgres-route-percentiles.ts';
import { type Pool, quoted } from './pool.ts';
import { storable } from './text.ts';

interface ReadRow {
  version: string;
  document: string | null;
  amendments: Record<string, string> | null;
  percentiles?: PercentilesRow | null;
}

export type Reader = (pool: Pool, token: string, options?: ReadOptions) => Promise<ReadProfile | null>;

function parseAmendments(texts: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, JSON.parse(text) as unknown]));
}

export function createReader(schema: string): Reader {
  const profiles = `${quoted(schema)}.hindsight_profiles`;
  const amendments = `${quoted(schema)}.hindsight_amendments`;
  const statementOf = (more: string): string => `
    select xmin::text as version, case when xmin::text = $2 then null else document end as document, (
      select json_object_agg(beside.name, beside.value) from ${amendments} as beside
      where beside.token = profile.token and beside.started_at = profile.started_at
    ) as amendments${more}
    from ${profiles} as profile where profile.token = $1`;
  const alone = statementOf('');
  const withPercentiles = statementOf(`, ${percentilesColumn(profiles, 'profile')} as percentiles`);

  return async (pool, token, { known, routePercentiles = false } = {}) => {
    const { rows } = await pool.query<ReadRow>(routePercentiles ? withPercentiles : alone, [
      storable(token),
      known ?? null,
    ]);
    const [row] = rows;
    if (row === undefined) return null;
    return {
      version: row.version,
      document: row.document,
      amendments: row.amendments === null ? {} : parseAmendments(row.amendments),
      ...(row.percentiles === undefined
        ? {}
        : { routePercentiles: row.percentiles && percentilesOf(row.percentiles) }),
    };
  };
}
