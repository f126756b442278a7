/** `mysql2` and `mysql` -> facts `query`, by the channels of channels/mysql.ts. */
import { type MysqlQuery, mysqlChannels } from './channels/mysql.ts';
import { type DriverObserverOptions, observePooled } from './pooled.ts';

/** A list of rows, or what a change reports. */
function rowsOf(result: unknown): number | null {
  if (Array.isArray(result)) return result.length;
  const count: unknown = (result as { affectedRows?: unknown } | null | undefined)?.affectedRows;
  return typeof count === 'number' ? count : null;
}

export function observeMysql(options: DriverObserverOptions): { close(): void } {
  return observePooled<MysqlQuery>({
    ...options,
    ...mysqlChannels,
    system: 'mysql',
    library: 'mysql2',
    describe: ({ connection, sql, values }) => ({
      connection,
      sql,
      bindings: values === undefined || typeof values === 'object' ? values : [values],
    }),
    outcomeOf: ({ result, error }) => ({ rows: rowsOf(result), error }),
  });
}
