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

export async function down(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  const found = await knex.raw<{ rows: { indexname: string }[] }>(
    `select indexname from pg_indexes
     where schemaname = ? and tablename = 'hindsight_amendments' and indexdef like '%pin%'`,
    [schema],
  );
  for (const { indexname } of found.rows) await knex.raw('drop index ??.??', [schema, indexname]);
  for (const column of COLUMNS)
    await knex.raw('alter table ??.hindsight_profiles drop column ??', [schema, column]);
}
