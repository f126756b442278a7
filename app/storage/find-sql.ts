/**
 * A ProfileQuery -> the condition and order of a SELECT. Every value travels as a parameter, `$1` the first; columns come
 * from the table of columns, so that no word of a request ever becomes SQL.
 */
import { COLUMNS } from '../profiler/profile-index.ts';
import type { ProfileQuery } from '../profiler/storage.ts';
import { pinnedTokens } from './pins.ts';
import { storable } from './text.ts';

export interface Condition {
  sql: string;
  values: unknown[];
}

/** `%`, `_` and the escape itself mean themselves. */
export function likePattern(part: string): string {
  return `%${storable(part).replace(/[\\%_]/g, '\\$&')}%`;
}

/** As bigint, so that partitions and indexes serve: stored moments are whole, so rounding up changes nothing. */
function wholeMoment(at: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(at)));
}

/** LIKE where no letter could be written otherwise: ILIKE makes a copy of each text. */
export function holds(column: string, part: string): string {
  const like = part.toLowerCase() === part.toUpperCase() ? 'like' : 'ilike';
  return `${column} ${like} ? escape '\\'`;
}

/** `schema` as it stands in SQL. A search for text is narrowed by all else only. */
export function conditionOf(query: ProfileQuery, schema: string): Condition {
  const parts: string[] = [];
  const values: unknown[] = [];
  const add = (sql: string, ...given: unknown[]): void => {
    for (const value of given) sql = sql.replace('?', () => `$${values.push(value)}`);
    parts.push(sql);
  };
  const kinds = query.kinds ?? ['request'];
  // One kind by itself lets an index give the order.
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
  if (query.hasFinding === true) add('findings > 0');
  if (query.hasFinding === false) add('findings = 0');
  // With what the index of those with findings asks for.
  if (query.mark !== undefined)
    add(`findings > 0 and ${holds('marks', query.mark)}`, likePattern(query.mark));
  if (query.pinned === true) add(`token in (${pinnedTokens(schema)})`);
  if (query.hasError === true) add('(error is not null or status >= 500)');
  if (query.hasError === false) add('(error is null and coalesce(status, 0) < 500)');
  if (query.process !== undefined) add('process = ?', storable(query.process));
  if (query.route !== undefined) add('route = ?', storable(query.route));
  return { sql: parts.join(' and '), values };
}

/** Empty values last in either direction; equal ones newest first, so that pages do not overlap. */
export function orderOf({ sort = 'startedAt', descending = true }: ProfileQuery): string {
  const direction = descending ? 'desc' : 'asc';
  const { column, type } = COLUMNS[sort];
  if (sort === 'startedAt') return `started_at ${direction}, token`;
  return `${column}${type === 'text' ? ' collate "C"' : ''} ${direction} nulls last, started_at desc, token`;
}
