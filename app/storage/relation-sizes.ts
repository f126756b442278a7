/**
 * How much each partition holds, newest first, the net last. A partition whose time is over is counted once and
 * remembered, so that a round of retention reads little more than what came since.
 */
import type { Knex } from 'knex';
import { NET, type Partition } from './partitions.ts';
import type { Purge } from './purge-partition.ts';

export interface RelationSize {
  name: string;
  /** null for the net. */
  partition: Partition | null;
  /** Nothing new comes into it. */
  closed: boolean;
  requests: number;
  bytes: number;
}

/** Milliseconds after its end in which a partition may still get what ended late. */
const LATE_MS = 60_000;
const SUM_TIMEOUT_MS = 10_000;

async function measure(
  { knex, schema }: { knex: Knex; schema: string },
  name: string,
  condition: string,
): Promise<{ requests: number; bytes: number }> {
  return knex.transaction(async (trx) => {
    await trx.raw(`set local statement_timeout = ${SUM_TIMEOUT_MS}`);
    const result = await trx.raw<{ rows: { requests: string; bytes: string | null }[] }>(
      `select count(*) filter (where kind = 'request') as requests, sum(bytes) as bytes
       from ??.?? where ${condition}`,
      [schema, name],
    );
    const row = result.rows[0];
    return { requests: Number(row?.requests ?? 0), bytes: Number(row?.bytes ?? 0) };
  });
}

export async function relationSizes(purge: Purge, condition: string): Promise<RelationSize[]> {
  const partitions = [...(await purge.partitions())].reverse();
  const sizes: RelationSize[] = [];
  for (const partition of [...partitions, null]) {
    const name = partition?.name ?? NET;
    const closed = partition !== null && partition.until < Date.now() - LATE_MS;
    const known = closed ? purge.sizes.get(name) : undefined;
    const size = known ?? (await measure(purge, name, condition));
    if (closed) purge.sizes.set(name, size);
    sizes.push({ name, partition, closed, ...size });
  }
  return sizes;
}
