/**
 * Deleting rows in bounded steps. Children (error pages) go with their parents, what was put beside a profile goes with
 * it. Rows are taken in the order of their tokens, as the writers do, so that the two never wait crosswise.
 */
import type { Pool, Statements } from './pool.ts';
import type { ProfileKind } from '../profiler/context.ts';
import { NET, PARENT } from './partitions.ts';
import { alone } from './purge-lock.ts';

/** Profiles deleted in one transaction. */
const STEP_ROWS = 500;

export interface Rows {
  /** The whole, or one partition. */
  relation: string;
  kind: ProfileKind;
  sql: string;
  values: readonly string[];
  /** Milliseconds after which the rest is left to the next round. */
  withinMs: number;
}

async function tokensOf(trx: Statements, sql: string, values: readonly unknown[]): Promise<string[]> {
  const result = await trx.raw<{ rows: { token: string }[] }>(sql, values);
  return result.rows.map(({ token }) => token);
}

async function deleteStep(
  where: { pool: Pool; schema: string },
  { relation, kind, sql, values }: Rows,
): Promise<number> {
  const { schema } = where;
  const count = await alone(where, async (trx) => {
    const old = await tokensOf(
      trx,
      `select token from ??.?? where kind = ? and ${sql} order by started_at, token desc limit ${STEP_ROWS}`,
      [schema, relation, kind, ...values],
    );
    if (old.length === 0) return 0;
    const children = await tokensOf(trx, 'select token from ??.?? where parent = any(?)', [
      schema,
      PARENT,
      old,
    ]);
    const gone = [...new Set([...old, ...children])].sort();
    const from = children.length === 0 ? relation : PARENT;
    const result = await trx.raw<{ rowCount: number }>('delete from ??.?? where token = any(?)', [
      schema,
      from,
      gone,
    ]);
    await trx.raw('delete from ??.hindsight_amendments where token = any(?)', [schema, gone]);
    // What was counted is no longer so.
    if (relation !== PARENT && relation !== NET)
      await trx.raw('comment on table ??.?? is null', [schema, relation]);
    return result.rowCount;
  });
  return count ?? 0;
}

/** Returns how many went. */
export async function deleteRows(where: { pool: Pool; schema: string }, rows: Rows): Promise<number> {
  const deadline = performance.now() + rows.withinMs;
  let total = 0;
  for (;;) {
    const count = await deleteStep(where, rows);
    total += count;
    if (count === 0 || performance.now() > deadline) return total;
  }
}
