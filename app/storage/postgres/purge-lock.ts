/** Transaction of one retention step: only while no other process purges, and without waiting long for locks. */
import { type Client, inTransaction, type Store, withClient } from '../pool.ts';
import { codeOf } from '../../errors.ts';

const LOCK_WAIT_MS = 300;
const STATEMENT_MS = 10_000;
/** SQLSTATE: lock_not_available, deadlock_detected. The next round tries again. */
const BUSY = new Set(['55P03', '40P01']);

function isBusy(error: unknown): boolean {
  return BUSY.has(codeOf(error));
}

/** Undefined if another process purges, or a lock is held. */
export async function alone<T>(
  { pool, schema }: Store,
  work: (client: Client) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withClient(pool, (client) =>
      inTransaction(client, STATEMENT_MS, async () => {
        await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`);
        const { rows } = await client.query<{ held: boolean }>(
          'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held',
          [`hindsight purge ${schema}`],
        );
        return rows[0]?.held === true ? work(client) : undefined;
      }),
    );
  } catch (error) {
    if (isBusy(error)) return undefined;
    throw error;
  }
}
