/**
 * Requests and bytes of each partition, newest first, the default partition last. A partition whose range has ended is counted once, by
 * one process, which stores the counts as the table's comment, so that retention reads little more than what is new. Deleting rows of a
 * partition removes its comment.
 */
import { type Client, inTransaction, type Store, tableIn, withClient } from './pool.ts';
import { listPartitions, NET, noteOf, type Partition, type PartitionSize } from './partitions.ts';
import { alone } from './purge-lock.ts';

export interface RelationSize extends PartitionSize {
  name: string;
  /** null for the default partition. */
  partition: Partition | null;
  /** Nothing is added to it any more. */
  closed: boolean;
}

/** Milliseconds after its end in which requests that took long are still added to a partition. */
const LATE_MS = 60_000;
const SUM_TIMEOUT_MS = 10_000;

async function measure(client: Client, table: string, condition: string): Promise<PartitionSize> {
  const { rows } = await client.query<{ requests: string; bytes: string | null }>(
    `select count(*) filter (where kind = 'request') as requests, sum(bytes) as bytes
     from ${table} where ${condition}`,
  );
  return { requests: Number(rows[0]?.requests ?? 0), bytes: Number(rows[0]?.bytes ?? 0) };
}

/** Undefined if another process purges. */
async function measureAndNote(
  store: Store,
  table: string,
  condition: string,
): Promise<PartitionSize | undefined> {
  return alone(store, async (client) => {
    const size = await measure(client, table, condition);
    await client.query(`comment on table ${table} is '${noteOf(size)}'`);
    return size;
  });
}

export async function relationSizes(store: Store, condition: string): Promise<RelationSize[]> {
  const partitions = (await listPartitions(store.pool, store.schema)).reverse();
  const sizes: RelationSize[] = [];
  for (const partition of [...partitions, null]) {
    const name = partition?.name ?? NET;
    const table = tableIn(store.schema, name);
    const closed = partition !== null && partition.until < Date.now() - LATE_MS;
    const known = closed ? (partition.size ?? (await measureAndNote(store, table, condition))) : undefined;
    const size =
      known ??
      (await withClient(store.pool, (client) =>
        inTransaction(client, SUM_TIMEOUT_MS, () => measure(client, table, condition)),
      ));
    sizes.push({ name, partition, closed, ...size });
  }
  return sizes;
}
