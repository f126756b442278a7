/** What a query plan reads for nothing, and which columns its condition compares: an index on them may make it cheaper. */
import type { PlanNode, QueryPlan } from '../../profiler/read/query-plan.ts';

const COMPARED =
  /(\w+\(\(?"?[a-z_][\w$]*"?\)?(?:::[\w ]+)?\)|[a-z_][\w$]*|"[^"]+")\)?(?:::[\w ]+(?:\([\d,]+\))?(?:\[\])?)?\s(?:=|<|>|<=|>=)\s/gi;

/** Columns that a condition compares; none for alternatives (OR). */
function comparedColumns(condition: string): string[] {
  if (/\bOR\b/.test(condition)) return [];
  const columns = Array.from(condition.matchAll(COMPARED), ([, column = '']) => column);
  return [...new Set(columns)].slice(0, 3);
}

/** Reading all rows of a smaller table is right. */
export const LARGE_TABLE = 1000;
/** A filter that keeps at most this share of the rows suggests an index. */
const KEPT_SHARE = 0.1;

export interface WastefulScan {
  relation: string;
  columns: readonly string[];
  rows: number;
  kept: number;
}

/** A node that reads a large table for few of its rows; null for any other. */
export function wastefulScan(
  { type, relation = '', rows: kept = 0, terms }: PlanNode,
  tables: QueryPlan['tables'],
): WastefulScan | null {
  const rows = tables[relation] ?? 0;
  const filter = terms?.Filter;
  if (!type.endsWith('Seq Scan') || filter === undefined) return null;
  if (rows < LARGE_TABLE || kept > rows * KEPT_SHARE) return null;
  return { relation, columns: comparedColumns(filter), rows, kept };
}
