/** What is told of a statement, worked out once per text: an application runs few different ones, again and again. */
import { bindingColumns, labelOf, shapeOf } from './statements.ts';

export interface StatementFacts {
  /** Alike for statements that differ only in values. */
  shape: string;
  label: string;
  /** By placeholder. */
  columns: readonly (string | null)[];
}

export interface StatementBook {
  about(sql: string): StatementFacts;
}

/** Texts remembered at most; statements that are built from values would fill any book. */
const REMEMBERED = 1000;

export function createStatementBook(): StatementBook {
  const known = new Map<string, StatementFacts>();
  return {
    about(sql) {
      const before = known.get(sql);
      if (before !== undefined) return before;
      const facts = { shape: shapeOf(sql), label: labelOf(sql), columns: bindingColumns(sql) };
      if (known.size >= REMEMBERED) known.clear();
      known.set(sql, facts);
      return facts;
    },
  };
}
