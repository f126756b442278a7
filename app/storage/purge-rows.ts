/**
 * Deletes rows in limited steps. Children (error pages) are deleted with their parents, amendments with their profile. Rows are
 * locked in the order of their tokens, as by writers, so that the two never deadlock.
 */
import type { ProfileKind } from '../profiler/context.ts';
import { type Client, type Store, tableIn } from './pool.ts';
import { NET, PARENT } from './partitions.ts';
import { alone } from './purge-lock.ts';

/** Profiles deleted in one transaction. */
const STEP_ROWS = 500;

export interface Rows {
  /** The whole table, or one partition. */
  relation: string;
  kind: ProfileKind;
  /** A condition with values from `$1`. */
  sql: string;
  values: readonly string[];
  /** Milliseconds after which the rest is left to the next round. */
  withinMs: number;
}

async function tokensOf(client: Client, sql: string, values: unknown[]): Promise<string[]> {
  const { rows } = await client.query<{ token: string }>(sql, values);
  return rows.map(({ token }) => token);
}

async function deleteStep(store: Store, { relation, kind, sql, values }: Rows): Promise<number> {
  const table = (name: string): string => tableIn(store.schema, name);
  const count = await alone(store, async (client) => {
    const old = await tokensOf(
      client,
      `select token from ${table(relation)} where ${sql} and kind = $${values.length + 1}
       order by started_at, token desc limit ${STEP_ROWS}`,
      [...values, kind],
    );
    if (old.length === 0) return 0;
    const children = await tokensOf(client, `select token from ${table(PARENT)} where parent = any($1)`, [
      old,
    ]);
    const gone = [...new Set([...old, ...children])].sort();
    const from = children.length === 0 ? relation : PARENT;
    const deleted = await client.query(`delete from ${table(from)} where token = any($1)`, [gone]);
    await client.query(`delete from ${table('hindsight_amendments')} where token = any($1)`, [gone]);
    // The counts in the comment are outdated.
    if (relation !== PARENT && relation !== NET)
      await client.query(`comment on table ${table(relation)} is null`);
    return deleted.rowCount ?? 0;
  });
  return count ?? 0;
}

/** Returns how many were deleted. */
export async function deleteRows(store: Store, rows: Rows): Promise<number> {
  const deadline = performance.now() + rows.withinMs;
  let total = 0;
  for (;;) {
    const count = await deleteStep(store, rows);
    total += count;
    if (count === 0 || performance.now() > deadline) return total;
  }
}
