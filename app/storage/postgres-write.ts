/**
 * A batch of profiles into PostgreSQL, in one transaction of two round trips: look the tokens up; COPY and commit. Where
 * the same request wrote before, that row is deleted in between.
 *
 * A token that another request has is a clash: the stored profile stays, the newcomer is reported. Partitions can't
 * share a unique index, so the look-up is the guard across them, and each one's unique index the guard against two
 * writers at once: the second is refused by it and looks again.
 */
import { COPY_FORMAT, copyData, type Scratch } from './copy-csv.ts';
import type { PartitionKeeper } from './partitions.ts';
import { ROW_COLUMNS, type WriteRow } from './rows.ts';
import { quoted, type Session } from './session.ts';

const STATEMENT_MS = 10_000;
const TRIES = 10;
/** SQLSTATE of what another writer at the same tokens causes: unique_violation, deadlock, serialization failure. */
const MET_ANOTHER = new Set(['23505', '40P01', '40001']);

export interface WriteOptions {
  schema: string;
  partitions: PartitionKeeper;
  scratch: Scratch;
  /** Once aborted, the bytes of the rows are not read any more. */
  signal?: AbortSignal;
}

interface StoredRow {
  token: string;
  started_at: string;
  process: string;
  state: string;
}

function isSameRequest(a: WriteRow, b: WriteRow): boolean {
  return a.process === b.process && a.startedAt === b.startedAt;
}

/** One profile per token, the last of each request; those of another request under a taken token are clashes. */
function withoutRepeats(rows: readonly WriteRow[]): { kept: WriteRow[]; clashes: string[] } {
  const byToken = new Map<string, WriteRow>();
  const clashes: string[] = [];
  for (const row of rows) {
    const before = byToken.get(row.token);
    if (before !== undefined && !isSameRequest(before, row)) clashes.push(row.token);
    else if (before?.final !== true || row.final) byToken.set(row.token, row);
  }
  // In one order everywhere, so that two writers never wait for each other crosswise.
  const kept = [...byToken.values()].sort((a, b) => (a.token < b.token ? -1 : 1));
  return { kept, clashes };
}

/** Sorts a batch by what is stored already. */
function compare(
  rows: readonly WriteRow[],
  stored: readonly StoredRow[],
): { write: readonly WriteRow[]; replaced: StoredRow[]; clashes: string[] } {
  if (stored.length === 0) return { write: rows, replaced: [], clashes: [] };
  const byToken = new Map<string, StoredRow[]>();
  for (const row of stored) byToken.set(row.token, [...(byToken.get(row.token) ?? []), row]);
  const result = { write: [] as WriteRow[], replaced: [] as StoredRow[], clashes: [] as string[] };
  for (const row of rows) {
    const found = byToken.get(row.token) ?? [];
    const own = found.find(
      ({ process, started_at }) => process === row.process && Number(started_at) === row.startedAt,
    );
    if (own === undefined && found.length > 0) result.clashes.push(row.token);
    else if (own?.state !== 'final' || row.final) {
      if (own !== undefined) result.replaced.push(own);
      result.write.push(row);
    }
  }
  return result;
}

async function replaceAndCopy(
  session: Session,
  table: string,
  { rows, options }: { rows: readonly WriteRow[]; options: WriteOptions },
): Promise<string[]> {
  const tokens = rows.map(({ token }) => session.literal(token)).join(',');
  const stored = await session.query(
    `begin; set local statement_timeout = ${STATEMENT_MS};
     select token, started_at, process, state from ${table} where token in (${tokens})`,
  );
  const { write, replaced, clashes } = compare(rows, stored.rows as StoredRow[]);
  if (replaced.length > 0) {
    await session.query(`delete from ${table} where token = any($1) and started_at = any($2)`, [
      replaced.map(({ token }) => token),
      replaced.map(({ started_at }) => started_at),
    ]);
  }
  if (options.signal?.aborted === true) throw new Error('The database answered too late.');
  if (write.length === 0) await session.query('commit');
  else {
    const { data, release } = copyData(write, options.scratch);
    await session.copy(`copy ${table} (${ROW_COLUMNS.join(', ')}) from stdin ${COPY_FORMAT}; commit`, data);
    // Not after a failure: the connection may still be sending it.
    release();
  }
  return clashes;
}

async function writeOnce(
  session: Session,
  table: string,
  work: { rows: readonly WriteRow[]; options: WriteOptions },
): Promise<string[]> {
  try {
    return await replaceAndCopy(session, table, work);
  } catch (error) {
    await session.query('rollback').catch(() => undefined);
    throw error;
  }
}

function metAnother(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && MET_ANOTHER.has(error.code)
  );
}

/** Stores all or nothing; returns the tokens whose profile was left out because another request has them. */
export async function writeProfiles(
  session: Session,
  options: WriteOptions,
  rows: readonly WriteRow[],
): Promise<string[]> {
  const { kept, clashes } = withoutRepeats(rows);
  if (kept.length === 0) return clashes;
  const table = `${quoted(options.schema)}.hindsight_profiles`;
  await options.partitions.prepare(session, [...new Set(kept.map(({ startedAt }) => startedAt))]);
  for (let tries = 1; ; tries++) {
    try {
      return [...clashes, ...(await writeOnce(session, table, { rows: kept, options }))];
    } catch (error) {
      if (tries === TRIES || !metAnother(error)) throw error;
    }
  }
}
