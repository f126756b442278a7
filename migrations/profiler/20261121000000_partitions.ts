/**
 * Partitions profiles by time, so that old ones are deleted by dropping a table instead of deleting rows.
 *
 * The default partition receives rows that fit no other partition and rows that outlive theirs. It is also the template of all others:
 * its indexes are copied, and the parent has none. A token is unique within each partition, because a partitioned table can't have that
 * index as a whole; the writer checks all partitions before it stores.
 *
 * The existing table becomes a partition unchanged: nothing is copied or lost.
 */
import type { Knex } from 'knex';
import type { ProfilerMigrationOptions } from './20261120000000_profiles.ts';

const HOUR = 3_600_000;

const COLUMNS =
  'token, kind, state, parent, child, method, url, origin, status, route, client_address, started_at, duration_ms, ' +
  'process, error, queries, findings, mark, bytes, document';

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

async function ask(knex: Knex, sql: string, values: readonly string[]): Promise<string | null> {
  const result = await knex.raw<{ rows: { value: string | null }[] }>(sql, values);
  return result.rows[0]?.value ?? null;
}

async function createIndexes(knex: Knex, schema: string, table: string): Promise<void> {
  for (const sql of INDEXES) await knex.raw(sql, [schema, table]);
  const trigrams = await ask(
    knex,
    `select n.nspname as value from pg_opclass c join pg_namespace n on n.oid = c.opcnamespace
     where c.opcname = 'gin_trgm_ops'`,
    [],
  );
  if (trigrams === null) return;
  await tryTo(knex, (trx) =>
    trx.raw('create index on ??.?? using gin (url ??.gin_trgm_ops) with (gin_pending_list_limit = 1024)', [
      schema,
      table,
      trigrams,
    ]),
  );
}

async function dropIndexes(knex: Knex, schema: string, table: string): Promise<void> {
  await knex.raw('alter table ??.?? drop constraint hindsight_profiles_pkey', [schema, table]);
  const found = await knex.raw<{ rows: { indexname: string }[] }>(
    'select indexname from pg_indexes where schemaname = ? and tablename = ?',
    [schema, table],
  );
  for (const { indexname } of found.rows) await knex.raw('drop index ??.??', [schema, indexname]);
}

/** Moves long documents out of the row (TOAST), so that a search reads little. */
async function keepRowsShort(knex: Knex, schema: string, table: string): Promise<void> {
  await knex.raw('alter table ??.?? set (toast_tuple_target = 128)', [schema, table]);
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
  await keepRowsShort(knex, schema, 'hindsight_profiles_default');
  await createIndexes(knex, schema, 'hindsight_profiles_default');
  await knex.raw(
    'create index on ??.hindsight_profiles_default (kept, started_at desc) where kept is not null',
    [schema],
  );
  await attachStored(knex, schema);
}

async function attachStored(knex: Knex, schema: string): Promise<void> {
  const first = 'hindsight_profiles_first';
  const from = await ask(knex, 'select min(started_at)::text as value from ??.??', [schema, first]);
  if (from === null) {
    await knex.raw('drop table ??.??', [schema, first]);
    return;
  }
  const last = await ask(knex, 'select max(started_at)::text as value from ??.??', [schema, first]);
  const until = String((Math.floor(Math.max(Number(last), Date.now()) / HOUR) + 1) * HOUR);
  const name = `hindsight_profiles_${from}_${until}`;
  await dropIndexes(knex, schema, first);
  await createIndexes(knex, schema, first);
  await knex.raw('alter table ??.?? rename to ??', [schema, first, name]);
  await knex.raw(
    `alter table ??.hindsight_profiles attach partition ??.?? for values from (${from}) to (${until})`,
    [schema, schema, name],
  );
}

export async function down(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  await knex.raw('alter table ??.hindsight_profiles rename to hindsight_profiles_parts', [schema]);
  await knex.raw(
    `create table ??.hindsight_profiles (like ??.hindsight_profiles_parts, constraint hindsight_profiles_pkey primary key (token))`,
    [schema, schema],
  );
  await knex.raw(
    `insert into ??.hindsight_profiles (${COLUMNS})
     select ${COLUMNS} from ??.hindsight_profiles_parts on conflict (token) do nothing`,
    [schema, schema],
  );
  await knex.raw('alter table ??.hindsight_profiles drop column kept', [schema]);
  await knex.raw('drop table ??.hindsight_profiles_parts', [schema]);
  for (const columns of [
    '(kind, started_at desc, token)',
    '(parent) where parent is not null',
    '(client_address, started_at desc)',
    '(status, started_at desc) where status >= 400',
  ])
    // prettier-ignore
    await knex.raw(`create index on ??.hindsight_profiles ${columns}`, [schema]);
}
