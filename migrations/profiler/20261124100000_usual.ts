/**
 * Columns that say how a route usually is: size of the response, time in which the event loop was blocked. Both are null for profiles of
 * earlier releases.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

const COLUMNS = { response_bytes: 'bigint', blocked_ms: 'double precision' };

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  for (const [column, type] of Object.entries(COLUMNS))
    await knex.raw(`alter table ??.hindsight_profiles add column ?? ${type}`, [schema, column]);
}
