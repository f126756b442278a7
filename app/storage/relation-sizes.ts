/**
 * How much each partition holds, newest first, the net last. A partition whose time is over is counted once, by one of
 * all processes, which writes it down as the table's comment; so a round of retention reads little more than what came
 * since. Deleting rows of a partition takes its comment away.
 */
import type { Statements } from './pool.ts';
import { NET, noteOf, type Partition, type PartitionSize } from './partitions.ts';
import { alone } from './purge-lock.ts';
import type { Purge } from './purge-partition.ts';

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

async function measure(
  trx: Statements,
  { schema, name, condition }: { schema: string; name: string; condition: string },
): Promise<PartitionSize> {
  await trx.raw(`set local statement_timeout = ${SUM_TIMEOUT_MS}`);
  const result = await trx.raw<{ rows: { requests: string; bytes: string | null }[] }>(
    `select count(*) filter (where kind = 'request') as requests, sum(bytes) as bytes
     from ??.?? where ${condition}`,
    [schema, name],
  );
  const row = result.rows[0];
  return { requests: Number(row?.requests ?? 0), bytes: Number(row?.bytes ?? 0) };
}

/** Undefined where another process purges. */
async function measureAndNote(
  { pool, schema }: Purge,
  name: string,
  condition: string,
): Promise<PartitionSize | undefined> {
  return alone({ pool, schema }, async (trx) => {
    const size = await measure(trx, { schema, name, condition });
    await trx.raw(`comment on table ??.?? is '${noteOf(size)}'`, [schema, name]);
    return size;
  });
}

export async function relationSizes(purge: Purge, condition: string): Promise<RelationSize[]> {
  const partitions = [...(await purge.partitions())].reverse();
  const sizes: RelationSize[] = [];
  for (const partition of [...partitions, null]) {
    const name = partition?.name ?? NET;
    const closed = partition !== null && partition.until < Date.now() - LATE_MS;
    const known = closed ? (partition.size ?? (await measureAndNote(purge, name, condition))) : undefined;
    const size =
      known ??
      (await purge.pool.transaction((trx) => measure(trx, { schema: purge.schema, name, condition })));
    sizes.push({ name, partition, closed, ...size });
  }
  return sizes;
}
