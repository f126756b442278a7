/** Positions of the write-ahead log: how a reader knows that a streaming replica has all that its primary had at a moment. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from './pool.ts';

/** Milliseconds between looks at the replica: 155 in all. A replica nearby is a few behind. */
const PAUSES = [5, 10, 20, 40, 80];

/** What was committed on the primary before this call is at or below it. */
export async function readPosition(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ position: string }>('select pg_current_wal_lsn()::text as position');
  return rows[0]?.position ?? '0/0';
}

async function isReplayed(pool: Pool, position: string): Promise<boolean | null> {
  const { rows } = await pool.query<{ reached: boolean | null }>(
    'select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() >= $1::pg_lsn end as reached',
    [position],
  );
  return rows[0]?.reached ?? null;
}

/** Waits a little for the replica; false: it is behind, null: the server is no replica. */
export async function hasReached(pool: Pool, position: string): Promise<boolean | null> {
  for (const pause of PAUSES) {
    const reached = await isReplayed(pool, position);
    if (reached !== false) return reached;
    await sleep(pause);
  }
  return isReplayed(pool, position);
}
