/** The row that a statement reads or writes, as far as its text says: its table, and the values that columns are compared with. */
import { isMasked } from '../../profiler/masking/redact.ts';
import { aboutStatement } from './about-statement.ts';
import { givenValue, type StatementValue } from './read-statement.ts';
import { type Binding, isWholeBinding } from './sql-values.ts';

export interface RowTouched {
  table: string;
  does: 'read' | 'count' | 'update' | 'insert' | 'delete';
  where: ReadonlyMap<string, string>;
  hasMore: boolean;
  isLocking: boolean;
  reads(column: string): boolean;
  /** Columns that an update sets: to a bound value, or to what its text or the database says (null). */
  sets: ReadonlyMap<string, string | null>;
}

const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();

/** null: computed, NULL, not recorded, or masked, so that it can't be compared with that of another record. */
function plainOf(value: StatementValue | undefined, bindings: readonly Binding[]): string | null {
  const given = givenValue(value, bindings);
  if (given === undefined || given === null || typeof given === 'object') return null;
  const text = String(given);
  return isMasked(text) ? null : text;
}

function inserted(bindings: readonly Binding[]): Map<string, string> | null {
  const names = bindings.map(({ name }) => name);
  // Several rows.
  if (new Set(names).size < names.length) return null;
  return new Map(
    bindings.flatMap((binding) => {
      const { name, value } = binding;
      const isKnown = isWholeBinding(binding) && value !== null && typeof value !== 'object';
      return isKnown && !name.startsWith('$') ? [[name.toLowerCase(), String(value)] as const] : [];
    }),
  );
}

/** null for a statement about no row that its text tells, or several tables; `mayJoin`: unless it reads and says which is meant. */
export function rowTouched(
  sql: string,
  bindings: readonly Binding[],
  system: string | undefined,
  { mayJoin = false } = {},
): RowTouched | null {
  const read = aboutStatement(sql, system).read;
  if (read === null || read.table === null) return null;
  const isJoined = read.joins > 0;
  if (isJoined && !(mayJoin && read.verb === 'select')) return null;
  const base = {
    table: read.table.toLowerCase(),
    hasMore: false,
    isLocking: read.isLocking,
    sets: NOTHING,
    reads: () => false,
  };
  if (read.verb === 'insert') {
    const where = inserted(bindings);
    return where === null ? null : { ...base, does: 'insert', where };
  }
  if (read.where === null || !read.isPlain) return null;
  const where = new Map<string, string>();
  for (const { column, of, operator, values, wrapped } of read.where) {
    if (isJoined && of !== (read.alias ?? read.table)) continue;
    const isEqual = wrapped === null && (operator === '=' || operator === 'in') && values.length === 1;
    const value = isEqual ? plainOf(values[0], bindings) : null;
    if (value !== null) where.set(column.toLowerCase(), value);
  }
  if (where.size === 0) return null;
  const touched = { ...base, where, hasMore: read.where.length > where.size };
  if (read.verb === 'delete') return { ...touched, does: 'delete' };
  if (read.verb === 'update') {
    // What is written in the statement itself was not computed from what was read.
    const sets = read.sets.map(({ column, value }) => {
      const bound = value.kind === 'bound' ? plainOf(value, bindings) : null;
      return [column.toLowerCase(), bound] as const;
    });
    return { ...touched, does: 'update', sets: new Map(sets) };
  }
  const columns = /^\s*select\s([^]*?)\sfrom\s/i.exec(sql)?.[1]?.toLowerCase() ?? '';
  const reads = (column: string): boolean => read.isStar || columns.includes(column);
  return { ...touched, does: read.isAggregated ? 'count' : 'read', reads };
}

export function isWithin(part: RowTouched['where'], whole: RowTouched['where']): boolean {
  for (const [column, value] of part) if (whole.get(column) !== value) return false;
  return true;
}

/** One of the two names all values that the other one names: if each is about one row, it is the same. */
export function isSameRow(a: RowTouched, b: RowTouched): boolean {
  return a.table === b.table && (isWithin(a.where, b.where) || isWithin(b.where, a.where));
}
