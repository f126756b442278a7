/**
 * A batch of profiles into PostgreSQL, in one transaction: look the tokens up, replace what the same request wrote
 * before, COPY the rest.
 *
 * A token that another request has is a clash: the stored profile stays, the newcomer is reported. Partitions can't
 * share a unique index, so the look-up is the guard across them, and each one's unique index the guard against two
 * writers at once: the second is refused by it and looks again.
 */
import type { StoredProfile } from '../profiler/storage.ts';
import { copyText } from './copy-text.ts';
import type { PartitionKeeper } from './partitions.ts';
import { COLUMNS, valuesOf } from './rows.ts';
import { inTransaction, quoted, type Session } from './session.ts';

const STATEMENT_MS = 10_000;
const TRIES = 10;
/** SQLSTATE of what another writer at the same tokens causes: unique_violation, deadlock, serialization failure. */
const MET_ANOTHER = new Set(['23505', '40P01', '40001']);

interface StoredRow {
  token: string;
  started_at: string;
  process: string;
  state: string;
}

function isSameRequest(a: StoredProfile, b: StoredProfile): boolean {
  return a.index.process === b.index.process && a.index.startedAt === b.index.startedAt;
}

/** One profile per token, the last of each request; those of another request under a taken token are clashes. */
function withoutRepeats(profiles: readonly StoredProfile[]): {
  kept: StoredProfile[];
  clashes: string[];
} {
  const byToken = new Map<string, StoredProfile>();
  const clashes: string[] = [];
  for (const profile of profiles) {
    const before = byToken.get(profile.index.token);
    if (before !== undefined && !isSameRequest(before, profile)) clashes.push(profile.index.token);
    else if (!(before?.index.state === 'final' && profile.index.state === 'running')) {
      byToken.set(profile.index.token, profile);
    }
  }
  // In one order everywhere, so that two writers never wait for each other crosswise.
  const kept = [...byToken.values()].sort((a, b) => (a.index.token < b.index.token ? -1 : 1));
  return { kept, clashes };
}

/** Sorts a batch by what is stored already. */
function compare(
  profiles: readonly StoredProfile[],
  stored: readonly StoredRow[],
): { write: StoredProfile[]; replaced: StoredRow[]; clashes: string[] } {
  const rows = new Map<string, StoredRow[]>();
  for (const row of stored) rows.set(row.token, [...(rows.get(row.token) ?? []), row]);
  const result = { write: [] as StoredProfile[], replaced: [] as StoredRow[], clashes: [] as string[] };
  for (const profile of profiles) {
    const { token, process, startedAt, state } = profile.index;
    const found = rows.get(token) ?? [];
    const own = found.find(
      (row) => row.process === process && Number(row.started_at) === Math.trunc(startedAt),
    );
    if (own === undefined && found.length > 0) result.clashes.push(token);
    else if (!(own?.state === 'final' && state === 'running')) {
      if (own !== undefined) result.replaced.push(own);
      result.write.push(profile);
    }
  }
  return result;
}

async function writeOnce(
  session: Session,
  table: string,
  profiles: readonly StoredProfile[],
): Promise<string[]> {
  return inTransaction(session, STATEMENT_MS, async () => {
    const stored = await session.query(
      `select token, started_at, process, state from ${table} where token = any($1)`,
      [profiles.map(({ index }) => index.token)],
    );
    const { write, replaced, clashes } = compare(profiles, stored.rows as StoredRow[]);
    if (replaced.length > 0) {
      await session.query(`delete from ${table} where token = any($1) and started_at = any($2)`, [
        replaced.map(({ token }) => token),
        replaced.map(({ started_at }) => started_at),
      ]);
    }
    if (write.length > 0)
      await session.copy(`copy ${table} (${COLUMNS.join(', ')}) from stdin`, copyText(write.map(valuesOf)));
    return clashes;
  });
}

function metAnother(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && MET_ANOTHER.has(error.code)
  );
}

/** Stores all or nothing; returns the tokens whose profile was left out because another request has them. */
export async function writeProfiles(
  session: Session,
  options: { schema: string; partitions: PartitionKeeper },
  profiles: readonly StoredProfile[],
): Promise<string[]> {
  const { kept, clashes } = withoutRepeats(profiles);
  if (kept.length === 0) return clashes;
  const table = `${quoted(options.schema)}.hindsight_profiles`;
  await options.partitions.prepare(session, [...new Set(kept.map(({ index }) => index.startedAt))]);
  for (let tries = 1; ; tries++) {
    try {
      return [...clashes, ...(await writeOnce(session, table, kept))];
    } catch (error) {
      if (tries === TRIES || !metAnother(error)) throw error;
    }
  }
}
