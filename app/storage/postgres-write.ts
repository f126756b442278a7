/**
 * Writes a batch of profiles in one transaction of two round trips: select the tokens; COPY and commit. An earlier version of the same
 * profile is deleted in between.
 *
 * A token that another request has is a clash: the stored profile stays, the new one is reported. Partitions can't share a unique
 * index, so the select prevents clashes across partitions, and the unique index of each prevents them between concurrent writers: the
 * second one fails and retries.
 */
import type { QueuedProfile } from '../profiler/storage.ts';
import { COPY_FORMAT, copyData, copyFrom, partOf } from './copy-csv.ts';
import { PARENT, type PartitionKeeper } from './partitions.ts';
import { type Client, rollback, tableIn } from './pool.ts';
import { ROW_COLUMNS, type WriteRow, writeRowOf } from './rows.ts';

const STATEMENT_MS = 10_000;
const TRIES = 10;
/** SQLSTATE of conflicts with another writer: unique_violation, deadlock, serialization failure. */
const MET_ANOTHER = new Set(['23505', '40P01', '40001']);

/** A batch prepared by the main thread and transferred to the writer thread without a copy. */
export interface Batch {
  rows: Omit<WriteRow, 'head' | 'bytes'>[];
  data: Uint8Array<ArrayBuffer>;
  /** Where each row ends in `data`. */
  ends: number[];
}

interface StoredRow {
  token: string;
  started_at: string;
  process: string;
  state: string;
}

export function batchOf(profiles: readonly QueuedProfile[]): Batch {
  // In the same order in all processes, so that two writers never deadlock.
  const sorted = profiles
    .map(writeRowOf)
    .sort((a, b) => (a.token < b.token ? -1 : a.token > b.token ? 1 : 0));
  const rows = sorted.map(({ token, startedAt, process, final }) => ({ token, startedAt, process, final }));
  return { rows, ...copyData(sorted) };
}

function isSameRequest(a: Batch['rows'][number], b: Batch['rows'][number]): boolean {
  return a.process === b.process && a.startedAt === b.startedAt;
}

/** Rows to write: one per token, the latest version. Rows of another request with the same token are clashes. */
function withoutRepeats({ rows }: Batch): { places: number[]; clashes: string[] } {
  const byToken = new Map<string, number>();
  const clashes: string[] = [];
  for (const [place, row] of rows.entries()) {
    const before = rows[byToken.get(row.token) ?? -1];
    if (before !== undefined && !isSameRequest(before, row)) clashes.push(row.token);
    else if (before?.final !== true || row.final) byToken.set(row.token, place);
  }
  return { places: [...byToken.values()], clashes };
}

/** Compares a batch with the stored rows. */
function compare(
  { rows }: Batch,
  places: readonly number[],
  stored: readonly StoredRow[],
): { write: readonly number[]; replaced: StoredRow[]; clashes: string[] } {
  const result = { write: [] as number[], replaced: [] as StoredRow[], clashes: [] as string[] };
  const taken = new Set(stored.map(({ token }) => token));
  for (const place of places) {
    const row = rows[place];
    if (row === undefined) continue;
    const before = stored.find(
      ({ token, process, started_at }) =>
        token === row.token && process === row.process && Number(started_at) === row.startedAt,
    );
    if (before === undefined && taken.has(row.token)) result.clashes.push(row.token);
    else if (before?.state !== 'final' || row.final) {
      if (before !== undefined) result.replaced.push(before);
      result.write.push(place);
    }
  }
  return result;
}

async function replaceAndCopy(
  client: Client,
  table: string,
  { batch, places }: { batch: Batch; places: readonly number[] },
): Promise<string[]> {
  const tokens = places.map((place) => client.escapeLiteral(batch.rows[place]?.token ?? '')).join(',');
  // Several statements in one message return several results.
  const results = (await client.query(
    `begin; set local statement_timeout = ${STATEMENT_MS};
     select token, started_at, process, state from ${table} where token in (${tokens})`,
  )) as unknown as { rows: StoredRow[] }[];
  const { write, replaced, clashes } = compare(batch, places, results.at(-1)?.rows ?? []);
  if (replaced.length > 0) {
    await client.query(`delete from ${table} where token = any($1) and started_at = any($2)`, [
      replaced.map(({ token }) => token),
      replaced.map(({ started_at }) => started_at),
    ]);
  }
  if (write.length === 0) await client.query('commit');
  else
    await copyFrom(
      client,
      `copy ${table} (${ROW_COLUMNS.join(', ')}) from stdin ${COPY_FORMAT}; commit`,
      partOf(batch.data, batch.ends, write),
    );
  return clashes;
}

function metAnother(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && MET_ANOTHER.has(error.code)
  );
}

/** Stores all or nothing; returns the tokens that clashed. */
export async function writeProfiles(
  client: Client,
  { schema, partitions }: { schema: string; partitions: PartitionKeeper },
  batch: Batch,
): Promise<string[]> {
  const { places, clashes } = withoutRepeats(batch);
  if (places.length === 0) return clashes;
  const table = tableIn(schema, PARENT);
  await partitions.prepare(client, [...new Set(batch.rows.map(({ startedAt }) => startedAt))]);
  for (let tries = 1; ; tries++) {
    try {
      return [...clashes, ...(await replaceAndCopy(client, table, { batch, places }))];
    } catch (error) {
      await rollback(client);
      if (tries === TRIES || !metAnother(error)) throw error;
    }
  }
}
