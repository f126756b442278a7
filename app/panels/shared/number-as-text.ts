/** Numbers that a request brought, and columns of the row of a read that have the same as text: `===` is false for the two. */
import type { Json } from '../../profiler/json.ts';
import { sameName } from './compare-values.ts';
import { foundRows } from './found-rows.ts';
import type { DatabaseQuery } from '../database/data.ts';

export interface NumberAsText {
  name: string;
  value: number;
  column: string;
}

/** Bound under its name, it is compared in SQL, where the types don't matter. */
function isBound(queries: readonly DatabaseQuery[], column: string, value: number): boolean {
  return queries.some(({ bindings }) =>
    bindings.some(
      (one) =>
        sameName(one.name) === sameName(column) && (one.value === value || one.value === String(value)),
    ),
  );
}

/** Of the one row that a statement found. `isSame`: whether the column means the field. */
export function numbersAsText(
  fields: readonly { name: string; value: Json }[],
  { query, queries }: { query: DatabaseQuery | undefined; queries: readonly DatabaseQuery[] },
  isSame = (name: string, column: string): boolean => sameName(name) === sameName(column),
): NumberAsText[] {
  if (query?.rows !== 1) return [];
  return Object.entries(foundRows(query)[0] ?? {}).flatMap(([column, text]): NumberAsText[] => {
    if (typeof text !== 'string') return [];
    for (const { name, value } of fields)
      if (typeof value === 'number' && String(value) === text && isSame(name, column))
        return isBound(queries, column, value) ? [] : [{ name, value, column }];
    return [];
  });
}
