/** Creates the profiler's tables for a host, with the host's Knex or with a connection opened for this alone. */
import type { Knex } from 'knex';
import type { MigrationRun } from '../database/profiler-migrations.ts';
import { runProfilerMigrations as run, runProfilerMigrationsAt } from '../database/run-migrations.ts';
import type { HostKnex } from '../profiler/host-knex.ts';
import { type GivenConnection, settingsIn } from '../storage/pg-settings.ts';

export type HostMigrationOptions = { schema: string } & (
  | { knex: HostKnex; connection?: undefined }
  /** A URL, settings of `pg`, or a function that returns either. */
  | { connection: GivenConnection; knex?: undefined }
);

/** Rejects with a MigrationError whose message says what to do. Several processes that start at once migrate once. */
export async function runProfilerMigrations(options: HostMigrationOptions): Promise<MigrationRun> {
  const { schema } = options;
  if (options.knex !== undefined) return run({ knex: options.knex as unknown as Knex, schema });
  return runProfilerMigrationsAt(await settingsIn(options.connection), schema);
}
