/**
 * What many profiles refer to (settings, the table of routes), a row each in `hindsight_shared`.
 *
 * A row is used again hourly by each process that writes profiles which refer to it; those that no stored profile can
 * refer to any more go with the retention. Moments are the database's own.
 */
import type { Pool } from './pool.ts';
import type { SharedPart } from '../profiler/storage.ts';
import { storable, storableDocument } from './text.ts';

export interface SharedTable {
  pool: Pool;
  schema: string;
}

const NOW = '(extract(epoch from now()) * 1000)::bigint';
const MINUTE = 60_000;
/** Above the hour after which a part in use is kept anew, and what clocks may differ by. */
const SLACK_MS = 2 * 3_600_000;

/** In one order everywhere, so that two processes never wait for each other crosswise. */
export async function keepShared({ pool, schema }: SharedTable, parts: readonly SharedPart[]): Promise<void> {
  if (parts.length === 0) return;
  const sorted = [...parts].sort((a, b) => (a.id < b.id ? -1 : 1));
  await pool.raw(
    `insert into ??.hindsight_shared as stored (id, text, used_at)
     select id, text, ${NOW} from unnest(?::text[], ?::text[]) as part (id, text)
     on conflict (id) do update set used_at = excluded.used_at
     where stored.used_at < excluded.used_at - ${MINUTE}`,
    [schema, sorted.map(({ id }) => storable(id)), sorted.map(({ text }) => storableDocument(text))],
  );
}

export async function readShared(
  { pool, schema }: SharedTable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const result = await pool.raw<{ rows: { id: string; text: string }[] }>(
    'select id, text from ??.hindsight_shared where id = any(?::text[])',
    [schema, ids.map(storable)],
  );
  return new Map(result.rows.map(({ id, text }) => [id, text]));
}

/** Deletes what was last used well before the oldest profile began; what is in use this moment is left. */
export async function purgeShared({ pool, schema }: SharedTable): Promise<void> {
  await pool.raw(
    `delete from ??.hindsight_shared where id in (
       select id from ??.hindsight_shared where used_at < coalesce(
         (select min(started_at) from ??.hindsight_profiles), ${NOW}) - ${SLACK_MS}
       for update skip locked)`,
    [schema, schema, schema],
  );
}
