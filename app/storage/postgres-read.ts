/**
 * Reads a profile with its amendments and, on request, the percentiles of its route. It uses one statement, because every page of a
 * profile needs them and a round trip costs as much CPU as a panel.
 */
import type { ReadOptions, ReadProfile } from '../profiler/storage.ts';
import {
  percentilesColumn,
  percentilesOf,
  type PercentilesRow,
  readRoutePercentiles,
} from './postgres-route-percentiles.ts';
import { type Pool, quoted } from './pool.ts';
import { storable } from './text.ts';
import { codeOf } from '../errors.ts';

interface ReadRow {
  version: string;
  document: string | null;
  amendments: Record<string, string> | null;
}

interface RouteRow {
  kind: string;
  route: string | null;
  method: string;
  /** bigint as text. */
  started_at: string;
}

/** SQLSTATE: feature_not_supported. */
const UNSUPPORTED = '0A000';

export type Reader = (pool: Pool, token: string, options?: ReadOptions) => Promise<ReadProfile | null>;

function parseAmendments(texts: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, JSON.parse(text) as unknown]));
}

function profileOf({ version, document, amendments }: ReadRow): ReadProfile {
  return { version, document, amendments: amendments === null ? {} : parseAmendments(amendments) };
}

function isUnsupported(error: unknown): boolean {
  return codeOf(error) === UNSUPPORTED;
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
  const withRoute = statementOf(', kind, route, method, started_at');
  /** False once the server can't: in a table that Citus distributes, the other requests of a route are on other nodes. */
  let isOneStatement = true;

  async function readAtOnce(pool: Pool, values: unknown[]): Promise<ReadProfile | null> {
    const { rows } = await pool.query<ReadRow & { percentiles: PercentilesRow | null }>(
      withPercentiles,
      values,
    );
    const [row] = rows;
    return row === undefined
      ? null
      : { ...profileOf(row), routePercentiles: row.percentiles && percentilesOf(row.percentiles) };
  }

  async function readApart(pool: Pool, values: unknown[]): Promise<ReadProfile | null> {
    const { rows } = await pool.query<ReadRow & RouteRow>(withRoute, values);
    const [row] = rows;
    if (row === undefined) return null;
    const { kind, route, method, started_at: startedAt } = row;
    const routePercentiles =
      kind === 'request' && route !== null
        ? await readRoutePercentiles(pool, schema, { route, method, before: Number(startedAt) })
        : null;
    return { ...profileOf(row), routePercentiles };
  }

  async function readWithPercentiles(pool: Pool, values: unknown[]): Promise<ReadProfile | null> {
    if (!isOneStatement) return readApart(pool, values);
    try {
      return await readAtOnce(pool, values);
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      isOneStatement = false;
      return readApart(pool, values);
    }
  }

  return async (pool, token, { known, routePercentiles = false } = {}) => {
    const values = [storable(token), known ?? null];
    if (routePercentiles) return readWithPercentiles(pool, values);
    const [row] = (await pool.query<ReadRow>(alone, values)).rows;
    return row === undefined ? null : profileOf(row);
  };
}
