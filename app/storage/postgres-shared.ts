/**
 * Shared parts (settings, the table of routes), one row each in `hindsight_shared`. Each process that writes profiles which refer to a
 * row updates its time every hour; retention deletes rows that no stored profile can refer to. Times are the database's.
 */
import type { SharedPart } from '../profiler/storage.ts';
import { type Store, tableIn } from './pool.ts';
import { storable, storableDocument } from './text.ts';

const NOW = '(extract(epoch from now()) * 1000)::bigint';
const MINUTE = 60_000;
/** More than the hour after which a part in use is stored again, plus differences between clocks. */
const SLACK_MS = 2 * 3_600_000;

const tableOf = ({ schema }: Store): string => tableIn(schema, 'hindsight_shared');

/** In the same order in all processes, so that they never deadlock. */
export async function storeShared(store: Store, parts: readonly SharedPart[]): Promise<void> {
  if (parts.length === 0) return;
  const sorted = [...parts].sort((a, b) => (a.id < b.id ? -1 : 1));
  await store.pool.query(
    `insert into ${tableOf(store)} as stored (id, text, used_at)
     select id, text, ${NOW} from unnest($1::text[], $2::text[]) as part (id, text)
     on conflict (id) do update set used_at = excluded.used_at
     where stored.used_at < excluded.used_at - ${MINUTE}`,
    [sorted.map(({ id }) => storable(id)), sorted.map(({ text }) => storableDocument(text))],
  );
}

export async function readShared(store: Store, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const { rows } = await store.pool.query<{ id: string; text: string }>(
    `select id, text from ${tableOf(store)} where id = any($1::text[])`,
    [ids.map(storable)],
  );
  return new Map(rows.map(({ id, text }) => [id, text]));
}

/** Deletes parts that were last used well before the oldest profile started. */
export async function purgeShared(store: Store): Promise<void> {
  const table = tableOf(store);
  await store.pool.query(
    `delete from ${table} where id in (
       select id from ${table} where used_at < coalesce(
         (select min(started_at) from ${tableIn(store.schema, 'hindsight_profiles')}), ${NOW}) - ${SLACK_MS}
       for update skip locked)`,
  );
}
