/** Properties of statements, computed once per text: an application repeats few different ones. */
import { dropOldest } from '../../profiler/drop-oldest.ts';
import { sourcesIn } from './selected-names.ts';
import { bindingColumns, labelOf, operationOf, shapeOf, type Operation } from './statements.ts';

export interface StatementFacts {
  shape: string;
  label: string;
  operation: Operation;
  columns: readonly (string | null)[];
  sources: ReadonlyMap<string, string>;
}

const REMEMBERED = 1000;
const known = new Map<string, StatementFacts>();

export function aboutStatement(sql: string, system?: string): StatementFacts {
  const key = `${system ?? ''}\n${sql}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const facts = {
    shape: shapeOf(sql, system),
    label: labelOf(sql, system),
    operation: operationOf(sql, system),
    columns: bindingColumns(sql, system),
    sources: sourcesIn(sql, system),
  };
  known.set(key, facts);
  dropOldest(known, REMEMBERED);
  return facts;
}

/** The label of a stored statement: `select … from users`, `User.findMany: select … from users`. */
export function labelOfStatement({
  sql,
  system,
  above,
}: {
  sql: string;
  system?: string;
  above?: string;
}): string {
  const { label } = aboutStatement(sql, system);
  return above === undefined ? label : `${above}: ${label}`;
}
