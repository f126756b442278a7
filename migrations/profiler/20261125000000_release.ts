/**
 * The release that responded, so that requests can be compared by release. It is null for profiles of earlier versions, and where the
 * release is unknown. Without an index: what lists and summaries read is found by time or route.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  await knex.raw('alter table ??.hindsight_profiles add column release text', [schema]);
}
