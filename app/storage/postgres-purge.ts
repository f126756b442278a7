/**
 * Deleting what the retention no longer keeps: by age, by count, by bytes, in short transactions of a bounded number
 * of rows, each under an advisory lock that ends with it, so that only one process purges at a time.
 *
 * Rows are taken with SKIP LOCKED: a purge never waits for a write and so can't meet it in a deadlock. Children
 * (error pages) go with their parents, what was put beside a profile goes with it.
 */
import type { Knex } from 'knex';
import type { ProfileKind } from '../profiler/context.ts';
import type { RetentionLimits } from '../profiler/storage.ts';

/** Profiles deleted in one transaction. */
const STEP_ROWS = 500;
/** Milliseconds the sums over all profiles may take. */
const SUM_TIMEOUT_MS = 10_000;

/** The newest profile that goes: it and all older ones. */
interface Cut {
  startedAt: string;
  token: string;
}

interface Purge {
  knex: Knex;
  schema: string;
}

/** Runs `work` while no other process purges; undefined where one does. */
async function alone<T>(
  { knex, schema }: Purge,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T | undefined> {
  return knex.transaction(async (trx) => {
    const lock = await trx.raw<{ rows: { held: boolean }[] }>(
      'select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as held',
      [`hindsight purge ${schema}`],
    );
    return lock.rows[0]?.held === true ? work(trx) : undefined;
  });
}

async function deleteStep(
  purge: Purge,
  kind: ProfileKind,
  condition: { sql: string; values: readonly string[] },
): Promise<number> {
  const { schema } = purge;
  const count = await alone(purge, async (trx) => {
    const result = await trx.raw<{ rows: { count: number }[] }>(
      `with old as materialized (
         select token from ??.hindsight_profiles where kind = ? and ${condition.sql}
         order by started_at, token desc limit ${STEP_ROWS} for update skip locked
       ), children as materialized (
         select token from ??.hindsight_profiles where parent in (select token from old) for update skip locked
       ), gone as (
         delete from ??.hindsight_profiles
         where token in (select token from old union all select token from children) returning token
       ), beside as (
         delete from ??.hindsight_amendments where token in (select token from gone)
       )
       select count(*)::int as count from gone`,
      [schema, kind, ...condition.values, schema, schema, schema],
    );
    return result.rows[0]?.count ?? 0;
  });
  return count ?? 0;
}

async function deleteAll(
  purge: Purge,
  kind: ProfileKind,
  condition: { sql: string; values: readonly string[] },
): Promise<number> {
  let total = 0;
  for (;;) {
    const count = await deleteStep(purge, kind, condition);
    total += count;
    if (count === 0) return total;
  }
}

function fromCutOn({ startedAt, token }: Cut): { sql: string; values: readonly string[] } {
  return {
    sql: '(started_at < ?::bigint or (started_at = ?::bigint and token >= ?))',
    values: [startedAt, startedAt, token],
  };
}

/** The first profile beyond the `count` newest of a kind. */
async function cutByCount({ knex, schema }: Purge, kind: ProfileKind, count: number): Promise<Cut | null> {
  const result = await knex.raw<{ rows: { started_at: string; token: string }[] }>(
    `select started_at, token from ??.hindsight_profiles where kind = ?
     order by started_at desc, token offset ? limit 1`,
    [schema, kind, count],
  );
  const row = result.rows[0];
  return row === undefined ? null : { startedAt: row.started_at, token: row.token };
}

/** The newest profile at which the documents from the newest on take more than `bytes`. */
async function cutByBytes({ knex, schema }: Purge, bytes: number): Promise<Cut | null> {
  return knex.transaction(async (trx) => {
    await trx.raw(`set local statement_timeout = ${SUM_TIMEOUT_MS}`);
    const sum = await trx.raw<{ rows: { bytes: string | null }[] }>(
      'select sum(bytes) as bytes from ??.hindsight_profiles',
      [schema],
    );
    if (Number(sum.rows[0]?.bytes ?? 0) <= bytes) return null;
    const result = await trx.raw<{ rows: { started_at: string; token: string }[] }>(
      `select started_at, token from (
         select started_at, token, sum(bytes) over (order by started_at desc, token) as reached
         from ??.hindsight_profiles
       ) as newest where reached > ? order by started_at desc, token limit 1`,
      [schema, bytes],
    );
    const row = result.rows[0];
    return row === undefined ? null : { startedAt: row.started_at, token: row.token };
  });
}

/** Returns how many profiles went. */
export async function purgeProfiles(purge: Purge, limits: RetentionLimits): Promise<number> {
  const kinds: readonly ProfileKind[] = ['request', 'error_page', 'profiler'];
  let total = 0;
  const expired = { sql: 'started_at < ?::numeric', values: [String(limits.olderThan)] };
  for (const kind of kinds) total += await deleteAll(purge, kind, expired);
  const cuts: [ProfileKind, number][] = [
    ['request', limits.count],
    ['profiler', limits.profilerCount],
  ];
  for (const [kind, count] of cuts) {
    const cut = await cutByCount(purge, kind, count);
    if (cut !== null) total += await deleteAll(purge, kind, fromCutOn(cut));
  }
  const cut = await cutByBytes(purge, limits.bytes);
  if (cut !== null) for (const kind of kinds) total += await deleteAll(purge, kind, fromCutOn(cut));
  return total;
}
