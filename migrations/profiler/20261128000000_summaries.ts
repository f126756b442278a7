/** Columns with which a row is all that is stored of a summary. */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261127000000_profiles.ts';

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  await knex.raw(
    `alter table ??.hindsight_profiles
      add column outcome text,
      add column request_id text,
      add column content_type text,
      add column handler text,
      add column handler_place text`,
    [schema],
  );
}
