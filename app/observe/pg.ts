/** `pg` and pg-pool -> facts `query`, by the channels of channels/pg.ts. */
import { type PgQuery, pgChannels } from './channels/pg.ts';
import { type DriverObserverOptions, observePooled } from './pooled.ts';
import { rowsOf } from './statement.ts';

export function observePg(options: DriverObserverOptions): { close(): void } {
  return observePooled<PgQuery>({
    ...options,
    ...pgChannels,
    system: 'postgresql',
    library: 'pg',
    describe: ({ client, text, values }) => ({ sql: text, bindings: values, connection: client }),
    outcomeOf: ({ result, error }) => ({ rows: rowsOf(result), error }),
  });
}
