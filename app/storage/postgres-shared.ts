/**
 * What many profiles refer to (settings, the table of routes), a row each in `hindsight_shared`.
 *
 * A row is used again hourly by each process that writes profiles which refer to it; those that no stored profile can
 * refer to any more go with the retention. Moments are the database's own.
 */
import type { SharedPart } from '../profiler/storage.ts';
import { type Store, tableIn } from './pool.ts';
import { storable, storableDocument } from './text.ts';

const NOW = '(extract(epoch from now()) * 1000)::bigint';
const MINUTE = 60_000;
/** Above the hour after which a part in use is kept anew, and what clocks may differ by. */
const SLACK_MS = 2 * 3_600_000;

const tableOf = ({ schema }: Store): string => tableIn(schema, 'hindsight_shared');

/** In one order everywhere, so that two processes never wait for each other crosswise. */
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

/** Deletes what was last used well before the oldest profile began; what is in use this moment is left. */
export async function purgeShared(store: Store): Promise<void> {
  const table = tableOf(store);
  await store.pool.query(
    `delete from ${table} where id in (
       select id from ${table} where used_at < coalesce(
         (select min(started_at) from ${tableIn(store.schema, 'hindsight_profiles')}), ${NOW}) - ${SLACK_MS}
       for update skip locked)`,
  );
}
