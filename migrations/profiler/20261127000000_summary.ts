/** Why only a summary of a request was recorded; null for those recorded in full. */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  await knex.raw('alter table ??.hindsight_profiles add column summary text', [schema]);
}
