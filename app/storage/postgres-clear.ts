/**
 * Deletes everything except pinned profiles: drops old partitions, as retention does, and truncates the others, or deletes rows if
 * pinned ones are among them. Tables that are locked are retried.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { listPartitions, NET, PARENT, type Partition } from './partitions.ts';
import { pinnedTokens } from './pins.ts';
import { quoted, type Store, tableIn } from './pool.ts';
import { alone } from './purge-lock.ts';
import { dropPartition } from './purge-partition.ts';

const TRIES = 10;
const PAUSE_MS = 200;

/** Retries work that returns undefined because another process purges or holds a lock. */
async function withRetries<T>(work: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const done = await work();
    if (done !== undefined) return done;
    await sleep(PAUSE_MS);
  }
  return undefined;
}

function emptyTable(store: Store, name: string): Promise<number | undefined> {
  const table = tableIn(store.schema, name);
  const pinned = pinnedTokens(quoted(store.schema));
  return alone(store, async (client) => {
    const kept = await client.query(`select 1 from ${table} where token in (${pinned}) limit 1`);
    if (kept.rows.length === 0) {
      const counted = await client.query<{ count: number }>(`select count(*)::int as count from ${table}`);
      await client.query(`truncate ${table}`);
      return counted.rows[0]?.count ?? 0;
    }
    const deleted = await client.query(
      `delete from ${table} where token not in (${pinned}) and (parent is null or parent not in (${pinned}))`,
    );
    if (name !== NET) await client.query(`comment on table ${table} is null`);
    return deleted.rowCount ?? 0;
  });
}

function isOver({ until }: Partition): boolean {
  return until < Date.now();
}

export async function clearProfiles(store: Store): Promise<number> {
  const { pool, schema } = store;
  let gone = 0;
  for (const partition of await listPartitions(pool, schema)) {
    // A partition that was locked is not dropped; its rows are deleted here.
    if (isOver(partition)) gone += await dropPartition(store, partition, { reasons: ['pinned'] });
  }
  for (const { name } of [...(await listPartitions(pool, schema)), { name: NET }])
    gone += (await withRetries(() => emptyTable(store, name))) ?? 0;
  await pool.query(
    `delete from ${tableIn(schema, 'hindsight_amendments')} as beside
     where not exists (select 1 from ${tableIn(schema, PARENT)} as profile where profile.token = beside.token)`,
  );
  return gone;
}
