/** Makes the profiler's tables for a host, on its Knex or, where it has none, on one that is opened for that alone. */
import type { Knex } from 'knex';
import { type MigrationRun, runProfilerMigrations as run } from '../database/run-migrations.ts';
import { type GivenConnection, settingsIn } from '../storage/knex-connection.ts';

export type HostMigrationOptions = { schema: string } & (
  | { knex: Knex; connection?: undefined }
  /** A URL, settings of `pg`, or what makes either. */
  | { connection: GivenConnection; knex?: undefined }
);

/** Rejects with a MigrationError whose message says what to do. Several processes that start at once migrate once. */
export async function runProfilerMigrations(options: HostMigrationOptions): Promise<MigrationRun> {
  const { schema } = options;
  if (options.knex !== undefined) return run({ knex: options.knex, schema });
  const { default: createKnex } = await import('knex');
  const connection = await settingsIn(options.connection);
  const knex = createKnex({ client: 'pg', connection, pool: { min: 0, max: 1 } });
  try {
    return await run({ knex, schema });
  } finally {
    await knex.destroy();
  }
}
