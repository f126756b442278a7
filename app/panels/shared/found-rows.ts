/**
 * The first rows of a statement. A column under another name (`select password as p`) is stored with what it was selected from, because
 * masking goes by names.
 */
import { isRecord, type Json } from '../../profiler/json.ts';
import { aboutStatement } from './about-statement.ts';
import type { DatabaseQuery } from '../database/data.ts';

/** To be stored. */
export function keptRows(found: readonly Json[], sql: string, system: string | undefined): Json[] {
  const { sources } = aboutStatement(sql, system);
  if (sources.size === 0) return [...found];
  return (found as Record<string, Json>[]).map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]): [string, Json] => {
        const source = sources.get(name);
        return [name, source === undefined ? value : { as: true, name: source, value }];
      }),
    ),
  );
}

function plainValue(value: Json): Json {
  return isRecord(value) && value.as === true && value.value !== undefined ? value.value : value;
}

export function foundRows({ found = [] }: DatabaseQuery): Record<string, Json>[] {
  return (found as Record<string, Json>[]).map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainValue(value)])),
  );
}
