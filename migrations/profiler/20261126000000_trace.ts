/**
 * The trace that a request belongs to, and the span of its caller, so that calls stand below the request that made them. Both are null for
 * requests without a trace, which takes no space in a row, and for profiles of earlier releases.
 *
 * As before, only the template and all later partitions get the index.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  for (const column of ['trace_id', 'caller_span'])
    await knex.raw('alter table ??.hindsight_profiles add column ?? text', [schema, column]);
  await knex.raw(
    'create index on ??.hindsight_profiles_default (trace_id, started_at) where trace_id is not null',
    [schema],
  );
}
