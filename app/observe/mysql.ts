/** `mysql2` and `mysql` -> facts `query`, by the channels of channels/mysql.ts. */
import { type MysqlQuery, mysqlChannels } from './channels/mysql.ts';
import { type DriverObserverOptions, observePooled } from './pooled.ts';

/** A list of rows, or what a change reports. */
function rowsOf(result: unknown): number | null {
  if (Array.isArray(result)) return result.length;
  const count: unknown = (result as { affectedRows?: unknown } | null | undefined)?.affectedRows;
  return typeof count === 'number' ? count : null;
}

/** What mysql2 and mysql have in common; none of it is documented: without it nobody is named. */
interface Pool {
  _allConnections?: { length: number; toArray?: () => object[] } & Iterable<object>;
  _freeConnections?: { length: number };
  config?: { connectionLimit?: number };
}

function inUse(pool: Pool | undefined): readonly object[] {
  const { _allConnections: all, _freeConnections: free, config } = pool ?? {};
  if (all === undefined || free?.length !== 0 || all.length < (config?.connectionLimit ?? Infinity))
    return [];
  return all.toArray?.() ?? [...all];
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
    inUse: ({ pool }) => inUse(pool),
  });
}
