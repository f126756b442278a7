/**
 * Partitions profiles by time, so that old ones are deleted by dropping a table instead of deleting rows.
 *
 * The default partition receives rows that fit no other partition and rows that outlive theirs. It is also the template of all others:
 * its indexes are copied, and the parent has none. A token is unique within each partition, because a partitioned table can't have that
 * index as a whole; the writer checks all partitions before it stores.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

const NET = 'hindsight_profiles_default';

/** Each index serves a search that must be fast among a million profiles; see docs/decisions/0009. */
const INDEXES = [
  'create unique index on ??.?? (token)',
  'create index on ??.?? (started_at desc, token)',
  "create index on ??.?? (kind, started_at desc, token) where kind <> 'request'",
  'create index on ??.?? (parent) where parent is not null',
  'create index on ??.?? (client_address, started_at desc)',
  'create index on ??.?? (status, started_at desc) where status <> 200',
  'create index on ??.?? (started_at desc) where status >= 400 and status < 500',
  'create index on ??.?? (started_at desc) where error is not null or status >= 500',
  'create index on ??.?? (route, started_at desc)',
  'create index on ??.?? (duration_ms desc nulls last)',
];

/** Runs `work`; false if the server refuses it. */
async function tryTo(knex: Knex, work: (trx: Knex.Transaction) => Promise<unknown>): Promise<boolean> {
  try {
    await knex.transaction(work);
    return true;
  } catch {
    return false;
  }
}

async function createIndexes(knex: Knex, schema: string): Promise<void> {
  for (const sql of INDEXES) await knex.raw(sql, [schema, NET]);
  const found = await knex.raw<{ rows: { name: string }[] }>(
    `select n.nspname as name from pg_opclass c join pg_namespace n on n.oid = c.opcnamespace
     where c.opcname = 'gin_trgm_ops'`,
  );
  const trigrams = found.rows[0]?.name;
  if (trigrams === undefined) return;
  await tryTo(knex, (trx) =>
    trx.raw('create index on ??.?? using gin (url ??.gin_trgm_ops) with (gin_pending_list_limit = 1024)', [
      schema,
      NET,
      trigrams,
    ]),
  );
}

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  await tryTo(knex, (trx) => trx.raw('create extension if not exists pg_trgm'));
  await knex.raw('alter table ??.hindsight_profiles rename to hindsight_profiles_first', [schema]);
  await knex.raw('alter table ??.hindsight_profiles_first add column kept text', [schema]);
  await knex.raw(
    `create table ??.hindsight_profiles (like ??.hindsight_profiles_first) partition by range (started_at)`,
    [schema, schema],
  );
  await tryTo(knex, (trx) =>
    trx.raw('alter table ??.hindsight_profiles alter column document set compression lz4', [schema]),
  );
  await knex.raw('create table ??.hindsight_profiles_default partition of ??.hindsight_profiles default', [
    schema,
    schema,
  ]);
  // What an earlier release stored; the writer moves the rows of a partition's time into it.
  await knex.raw('insert into ??.?? select * from ??.hindsight_profiles_first', [schema, NET, schema]);
  // Moves long documents out of the row (TOAST), so that a search reads little.
  await knex.raw('alter table ??.?? set (toast_tuple_target = 128)', [schema, NET]);
  await createIndexes(knex, schema);
  await knex.raw(
    'create index on ??.hindsight_profiles_default (kept, started_at desc) where kept is not null',
    [schema],
  );
  await knex.raw('drop table ??.hindsight_profiles_first', [schema]);
}
