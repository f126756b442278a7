/**
 * Stores text that many profiles refer to (settings, the table of routes) once instead of in each document, under a hash of its
 * content. The time of its last use tells retention which texts no stored profile refers to any more.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  await knex.raw(
    `create table ??.hindsight_shared (
      id text collate "C" primary key,
      text text not null,
      used_at bigint not null
    )`,
    [schema],
  );
}
