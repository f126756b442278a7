/** One read instead of a loop, as SQL. */
import { differingNames, inOneQuery } from '../../panels/shared/one-query.ts';
import { pick } from '../../panels/shared/rows.ts';
import type { FixCode } from '../../profiler/finding.ts';
import type { Kept } from './kept.ts';

type Database = Kept['database'];

/** null if the reads differ in more than one value, or one statement can't return what they read. */
export function loopCode(
  { queries, statements }: Database,
  group: Database['groups'][number],
): FixCode | null {
  const members = pick(queries, group.members);
  const [first] = members;
  const [column, ...others] = differingNames(members);
  if (first === undefined || column === undefined || others.length > 0) return null;
  const sql = statements[group.statement]?.sql ?? '';
  const text = inOneQuery(sql.trim(), column, first);
  if (text === null) return null;
  const unique = /\blimit\b/i.test(sql) ? `, and that ${column} is unique: each read asked for one row` : '';
  return {
    language: 'sql',
    text: `${text}\n-- the list: all values of ${column} that the loop asked for`,
    assumes: `Assumes that the values are known before the loop${unique}. Find the rows of each value by ${column}.`,
  };
}
