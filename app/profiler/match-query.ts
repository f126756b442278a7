/** Whether an index row matches a query: the meaning of the filters, for rows in memory. PostgreSQL's twin is in its storage. */
import type { ProfileIndex } from './profile.ts';
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

/**
 * All filters must hold; an absent filter holds always. Sorting and paging are the caller's, and so are pins and texts, which
 * no index row tells of.
 */
export function matchesQuery(row: ProfileIndex, query: ProfileQuery): boolean {
  const kinds = query.kinds ?? ['request'];
  return (
    kinds.includes(row.kind) &&
    (query.token === undefined || row.token === query.token) &&
    (query.parent === undefined || row.parent === query.parent) &&
    (query.clientAddress === undefined || row.clientAddress === query.clientAddress) &&
    (query.method === undefined || row.method.toLowerCase() === query.method.toLowerCase()) &&
    (query.status === undefined || matchesStatus(row.status, query.status)) &&
    (query.url === undefined || row.url.toLowerCase().includes(query.url.toLowerCase())) &&
    (query.from === undefined || row.startedAt >= query.from) &&
    (query.until === undefined || row.startedAt < query.until) &&
    (query.overMs === undefined || (row.durationMs ?? 0) > query.overMs) &&
    (query.minQueries === undefined || row.queries >= query.minQueries) &&
    (query.hasFinding === undefined || row.findings > 0 === query.hasFinding) &&
    (query.mark === undefined || hasMark(row, query.mark)) &&
    (query.hasError === undefined || rowHasError(row) === query.hasError) &&
    (query.process === undefined || row.process === query.process) &&
    (query.route === undefined || row.route === query.route)
  );
}
