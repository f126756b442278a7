/** The numbers by which the pages name queries. BEGIN, COMMIT and settings of a connection have none, because no figure counts them. */
import { isControl } from '../../profiler/transaction-sql.ts';
import type { Kept } from './panel-data.ts';

/** Of each query, in order; null for those without one. */
export function queryNumbers({
  queries,
  statements,
}: Pick<Kept['database'], 'queries' | 'statements'>): (number | null)[] {
  const areControl = statements.map(({ sql }) => isControl(sql));
  let last = 0;
  return queries.map(({ statement }) => (areControl[statement] === true ? null : ++last));
}
