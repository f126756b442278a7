/**
 * Indexes that a search and its total need no row for, in a third less space, and rows that keep their URL.
 *
 * An address, a route or a status stands once per page of an index instead of beside each time: within a partition there
 * are few enough rows of one to be sorted. Time ascends, so that what comes last is put last and pages fill up; it is
 * read backwards. The kind is a condition, which costs no byte and lets matches be counted in the index alone.
 *
 * The template changes, and with it all later partitions; those there are keep the indexes they have, which serve too,
 * until they go.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

const NET = 'hindsight_profiles_default';

/** Without the one of tokens, the trigrams, and that of parents, which stay. */
const REPLACED = /\((started_at DESC|kind, started_at DESC|client_address|status|route|duration_ms)/;

const INDEXES = [
  '(started_at, token desc)',
  "(kind, started_at, token desc) where kind <> 'request'",
  "(client_address) where kind = 'request'",
  "(status) where kind = 'request' and status <> 200",
  "(started_at) where kind = 'request' and status >= 400 and status < 500",
  "(started_at) where kind = 'request' and (error is not null or status >= 500)",
  "(route) where kind = 'request'",
  // Backwards: the longest first, those without a duration last.
  "(duration_ms nulls first) where kind = 'request'",
];

/** Bytes that a row may have beside its document, which leaves the row; a lower number drives out URLs too. */
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

/** Nothing: the release before finds what it needs in these as well. */
export async function down(): Promise<void> {
  await Promise.resolve();
}
