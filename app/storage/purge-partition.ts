/**
 * A partition that goes: who survives is looked up first, then, in one short transaction, it is detached, the survivors
 * are put back (into the net, since their time has no partition any more) and the table is dropped.
 */
import type { Pool } from './pool.ts';
import { pinnedIn } from './pins.ts';
import { NET, PARENT, type Partition } from './partitions.ts';
import { alone } from './purge-lock.ts';
import { ROW_COLUMNS } from './rows.ts';

/** What one round of retention works with. */
export interface Purge {
  pool: Pool;
  schema: string;
  partitions: () => Promise<readonly Partition[]>;
}

interface Survivor {
  token: string;
  reason: string;
}

/** Most failed ones, and most routes, that survive of one partition. */
const SPARED_ERRORS = 100;
const SPARED_ROUTES = 200;

/** Who outlives a table of profiles: `where` narrows it. The first reason counts. */
async function survivorsOf(
  { pool, schema }: Purge,
  relation: string,
  where: { sql: string; values: readonly string[] },
): Promise<Survivor[]> {
  const { sql, values } = where;
  const from = [schema, relation, ...values];
  const result = await pool.raw<{ rows: Survivor[] }>(
    `with pinned as (
       select token from ??.?? where ${sql} and token in (${pinnedIn(schema)})
     ), failed as (
       select token from ??.?? where ${sql} and kind = 'request' and (error is not null or status >= 500)
       order by started_at desc limit ${SPARED_ERRORS}
     ), longest as (
       select route, max(duration_ms) as duration_ms from ??.?? where ${sql} and kind = 'request'
       group by route order by max(duration_ms) desc nulls last limit ${SPARED_ROUTES}
     ), slow as (
       select profile.token from ??.?? as profile join longest
         on profile.route is not distinct from longest.route and profile.duration_ms = longest.duration_ms
       where ${sql} and kind = 'request'
     ), spared as (
       select token, 'pinned' as reason, 1 as rank from pinned
       union all select token, 'failed', 2 from failed union all select token, 'slow', 3 from slow
     ), families as (
       select token, reason, rank from spared
       union all select child.token, spared.reason, spared.rank
         from ??.?? as child join spared on child.parent = spared.token
     )
     select distinct on (token) token, reason from families order by token, rank`,
    [...from, ...from, ...from, ...from, schema, relation],
  );
  return result.rows;
}

async function countOf({ pool, schema }: Purge, { name, size }: Partition): Promise<number> {
  if (size !== undefined) return size.requests;
  const result = await pool.raw<{ rows: { count: number }[] }>('select count(*)::int as count from ??.??', [
    schema,
    name,
  ]);
  return result.rows[0]?.count ?? 0;
}

/** Returns how many went; none where it could not be had now. `reasons` narrows who survives; null: nobody does. */
export async function dropPartition(
  purge: Purge,
  partition: Partition,
  spare: { reasons?: readonly string[] } | null,
): Promise<number> {
  const { schema } = purge;
  const { name, from, until } = partition;
  const all = { sql: 'true', values: [] };
  const spared = spare === null ? [] : await survivorsOf(purge, name, all);
  const survivors = spared.filter(({ reason }) => spare?.reasons?.includes(reason) ?? true);
  const count = await countOf(purge, partition);
  const tokens = survivors.map(({ token }) => token);
  const columns = ROW_COLUMNS.join(', ');
  const gone = await alone(purge, async (trx) => {
    await trx.raw('alter table ??.?? detach partition ??.??', [schema, PARENT, schema, name]);
    if (survivors.length > 0) {
      await trx.raw(
        `insert into ??.?? (${columns}, kept)
         select ${ROW_COLUMNS.map((column) => `old.${column}`).join(', ')}, spared.reason from ??.?? as old
         join unnest(?::text[], ?::text[]) as spared (token, reason) on spared.token = old.token`,
        [schema, NET, schema, name, tokens, survivors.map(({ reason }) => reason)],
      );
    }
    await trx.raw(
      'delete from ??.hindsight_amendments where started_at >= ? and started_at < ? and not token = any(?)',
      [schema, from, until, tokens],
    );
    await trx.raw('drop table ??.??', [schema, name]);
    return Math.max(0, count - survivors.length);
  });
  return gone ?? 0;
}

/** Marks rows of a relation that survive what deletes the rest of `where`; `reasons` narrows who does. */
export async function markSurvivors(
  purge: Purge,
  relation: string,
  options: { sql: string; values: readonly string[]; reasons?: readonly string[] },
): Promise<void> {
  const { sql, values, reasons } = options;
  const any = await purge.pool.raw<{ rows: unknown[] }>(`select 1 from ??.?? where ${sql} limit 1`, [
    purge.schema,
    relation,
    ...values,
  ]);
  if (any.rows.length === 0) return;
  const all = await survivorsOf(purge, relation, { sql, values });
  const survivors = all.filter(({ reason }) => reasons?.includes(reason) ?? true);
  if (survivors.length === 0) return;
  await alone(purge, (trx) =>
    trx.raw(
      `update ??.?? as old set kept = spared.reason from unnest(?::text[], ?::text[]) as spared (token, reason)
       where spared.token = old.token`,
      [purge.schema, relation, survivors.map(({ token }) => token), survivors.map(({ reason }) => reason)],
    ),
  );
}
