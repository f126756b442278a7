/** Why a statement is dear, as far as its own text and values say it. */
import { givenValue, type ReadStatement, type StatementValue } from '../../panels/shared/read-statement.ts';
import type { Query } from './kept.ts';

function numberOf(value: StatementValue | null, { bindings }: Query): number {
  const given = Number(givenValue(value ?? undefined, bindings) ?? 0);
  return Number.isFinite(given) ? given : 0;
}

export function offsetOf({ offset }: ReadStatement, query: Query): number {
  return numberOf(offset, query);
}

export function limitOf({ limit }: ReadStatement, query: Query): number {
  return numberOf(limit, query);
}

/** Fewer skipped rows cost next to nothing. */
const DEEP = 10_000;
const DEEP_IF_SLOW = 1000;
const SLOW_MS = 50;

/** An OFFSET that is a finding by itself. */
export function isDeep(read: ReadStatement | null, query: Query): boolean {
  if (read === null) return false;
  return offsetOf(read, query) >= (isSlow(query) ? DEEP_IF_SLOW : DEEP);
}

export function isSlow({ durationMs }: Query): boolean {
  return (durationMs ?? 0) >= SLOW_MS;
}

/** In words that follow a statement's name; null if its text gives no reason. */
export function reasonOf(read: ReadStatement | null, query: Query): string | null {
  if (read === null) return null;
  if (/^(?:random|rand)\(\)/.test(read.orderBy))
    return `ORDER BY ${read.orderBy} sorts all rows to give some`;
  for (const { column, operator, values, wrapped } of read.where ?? []) {
    const given = givenValue(values[0], query.bindings);
    if (/^i?like$/.test(operator) && typeof given === 'string' && /^[%_]/.test(given))
      return `its ${operator.toUpperCase()} begins with a wildcard, so an ordinary index on ${column} is of no use`;
    if (operator === '=' && wrapped !== null)
      return `an ordinary index on ${column} is of no use for ${wrapped.startsWith('::') ? `${column}${wrapped}` : `${wrapped}(…)`}`;
  }
  return null;
}
