/**
 * Retention: deletes rows by age, by number and by bytes, in short steps. Pinned profiles, and of those that are too old the failed and
 * the slowest of each route, are exceptions. One process at a time does it; the rest of a round is left to the next one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RetentionLimits } from '../profiler/storage.ts';
import { pinnedTokens } from './pins.ts';
import { quoted, type Store, tableIn } from './pool.ts';
import { purgeShared } from './postgres-shared.ts';
import { alone } from './purge-lock.ts';

/** Profiles deleted in one transaction. */
const STEP_ROWS = 500;
/** Milliseconds that one round may spend on each limit. */
const WITHIN_MS = 5000;
/** How often and how long clearing waits for a process that purges. */
const MOST_WAITS = 10;
const WAIT_MS = 200;

interface Where {
  sql: string;
  values: readonly unknown[];
}

/** Deletes one step, with error pages of the deleted and what was added to them. Undefined if another process purges. */
async function deleteStep(
  store: Store,
  { sql, values }: Where,
  exceptions: readonly string[],
): Promise<number | undefined> {
  const profiles = tableIn(store.schema, 'hindsight_profiles');
  return alone(store, async (client) => {
    const tokensOf = async (text: string, given: unknown[]): Promise<string[]> => {
      const { rows } = await client.query<{ token: string }>(text, given);
      return rows.map(({ token }) => token);
    };
    const excepted = `$${values.length + 1}::text[]`;
    const old = await tokensOf(
      `select token from ${profiles} where ${sql} and token <> all(${excepted})
         and (parent is null or parent <> all(${excepted}))
       order by started_at, token desc limit ${STEP_ROWS}`,
      [...values, exceptions],
    );
    if (old.length === 0) return 0;
    const children = await tokensOf(`select token from ${profiles} where parent = any($1)`, [old]);
    const gone = [...new Set([...old, ...children])].sort();
    const deleted = await client.query(`delete from ${profiles} where token = any($1)`, [gone]);
    await client.query(`delete from ${tableIn(store.schema, 'hindsight_amendments')} where token = any($1)`, [
      gone,
    ]);
    return deleted.rowCount ?? 0;
  });
}

async function deleteRows(store: Store, where: Where, exceptions: readonly string[]): Promise<number> {
  const deadline = performance.now() + WITHIN_MS;
  let total = 0;
  for (;;) {
    const count = await deleteStep(store, where, exceptions);
    total += count ?? 0;
    if (count === undefined || count === 0 || performance.now() > deadline) return total;
  }
}

async function tokensOf({ pool }: Store, sql: string, values: unknown[]): Promise<string[]> {
  const { rows } = await pool.query<{ token: string }>(sql, values);
  return rows.map(({ token }) => token);
}

/** Pinned profiles; the newest `most` if there are too many. */
function pinned(store: Store, most: number): Promise<string[]> {
  return tokensOf(store, `${pinnedTokens(quoted(store.schema))} order by started_at desc limit $1::bigint`, [
    most,
  ]);
}

/** Failed requests and the slowest of each route among those that are too old; the newest `count` of them. */
function exceptionsByAge(store: Store, limits: RetentionLimits): Promise<string[]> {
  const { olderThan, keepExceptions } = limits;
  if (keepExceptions === undefined) return Promise.resolve([]);
  return tokensOf(
    store,
    `select token from (
       select token, started_at, error is not null or status >= 500 as failed, duration_ms,
         row_number() over (partition by route order by duration_ms desc nulls last, started_at desc, token) as place
       from ${tableIn(store.schema, 'hindsight_profiles')}
       where kind = 'request' and started_at < $1::numeric and started_at >= $2::numeric
     ) as old where failed or place = 1 order by started_at desc, token limit $3::bigint`,
    [String(olderThan), String(keepExceptions.olderThan), keepExceptions.count],
  );
}

const ORDER = 'order by started_at desc, token';

/** The first row beyond the limit, and all older rows. */
async function deleteBeyond(
  store: Store,
  { firstBeyond, kinds, exceptions }: { firstBeyond: Where; kinds: string; exceptions: readonly string[] },
): Promise<number> {
  const { rows } = await store.pool.query<{ started_at: string; token: string }>(firstBeyond.sql, [
    ...firstBeyond.values,
  ]);
  const [first] = rows;
  if (first === undefined) return 0;
  const sql = `${kinds} and (started_at < $1::bigint or (started_at = $1::bigint and token >= $2))`;
  return deleteRows(store, { sql, values: [first.started_at, first.token] }, exceptions);
}

/** Returns how many profiles were deleted. */
export async function purgeProfiles(store: Store, limits: RetentionLimits): Promise<number> {
  const table = tableIn(store.schema, 'hindsight_profiles');
  const pins = limits.keepExceptions === undefined ? [] : await pinned(store, limits.keepExceptions.count);
  const exceptions = [...pins, ...(await exceptionsByAge(store, limits))];
  const byAge = { sql: 'started_at < $1::numeric', values: [String(limits.olderThan)] };
  let gone = await deleteRows(store, byAge, exceptions);
  const counts = {
    request: limits.count,
    job: limits.count,
    command: limits.count,
    profiler: limits.profilerCount,
  };
  for (const [kind, allowed] of Object.entries(counts)) {
    const sql = `select started_at, token from ${table} where kind = '${kind}' and token <> all($1)
      ${ORDER} offset $2::bigint limit 1`;
    gone += await deleteBeyond(store, {
      firstBeyond: { sql, values: [exceptions, allowed] },
      kinds: `kind = '${kind}'`,
      exceptions,
    });
  }
  const bytes = `select started_at, token from (
      select started_at, token, sum(bytes) over (${ORDER}) as reached from ${table} where token <> all($1)
    ) as newest where reached > $2::numeric ${ORDER} limit 1`;
  gone += await deleteBeyond(store, {
    firstBeyond: { sql: bytes, values: [exceptions, String(limits.bytes)] },
    kinds: 'true',
    exceptions,
  });
  await purgeShared(store);
  return gone;
}

/** Deletes all but pinned profiles and their error pages. */
export async function clearProfiles(store: Store): Promise<number> {
  const pins = await tokensOf(store, pinnedTokens(quoted(store.schema)), []);
  let total = 0;
  for (let waits = 0; waits < MOST_WAITS;) {
    const count = await deleteStep(store, { sql: 'true', values: [] }, pins);
    if (count === 0) break;
    total += count ?? 0;
    if (count !== undefined) continue;
    waits += 1;
    await sleep(WAIT_MS);
  }
  return total;
}
