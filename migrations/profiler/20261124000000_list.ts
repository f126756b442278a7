/**
 * Columns by which the list groups and marks requests: target of a redirect, page that requested a subresource, badges of findings.
 * All are null for most requests, which takes no space in a row.
 *
 * As before, only the template and all later partitions get the index; existing partitions are searched with their own indexes.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

const COLUMNS = ['marks', 'location', 'referrer', 'dest'];

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  for (const column of COLUMNS)
    await knex.raw('alter table ??.hindsight_profiles add column ?? text', [schema, column]);
  await knex.raw(
    "create index on ??.hindsight_profiles_default (started_at) where kind = 'request' and findings > 0",
    [schema],
  );
  await knex.raw("create index on ??.hindsight_amendments (token) where name = 'pin'", [schema]);
}
