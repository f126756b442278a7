/**
 * Indexes from which a search and its total are read without the rows, in a third less space. URLs stay in the row.
 *
 * An address, a route or a status is stored once per index page instead of with each time; a partition has few enough rows of each to
 * sort them. Time is ascending, so that new entries are appended and pages fill up, and is read backwards. The kind is a condition of
 * the index, which takes no space and allows counting matches in the index alone.
 *
 * Only the template changes, and with it all later partitions. Existing partitions keep their indexes, which also work, until they
 * are dropped.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

const NET = 'hindsight_profiles_default';

/** Matches the indexes to replace. Those on tokens, trigrams and parents stay. */
const REPLACED = /\((started_at DESC|kind, started_at DESC|client_address|status|route|duration_ms)/;

const INDEXES = [
  '(started_at, token desc)',
  "(kind, started_at, token desc) where kind <> 'request'",
  "(client_address) where kind = 'request'",
  "(status) where kind = 'request' and status <> 200",
  "(started_at) where kind = 'request' and status >= 400 and status < 500",
  "(started_at) where kind = 'request' and (error is not null or status >= 500)",
  "(route) where kind = 'request'",
  // Read backwards: the longest first, those without a duration last.
  "(duration_ms nulls first) where kind = 'request'",
];

/** Bytes of a row without its document, which is moved out of the row. A lower number would move URLs out, too. */
const ROW_BYTES = 512;

async function partitionsOf(knex: Knex, schema: string): Promise<string[]> {
  const result = await knex.raw<{ rows: { name: string }[] }>(
    `select part.relname as name from pg_inherits
     join pg_class part on part.oid = inhrelid
     join pg_class whole on whole.oid = inhparent
     join pg_namespace place on place.oid = whole.relnamespace
     where whole.relname = 'hindsight_profiles' and place.nspname = ?`,
    [schema],
  );
  return result.rows.map(({ name }) => name);
}

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  for (const name of await partitionsOf(knex, schema))
    await knex.raw(`alter table ??.?? set (toast_tuple_target = ${ROW_BYTES})`, [schema, name]);
  const found = await knex.raw<{ rows: { indexname: string; indexdef: string }[] }>(
    'select indexname, indexdef from pg_indexes where schemaname = ? and tablename = ?',
    [schema, NET],
  );
  for (const { indexname, indexdef } of found.rows)
    if (REPLACED.test(indexdef)) await knex.raw('drop index ??.??', [schema, indexname]);
  for (const columns of INDEXES) await knex.raw(`create index on ??.?? ${columns}`, [schema, NET]);
}
