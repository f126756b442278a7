/**
 * Translates a ProfileQuery into the condition and order of a SELECT. Values are parameters from `$1`; columns come from the table of
 * columns. So no text of a request becomes SQL.
 */
import { COLUMNS } from '../profiler/profile-index.ts';
import { isCommitStart } from '../profiler/release.ts';
import type { ProfileQuery } from '../profiler/storage.ts';
import { pinnedTokens } from './pins.ts';
import { storable } from './text.ts';

export interface Condition {
  sql: string;
  values: unknown[];
}

/** Escapes `%`, `_` and the escape character for LIKE. */
export function likePattern(part: string): string {
  return `%${storable(part).replace(/[\\%_]/g, '\\$&')}%`;
}

/** Cast to bigint, so that indexes are used. Stored times are whole, so rounding up changes nothing. */
function wholeMoment(at: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(at)));
}

/** LIKE if the text has no letters, because ILIKE copies each text. */
export function holds(column: string, part: string): string {
  const like = part.toLowerCase() === part.toUpperCase() ? 'like' : 'ilike';
  return `${column} ${like} ? escape '\\'`;
}

/** `schema`: quoted for SQL. `query.text` is ignored here; postgres-text.ts searches for it. */
export function conditionOf(query: ProfileQuery, schema: string): Condition {
  const parts: string[] = [];
  const values: unknown[] = [];
  const add = (sql: string, ...given: unknown[]): void => {
    for (const value of given) sql = sql.replace('?', () => `$${values.push(value)}`);
    parts.push(sql);
  };
  const kinds = query.kinds ?? ['request'];
  // With a single kind, an index returns rows in order.
  if (kinds.length === 1) add('kind = ?', kinds[0]);
  else add('kind = any(?)', [...kinds]);
  if (query.token !== undefined) add('token = ?', storable(query.token));
  if (query.parent !== undefined) add('parent = ?', storable(query.parent));
  if (query.clientAddress !== undefined) add('client_address = ?', storable(query.clientAddress));
  if (query.method !== undefined) add('upper(method) = upper(?)', storable(query.method));
  if (typeof query.status === 'number') add('status = ?::int', query.status);
  if (typeof query.status === 'object') {
    add('status >= ?::int and status < ?::int', query.status.class * 100, query.status.class * 100 + 100);
  }
  if (query.url !== undefined) add(holds('url', query.url), likePattern(query.url));
  if (query.from !== undefined) add('started_at >= ?::bigint', wholeMoment(query.from));
  if (query.until !== undefined) add('started_at < ?::bigint', wholeMoment(query.until));
  if (query.overMs !== undefined) add('duration_ms > ?::double precision', query.overMs);
  if (query.minQueries !== undefined) add('queries >= ?::int', Math.ceil(query.minQueries));
  if (query.isFull === true) add('summary is null');
  if (query.isFull === false) add('summary is not null');
  if (query.hasFinding === true) add('findings > 0');
  if (query.hasFinding === false) add('findings = 0');
  // Includes the condition of the partial index on profiles with findings.
  if (query.mark !== undefined)
    add(`findings > 0 and ${holds('marks', query.mark)}`, likePattern(query.mark));
  if (query.pinned === true) add(`token in (${pinnedTokens(schema)})`);
  if (query.hasError === true) add('(error is not null or status >= 500)');
  if (query.hasError === false) add('(error is null and coalesce(status, 0) < 500)');
  if (query.process !== undefined) add('process = ?', storable(query.process));
  if (query.release !== undefined)
    add(isCommitStart(query.release) ? 'starts_with(release, ?)' : 'release = ?', storable(query.release));
  if (query.route !== undefined) add('route = ?', storable(query.route));
  if (query.traceId !== undefined) add('trace_id = ?', storable(query.traceId));
  return { sql: parts.join(' and '), values };
}

/** Empty values are last in both directions; equal values are ordered newest first, so that pages do not overlap. */
export function orderOf({ sort = 'startedAt', descending = true }: ProfileQuery): string {
  const direction = descending ? 'desc' : 'asc';
  const { column, type } = COLUMNS[sort];
  if (sort === 'startedAt') return `started_at ${direction}, token`;
  return `${column}${type === 'text' ? ' collate "C"' : ''} ${direction} nulls last, started_at desc, token`;
}
