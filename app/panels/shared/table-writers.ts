/**
 * Which request wrote last to a table that this one read, if it is not known who wrote the rows themselves: of a sum, a list or a join nobody can
 * tell.
 */
import type { EarlierRequest } from '../../profiler/read/finding-rule.ts';
import type { TableWriter } from '../../profiler/panel.ts';
import { aboutStatement } from './about-statement.ts';
import type { Kept } from './panel-data.ts';
import { isRead, isWriting } from './statements.ts';

type Other = EarlierRequest<Partial<Kept>>;

function tablesRead({ kept: { database } }: Other, written: ReadonlySet<string>): Set<string> {
  const { queries = [], statements = [] } = database ?? {};
  const tables = queries.map(({ statement, error }, index) => {
    const { sql = '', system } = statements[statement] ?? {};
    const isLeftOut = error !== null || written.has(`database ${index}`) || !isRead(sql);
    return isLeftOut ? [] : (aboutStatement(sql, system).table ?? []);
  });
  return new Set(tables.flat());
}

function lastWriter(table: string, before: readonly Other[]): TableWriter | null {
  for (const { head, kept } of before) {
    const { queries = [], statements = [] } = kept.database ?? {};
    const write = queries.findLast(({ statement, error, rows }) => {
      const { sql = '', system } = statements[statement] ?? {};
      return error === null && rows !== 0 && isWriting(sql) && aboutStatement(sql, system).table === table;
    });
    if (write !== undefined) return { table, head, place: write.caller, path: write.path };
  }
  return null;
}

/** `before`: the newest first. `written`: reads whose writer is known, by panel and index: `database 3`. */
export function tableWriters(
  own: Other,
  before: readonly Other[],
  written: ReadonlySet<string>,
): TableWriter[] {
  return [...tablesRead(own, written)].flatMap((table) => lastWriter(table, before) ?? []);
}
