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

/** The last write of a request to each table. */
export function writesOf({ head, kept: { database } }: Other): Map<string, TableWriter> {
  const { queries = [], statements = [] } = database ?? {};
  const tables = statements.map(({ sql, system }) =>
    isWriting(sql) ? aboutStatement(sql, system).table : undefined,
  );
  const writes = new Map<string, TableWriter>();
  for (const { statement, error, rows, caller, path } of queries) {
    const table = tables[statement];
    if (table !== undefined && error === null && rows !== 0)
      writes.set(table, { table, head, place: caller, path });
  }
  return writes;
}

/** `before`: the newest first. `written`: reads whose writer is known, by panel and index: `database 3`. */
export function tableWriters(
  own: Other,
  before: readonly Other[],
  written: ReadonlySet<string>,
): TableWriter[] {
  const tables = tablesRead(own, written);
  const writes = tables.size === 0 ? [] : before.map(writesOf);
  return [...tables].flatMap(
    (table) => writes.map((of) => of.get(table)).find((write) => write !== undefined) ?? [],
  );
}
