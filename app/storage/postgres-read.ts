/** Reads a profile with its amendments and, on request, the percentiles of its route. */
import type { ReadOptions, ReadProfile } from '../profiler/storage.ts';
import { readRoutePercentiles } from './postgres-route-percentiles.ts';
import { type Store, tableIn } from './pool.ts';
import { storable } from './text.ts';

interface ReadRow {
  version: string;
  document: string | null;
  amendments: Record<string, string> | null;
  kind: string;
  route: string | null;
  method: string;
  /** bigint as text. */
  started_at: string;
}

function parseAmendments(texts: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, JSON.parse(text) as unknown]));
}

export async function readProfile(
  { pool, schema }: Store,
  token: string,
  { known, routePercentiles = false }: ReadOptions = {},
): Promise<ReadProfile | null> {
  const { rows } = await pool.query<ReadRow>(
    `select xmin::text as version, case when xmin::text = $2 then null else document end as document, (
       select json_object_agg(beside.name, beside.value) from ${tableIn(schema, 'hindsight_amendments')} as beside
       where beside.token = profile.token and beside.started_at = profile.started_at
     ) as amendments, kind, route, method, started_at
     from ${tableIn(schema, 'hindsight_profiles')} as profile where profile.token = $1`,
    [storable(token), known ?? null],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { version, document, kind, route, method, started_at: startedAt } = row;
  const profile = {
    version,
    document,
    amendments: row.amendments === null ? {} : parseAmendments(row.amendments),
  };
  if (!routePercentiles) return profile;
  const before = Number(startedAt);
  return {
    ...profile,
    routePercentiles:
      kind === 'request' && route !== null
        ? await readRoutePercentiles(pool, schema, { route, method, before })
        : null,
  };
}
