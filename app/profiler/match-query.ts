/** Whether an index row matches a query: the meaning of the filters, for rows in memory. PostgreSQL's twin is in its storage. */
import type { ProfileIndex } from './profile-index.ts';
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

/** What of a row is known of a request at once, before anything of it is collected or masked. */
export type QueryLine = Pick<
  ProfileIndex,
  'token' | 'kind' | 'parent' | 'clientAddress' | 'method' | 'status' | 'startedAt'
>;

/** Whether all filters hold that can be told from the line of a request; the others are left open. */
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

/**
 * All filters must hold; an absent filter holds always. Sorting and paging are the caller's, and so are pins and texts, which
 * no index row tells of.
 */
export function matchesQuery(row: ProfileIndex, query: ProfileQuery): boolean {
  return (
    matchesLine(row, query) &&
    (query.url === undefined || row.url.toLowerCase().includes(query.url.toLowerCase())) &&
    (query.overMs === undefined || (row.durationMs ?? 0) > query.overMs) &&
    (query.minQueries === undefined || row.queries >= query.minQueries) &&
    (query.hasFinding === undefined || row.findings > 0 === query.hasFinding) &&
    (query.mark === undefined || hasMark(row, query.mark)) &&
    (query.hasError === undefined || rowHasError(row) === query.hasError) &&
    (query.process === undefined || row.process === query.process) &&
    (query.route === undefined || row.route === query.route)
  );
}
