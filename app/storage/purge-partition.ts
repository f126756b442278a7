/**
 * Drops a partition: finds the exceptions first; then, in one short transaction, detaches it, moves the exceptions to the default
 * partition and drops the table.
 */
import { pinnedTokens } from './pins.ts';
import { quoted, type Store, tableIn } from './pool.ts';
import { NET, PARENT, type Partition } from './partitions.ts';
import { alone } from './purge-lock.ts';
import { ROW_COLUMNS } from './rows.ts';

interface Survivor {
  token: string;
  reason: string;
}

/** A condition with values from `$1`. */
export interface Where {
  sql: string;
  values: readonly string[];
}

/** Limits of the failed requests and of the routes whose exceptions outlive one partition. */
const EXCEPTION_ERRORS = 100;
const EXCEPTION_ROUTES = 200;

/** Exceptions in a table of profiles, narrowed by `where`. The first reason counts. */
async function survivorsOf(
  { pool, schema }: Store,
  relation: string,
  { sql, values }: Where,
): Promise<Survivor[]> {
  const table = tableIn(schema, relation);
  const { rows } = await pool.query<Survivor>(
    `with pinned as (
       select token from ${table} where ${sql} and token in (${pinnedTokens(quoted(schema))})
     ), failed as (
       select token from ${table} where ${sql} and kind = 'request' and (error is not null or status >= 500)
       order by started_at desc limit ${EXCEPTION_ERRORS}
     ), longest as (
       select route, max(duration_ms) as duration_ms from ${table} where ${sql} and kind = 'request'
       group by route order by max(duration_ms) desc nulls last limit ${EXCEPTION_ROUTES}
     ), slow as (
       select profile.token from ${table} as profile join longest
         on profile.route is not distinct from longest.route and profile.duration_ms = longest.duration_ms
       where ${sql} and kind = 'request'
     ), exceptions as (
       select token, 'pinned' as reason, 1 as rank from pinned
       union all select token, 'failed', 2 from failed union all select token, 'slow', 3 from slow
     ), families as (
       select token, reason, rank from exceptions
       union all select child.token, exceptions.reason, exceptions.rank
         from ${table} as child join exceptions on child.parent = exceptions.token
     )
     select distinct on (token) token, reason from families order by token, rank`,
    [...values],
  );
  return rows;
}

async function countOf({ pool, schema }: Store, { name, size }: Partition): Promise<number> {
  if (size !== undefined) return size.requests;
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int as count from ${tableIn(schema, name)}`,
  );
  return rows[0]?.count ?? 0;
}

/** Returns how many profiles were deleted; 0 if the partition is locked. `reasons` narrows the exceptions; null: none. */
export async function dropPartition(
  store: Store,
  partition: Partition,
  keepExceptions: { reasons?: readonly string[] } | null,
): Promise<number> {
  const { name, from, until } = partition;
  const all = { sql: 'true', values: [] };
  const exceptions = keepExceptions === null ? [] : await survivorsOf(store, name, all);
  const survivors = exceptions.filter(({ reason }) => keepExceptions?.reasons?.includes(reason) ?? true);
  const count = await countOf(store, partition);
  const tokens = survivors.map(({ token }) => token);
  const columns = ROW_COLUMNS.join(', ');
  const table = (relation: string): string => tableIn(store.schema, relation);
  const gone = await alone(store, async (client) => {
    await client.query(`alter table ${table(PARENT)} detach partition ${table(name)}`);
    if (survivors.length > 0) {
      await client.query(
        `insert into ${table(NET)} (${columns}, kept)
         select ${ROW_COLUMNS.map((column) => `old.${column}`).join(', ')}, exceptions.reason from ${table(name)} as old
         join unnest($1::text[], $2::text[]) as exceptions (token, reason) on exceptions.token = old.token`,
        [tokens, survivors.map(({ reason }) => reason)],
      );
    }
    await client.query(
      `delete from ${table('hindsight_amendments')} where started_at >= $1 and started_at < $2 and not token = any($3)`,
      [from, until, tokens],
    );
    await client.query(`drop table ${table(name)}`);
    return Math.max(0, count - survivors.length);
  });
  return gone ?? 0;
}

/** Marks the exceptions among the rows of `where`, before the others are deleted; `reasons` narrows them. */
export async function markSurvivors(
  store: Store,
  relation: string,
  { reasons, ...where }: Where & { reasons?: readonly string[] },
): Promise<void> {
  const table = tableIn(store.schema, relation);
  const any = await store.pool.query(`select 1 from ${table} where ${where.sql} limit 1`, [...where.values]);
  if (any.rows.length === 0) return;
  const all = await survivorsOf(store, relation, where);
  const survivors = all.filter(({ reason }) => reasons?.includes(reason) ?? true);
  if (survivors.length === 0) return;
  await alone(store, (client) =>
    client.query(
      `update ${table} as old set kept = exceptions.reason from unnest($1::text[], $2::text[]) as exceptions (token, reason)
       where exceptions.token = old.token`,
      [survivors.map(({ token }) => token), survivors.map(({ reason }) => reason)],
    ),
  );
}
