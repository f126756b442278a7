/**
 * Everything goes but what is pinned: partitions whose time is over by dropping them, as retention does, the others by
 * truncating them, or by deleting rows where a pinned one is among them. What can't be had for a moment is tried again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NET, type Partition } from './partitions.ts';
import { pinnedIn } from './pins.ts';
import { alone } from './purge-lock.ts';
import { dropPartition, type Purge } from './purge-partition.ts';

const TRIES = 10;
const PAUSE_MS = 200;

/** Undefined: another process was at it, or a lock was held. */
async function patiently<T>(work: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const done = await work();
    if (done !== undefined) return done;
    await sleep(PAUSE_MS);
  }
  return undefined;
}

function emptyTable(purge: Purge, name: string): Promise<number | undefined> {
  const { schema } = purge;
  const pinned = pinnedIn(schema);
  return alone(purge, async (trx) => {
    const kept = await trx.raw<{ rows: unknown[] }>(
      `select 1 from ??.?? where token in (${pinned}) limit 1`,
      [schema, name],
    );
    if (kept.rows.length === 0) {
      const counted = await trx.raw<{ rows: { count: number }[] }>(
        'select count(*)::int as count from ??.??',
        [schema, name],
      );
      await trx.raw('truncate ??.??', [schema, name]);
      return counted.rows[0]?.count ?? 0;
    }
    const deleted = await trx.raw<{ rowCount: number }>(
      `delete from ??.?? where token not in (${pinned}) and (parent is null or parent not in (${pinned}))`,
      [schema, name],
    );
    if (name !== NET) await trx.raw('comment on table ??.?? is null', [schema, name]);
    return deleted.rowCount;
  });
}

function isOver({ until }: Partition): boolean {
  return until < Date.now();
}

export async function clearProfiles(purge: Purge): Promise<number> {
  const { pool, schema } = purge;
  let gone = 0;
  for (const partition of await purge.partitions()) {
    // Dropping one counts none where it could not be had; what is left then is emptied.
    if (isOver(partition)) gone += await dropPartition(purge, partition, { reasons: ['pinned'] });
  }
  for (const { name } of [...(await purge.partitions()), { name: NET }])
    gone += (await patiently(() => emptyTable(purge, name))) ?? 0;
  await pool.raw(
    `delete from ??.hindsight_amendments as beside
     where not exists (select 1 from ??.hindsight_profiles as profile where profile.token = beside.token)`,
    [schema, schema],
  );
  return gone;
}
