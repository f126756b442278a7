/** Whether an index row in memory matches a query. For PostgreSQL the same is written in storage/find-sql.ts. */
import type { ProfileIndex } from './profile-index.ts';
import { isRelease } from './release.ts';
import type { ProfileQuery } from './storage.ts';

function matchesStatus(status: number | null, wanted: NonNullable<ProfileQuery['status']>): boolean {
  if (status === null) return false;
  return typeof wanted === 'number' ? status === wanted : Math.floor(status / 100) === wanted.class;
}

function rowHasError(row: ProfileIndex): boolean {
  return row.error !== null || (row.status !== null && row.status >= 500);
}

function hasMark({ marks }: ProfileIndex, wanted: string): boolean {
  return marks.some(({ label }) => label.toLowerCase().includes(wanted.toLowerCase()));
}

/** The part of a row that a running request has without collecting and masking. */
export type QueryLine = Pick<
  ProfileIndex,
  'token' | 'kind' | 'parent' | 'clientAddress' | 'method' | 'status' | 'startedAt'
>;

/** Whether a request's line matches the filters that it has values for; the others are not checked. */
export function matchesLine(line: QueryLine, query: ProfileQuery): boolean {
  const kinds = query.kinds ?? ['request'];
  return (
    kinds.includes(line.kind) &&
    (query.token === undefined || line.token === query.token) &&
    (query.parent === undefined || line.parent === query.parent) &&
    (query.clientAddress === undefined || line.clientAddress === query.clientAddress) &&
    (query.method === undefined || line.method.toLowerCase() === query.method.toLowerCase()) &&
    (query.status === undefined || matchesStatus(line.status, query.status)) &&
    (query.from === undefined || line.startedAt >= query.from) &&
    (query.until === undefined || line.startedAt < query.until)
  );
}

/** All filters must match; an absent filter always does. The caller sorts and pages, and checks pins and texts, which are not in a row. */
export function matchesQuery(row: ProfileIndex, query: ProfileQuery): boolean {
  return (
    matchesLine(row, query) &&
    (query.url === undefined || row.url.toLowerCase().includes(query.url.toLowerCase())) &&
    (query.overMs === undefined || (row.durationMs ?? 0) > query.overMs) &&
    (query.minQueries === undefined || row.queries >= query.minQueries) &&
    (query.hasFinding === undefined || row.findings > 0 === query.hasFinding) &&
    (query.mark === undefined || hasMark(row, query.mark)) &&
    (query.hasError === undefined || rowHasError(row) === query.hasError) &&
    (query.release === undefined || isRelease(row.release, query.release)) &&
    (query.process === undefined || row.process === query.process) &&
    (query.route === undefined || row.route === query.route) &&
    (query.traceId === undefined || row.traceId === query.traceId)
  );
}
