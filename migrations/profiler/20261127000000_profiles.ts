/**
 * The profiler's own tables: profiles, with the late facts beside them, and the settings shared by all processes.
 *
 * The document is `text`, not jsonb: jsonb refuses U+0000 and doubles the server's work, and we never search inside the document. Names
 * include their schema, because no search path is set. No table has a key without its token (or id), a foreign key or a trigger, so that
 * Citus can distribute it.
 */
import type { Knex } from 'knex';

export interface ProfilerMigrationOptions {
  schema: string;
}

/** Moves long documents out of the row, so that a list reads little. URLs, which a list shows, stay in it. */
const ROW_BYTES = 512;

const INDEXES = [
  'create index on ??.hindsight_profiles (started_at desc, token)',
  'create index on ??.hindsight_profiles (parent) where parent is not null',
  'create index on ??.hindsight_profiles (trace_id) where trace_id is not null',
  'create index on ??.hindsight_profiles (token) where pinned',
  'create index on ??.hindsight_profiles (started_at desc, token) where findings is null',
];

export async function up(knex: Knex, { schema }: ProfilerMigrationOptions): Promise<void> {
  await knex.raw(
    `create table ??.hindsight_profiles (
      token text collate "C" primary key,
      kind text not null,
      state text not null,
      parent text collate "C",
      child text collate "C",
      method text not null,
      url text not null,
      origin text,
      status integer,
      route text,
      client_address text not null,
      started_at bigint not null,
      duration_ms double precision,
      process text not null,
      error text,
      queries integer not null,
      findings integer,
      mark text,
      marks text,
      location text,
      referrer text,
      dest text,
      response_bytes bigint,
      blocked_ms double precision,
      release text,
      trace_id text,
      caller_span text,
      summary text,
      outcome text,
      request_id text,
      content_type text,
      handler text,
      handler_place text,
      bytes integer not null,
      pinned boolean not null default false,
      beside jsonb,
      document text not null
    ) with (toast_tuple_target = ${ROW_BYTES})`,
    [schema],
  );
  await knex.raw(
    'create table ??.hindsight_settings (name text primary key, value text not null, written_at bigint not null default 0)',
    [schema],
  );
  for (const sql of INDEXES) await knex.raw(sql, [schema]);
}
