/** Why a statement is dear, as far as its own text, values and rows say it. */
import { foundRows } from '../../panels/shared/found-rows.ts';
import { bytesText } from '../../view-helpers/numbers.ts';
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

const BUFFER = /^"\[Buffer, (\d+) bytes\]"$/;
/** Bytes of one column in all rows from which on they are why a statement is slow. */
const MANY_BYTES = 1_000_000;

/** The column of bytes that a statement read most of; null if it read few. */
export function bytesRead(query: Query): string | null {
  const rows = foundRows(query);
  const names = Object.keys(rows[0] ?? {});
  const sizes = names.map((name) => {
    const bytes = rows.map((row) => Number(BUFFER.exec(JSON.stringify(row[name]))?.[1] ?? 0));
    return { name, each: bytes.reduce((sum, one) => sum + one, 0) / rows.length };
  });
  const [largest] = sizes.sort((a, b) => b.each - a.each);
  const all = (largest?.each ?? 0) * (query.rows ?? 0);
  if (largest === undefined || all < MANY_BYTES) return null;
  return `its column ${largest.name} has about ${bytesText(largest.each)} in each row, ${bytesText(all)} in all: name the columns that you need`;
}

/** In words that follow a statement's name; null if neither its text nor its rows give a reason. */
export function reasonOf(read: ReadStatement | null, query: Query): string | null {
  const bytes = bytesRead(query);
  if (bytes !== null || read === null) return bytes;
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
