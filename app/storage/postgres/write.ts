/** Writes a batch of records in one statement. */
import { codeOf } from '../../errors.ts';
import type { StoreItem } from '../../profiler/store.ts';
import { type Store as Connection, tableIn } from '../pool.ts';
import { insertInto, type WrittenRow, writtenRowOf } from './rows.ts';

const TRIES = 10;
/** SQLSTATE of a conflict with another writer: deadlock, serialization failure. */
const MET_ANOTHER = new Set(['40P01', '40001']);

async function insert(
  { pool }: Connection,
  table: string,
  rows: readonly WrittenRow[],
): Promise<Set<string>> {
  const [statement, batch] = [insertInto(table), JSON.stringify(rows)];
  for (let tries = 1; ; tries++) {
    try {
      const { rows: inserted } = await pool.query<{ token: string }>(statement, [batch]);
      return new Set(inserted.map(({ token }) => token));
    } catch (error) {
      if (tries === TRIES || !MET_ANOTHER.has(codeOf(error))) throw error;
    }
  }
}

/** Stores all or nothing. Returns the tokens that another request has: its record stays. */
export async function writeItems(
  connection: Connection,
  items: readonly StoreItem[],
): Promise<ReadonlySet<string>> {
  const table = tableIn(connection.schema, 'hindsight_profiles');
  // In the same order in all processes, so that two writers rarely deadlock.
  const rows = items.map(writtenRowOf).sort((a, b) => (a.token < b.token ? -1 : 1));
  const inserted = await insert(connection, table, rows);
  const refused = new Map(rows.flatMap((row) => (inserted.has(row.token) ? [] : [[row.token, row]])));
  if (refused.size === 0) return new Set();
  const { rows: stored } = await connection.pool.query<{
    token: string;
    process: string;
    started_at: string;
  }>(`select token, process, started_at from ${table} where token = any($1)`, [[...refused.keys()]]);
  const others = stored.filter(({ token, process, started_at: startedAt }) => {
    const row = refused.get(token);
    return row?.process !== process || row.started_at !== Number(startedAt);
  });
  return new Set(others.map(({ token }) => token));
}
