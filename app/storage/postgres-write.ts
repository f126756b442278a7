/**
 * Writes a batch of profiles in one statement. A token that another request has is a clash: the stored profile stays, and the new one is
 * reported.
 */
import type { QueuedProfile } from '../profiler/storage.ts';
import { codeOf } from '../errors.ts';
import { type Store, tableIn } from './pool.ts';
import { ROW_COLUMNS, ROW_DEFINITION, type WriteRow, writeRowOf } from './rows.ts';

const TRIES = 10;
/** SQLSTATE of a conflict with another writer: deadlock, serialization failure. */
const MET_ANOTHER = new Set(['40P01', '40001']);

function isSameRequest(a: WriteRow, b: WriteRow): boolean {
  return a.process === b.process && a.started_at === b.started_at;
}

/** One row per token, the latest version. Rows of another request with the same token are clashes. */
function withoutRepeats(rows: readonly WriteRow[]): { rows: WriteRow[]; clashes: string[] } {
  const byToken = new Map<string, WriteRow>();
  const clashes: string[] = [];
  for (const row of rows) {
    const before = byToken.get(row.token);
    if (before !== undefined && !isSameRequest(before, row)) clashes.push(row.token);
    else if (before?.state !== 'final' || row.state === 'final') byToken.set(row.token, row);
  }
  // In the same order in all processes, so that two writers rarely deadlock.
  return { rows: [...byToken.values()].sort((a, b) => (a.token < b.token ? -1 : 1)), clashes };
}

function statementOf(table: string): string {
  const columns = ROW_COLUMNS.join(', ');
  const replaced = ROW_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ');
  return `insert into ${table} as stored (${columns})
    select ${columns} from json_to_recordset($1::json) as batch (${ROW_DEFINITION})
    on conflict (token) do update set ${replaced}
    where stored.process = excluded.process and stored.started_at = excluded.started_at
      and (stored.state <> 'final' or excluded.state = 'final')
    returning token`;
}

/** Tokens of rows that another request has. */
async function clashesOf({ pool }: Store, table: string, rows: readonly WriteRow[]): Promise<string[]> {
  if (rows.length === 0) return [];
  const { rows: stored } = await pool.query<{ token: string; process: string; started_at: string }>(
    `select token, process, started_at from ${table} where token = any($1)`,
    [rows.map(({ token }) => token)],
  );
  const byToken = new Map(rows.map((row) => [row.token, row]));
  return stored
    .filter(({ token, process, started_at: startedAt }) => {
      const row = byToken.get(token);
      return row?.process !== process || row.started_at !== Number(startedAt);
    })
    .map(({ token }) => token);
}

async function insert({ pool }: Store, table: string, rows: readonly WriteRow[]): Promise<Set<string>> {
  const statement = statementOf(table);
  const batch = JSON.stringify(rows);
  for (let tries = 1; ; tries++) {
    try {
      const { rows: written } = await pool.query<{ token: string }>(statement, [batch]);
      return new Set(written.map(({ token }) => token));
    } catch (error) {
      if (tries === TRIES || !MET_ANOTHER.has(codeOf(error))) throw error;
    }
  }
}

/** Stores all or nothing; returns the tokens that clashed. */
export async function writeProfiles(store: Store, profiles: readonly QueuedProfile[]): Promise<string[]> {
  const { rows, clashes } = withoutRepeats(profiles.map(writeRowOf));
  if (rows.length === 0) return clashes;
  const table = tableIn(store.schema, 'hindsight_profiles');
  const written = await insert(store, table, rows);
  const refused = rows.filter(({ token }) => !written.has(token));
  return [...clashes, ...(await clashesOf(store, table, refused))];
}
