/** Properties of statements, computed once per text: an application repeats few different ones. */
import { bindingColumns, labelOf, shapeOf } from './statements.ts';

export interface StatementFacts {
  /** The same for statements that differ only in values. */
  shape: string;
  label: string;
  /** By placeholder. */
  columns: readonly (string | null)[];
}

export interface StatementBook {
  about(sql: string, system?: string): StatementFacts;
}

/** Maximum texts cached; statements with values in their text are unlimited. */
const REMEMBERED = 1000;

export function createStatementBook(): StatementBook {
  const known = new Map<string, StatementFacts>();
  return {
    about(sql, system) {
      const key = `${system ?? ''}\n${sql}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const facts = {
        shape: shapeOf(sql, system),
        label: labelOf(sql, system),
        columns: bindingColumns(sql, system),
      };
      if (known.size >= REMEMBERED) known.clear();
      known.set(key, facts);
      return facts;
    },
  };
}
