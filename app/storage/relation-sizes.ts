/**
 * How much each partition holds, newest first, the net last. A partition whose time is over is counted once, by one of
 * all processes, which writes it down as the table's comment; so a round of retention reads little more than what came
 * since. Deleting rows of a partition takes its comment away.
 */
import { type Client, inTransaction, type Store, tableIn, withClient } from './pool.ts';
import { listPartitions, NET, noteOf, type Partition, type PartitionSize } from './partitions.ts';
import { alone } from './purge-lock.ts';

export interface RelationSize extends PartitionSize {
  name: string;
  /** null for the net. */
  partition: Partition | null;
  /** Nothing new comes into it. */
  closed: boolean;
}

/** Milliseconds after its end in which a partition may still get what ended late. */
const LATE_MS = 60_000;
const SUM_TIMEOUT_MS = 10_000;

async function measure(client: Client, table: string, condition: string): Promise<PartitionSize> {
  const { rows } = await client.query<{ requests: string; bytes: string | null }>(
    `select count(*) filter (where kind = 'request') as requests, sum(bytes) as bytes
     from ${table} where ${condition}`,
  );
  return { requests: Number(rows[0]?.requests ?? 0), bytes: Number(rows[0]?.bytes ?? 0) };
}

/** Undefined where another process purges. */
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
