/**
 * Retention: deletes by age, number and bytes, the oldest first, in short steps. One process at a time does it; what it does not get done
 * is left to the next round.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreLimits } from '../../profiler/store/store.ts';
import { codeOf } from '../../errors.ts';
import { type Client, inTransaction, type Store as Connection, tableIn, withClient } from '../pool.ts';

const STEP_ROWS = 500;
const WITHIN_MS = 5000;
/** How often and how long clearing waits for a process that purges. */
const MOST_WAITS = 10;
const WAIT_MS = 200;
const HOUR_MS = 3_600_000;

const LOCK_WAIT_MS = 300;
const STATEMENT_MS = 10_000;
/** SQLSTATE: lock_not_available, deadlock_detected. The next round tries again. */
const BUSY = new Set(['55P03', '40P01']);

interface Where {
  sql: string;
  values: readonly unknown[];
}

const FULL = "kind = 'request' and summary is null";
const NEWEST = 'order by started_at desc, token';

const tableOf = ({ schema }: Connection): string => tableIn(schema, 'hindsight_profiles');

async function alone<T>(
  { pool, schema }: Connection,
  work: (client: Client) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withClient(pool, (client) =>
      inTransaction(client, STATEMENT_MS, async () => {
        await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`);
        const { rows } = await client.query<{ held: boolean }>(
          'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held',
          [`hindsight purge ${schema}`],
        );
        return rows[0]?.held === true ? work(client) : undefined;
      }),
    );
  } catch (error) {
    if (BUSY.has(codeOf(error))) return undefined;
    throw error;
  }
}

/** Deletes one step, with the error pages of what is deleted. Undefined if another process purges. */
function deleteStep(connection: Connection, { sql, values }: Where): Promise<number | undefined> {
  const table = tableOf(connection);
  return alone(connection, async (client) => {
    const tokensOf = async (text: string, given: readonly unknown[]): Promise<string[]> => {
      const { rows } = await client.query<{ token: string }>(text, [...given]);
      return rows.map(({ token }) => token);
    };
    const old = await tokensOf(
      `select token from ${table} where ${sql} order by started_at, token desc limit ${STEP_ROWS}`,
      values,
    );
    if (old.length === 0) return 0;
    const children = await tokensOf(`select token from ${table} where parent = any($1) and not pinned`, [
      old,
    ]);
    const gone = [...new Set([...old, ...children])].sort();
    const { rowCount } = await client.query(`delete from ${table} where token = any($1)`, [gone]);
    return rowCount ?? 0;
  });
}

async function deleteRows(connection: Connection, where: Where): Promise<number> {
  const deadline = performance.now() + WITHIN_MS;
  let total = 0;
  for (;;) {
    const count = await deleteStep(connection, where);
    total += count ?? 0;
    if (count === undefined || count === 0 || performance.now() > deadline) return total;
  }
}

/** The time by the clock that is behind, so that one that jumped deletes nothing that is young by the other. */
async function now({ pool }: Connection): Promise<number> {
  const { rows } = await pool.query<{ at: string }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::bigint as at',
  );
  return Math.min(Date.now(), Number(rows[0]?.at));
}

/** Before all records: a clock may have said that it is before 1970. PostgreSQL 13 knows no `-Infinity` of this type. */
const NEVER = Number.MIN_SAFE_INTEGER;

async function momentAfter({ pool }: Connection, { sql, values }: Where): Promise<number> {
  const { rows } = await pool.query<{ started_at: string }>(sql, [...values]);
  const [first] = rows;
  return first === undefined ? NEVER : Number(first.started_at) + 1;
}

function beyondCount(connection: Connection, group: string, count: number): Promise<number> {
  return momentAfter(connection, {
    sql: `select started_at from ${tableOf(connection)} where ${group} and not pinned ${NEWEST} offset $1::bigint limit 1`,
    values: [count],
  });
}

function beyondBytes(connection: Connection, group: string, bytes: number): Promise<number> {
  return momentAfter(connection, {
    sql: `select started_at from (
        select started_at, token, sum(bytes) over (${NEWEST}) as reached
        from ${tableOf(connection)} where ${group} and not pinned
      ) as newest where reached > $1::numeric ${NEWEST} limit 1`,
    values: [bytes],
  });
}

/** Of the full records before a moment: failed requests and the slowest of each route, the newest ones within their limits. */
async function exceptionsBefore(
  connection: Connection,
  moment: number,
  { count, bytes, olderThan }: { count: number; bytes: number; olderThan: number },
): Promise<string[]> {
  const { rows } = await connection.pool.query<{ token: string }>(
    `select token from (
       select token, started_at, sum(bytes) over (${NEWEST}) as reached from (
         select token, started_at, bytes, error is not null or status >= 500 as failed,
           row_number() over (partition by method, route order by duration_ms desc nulls last, started_at desc, token) as place
         from ${tableOf(connection)} where ${FULL} and not pinned and started_at < $1::bigint and started_at >= $2::numeric
       ) as old where failed or place = 1
     ) as exceptions where reached <= $3::numeric ${NEWEST} limit $4::bigint`,
    [moment, olderThan, bytes, count],
  );
  return rows.map(({ token }) => token);
}

/** Deletes shared texts that were written well before the oldest record, and blocks of tokens of which nothing is stored. */
async function purgeSettings(connection: Connection): Promise<void> {
  const { pool, schema } = connection;
  const settings = tableIn(schema, 'hindsight_settings');
  const now = '(extract(epoch from now()) * 1000)::bigint';
  const { rows } = await pool.query<{ name: string; written_at: string; now: string }>(
    `select name, written_at, ${now} as now from ${settings}
     where (name like 'part-%' or name like 'tokens-%') and written_at < ${now} - ${HOUR_MS}`,
  );
  if (rows.length === 0) return;
  const oldest = await pool.query<{ at: string | null }>(
    `select min(started_at) as at from ${tableOf(connection)}`,
  );
  const blocks = await pool.query<{ block: string }>(
    `select distinct left(token, 3) as block from ${tableOf(connection)}`,
  );
  const used = new Set(blocks.rows.map(({ block }) => block));
  const oldestAt = Number(oldest.rows[0]?.at ?? Infinity);
  const gone = rows.filter(({ name, written_at: writtenAt }) =>
    name.startsWith('part-') ? Number(writtenAt) < oldestAt - HOUR_MS : !used.has(name.slice(-3)),
  );
  // One that was written again meanwhile stays.
  for (const { name, written_at: writtenAt } of gone)
    await pool.query(`delete from ${settings} where name = $1 and written_at = $2`, [name, writtenAt]);
}

export async function purgeRecords(connection: Connection, limits: StoreLimits): Promise<number> {
  const at = await now(connection);
  const olderThan = at - limits.maxAgeMs;
  const full = Math.max(
    olderThan,
    await beyondCount(connection, FULL, limits.count),
    await beyondBytes(connection, 'summary is null', limits.bytes),
  );
  const summary = Math.max(
    olderThan,
    await beyondCount(connection, 'summary is not null', limits.summaryCount),
    await beyondBytes(connection, 'summary is not null', limits.summaryBytes),
  );
  const kept = await exceptionsBefore(connection, full, {
    ...limits.exceptions,
    olderThan: at - limits.exceptions.maxAgeMs,
  });
  let gone = await deleteRows(connection, {
    sql: 'summary is not null and not pinned and started_at < $1::numeric',
    values: [summary],
  });
  gone += await deleteRows(connection, {
    sql: `${FULL} and not pinned and token <> all($2::text[]) and started_at < $1::numeric`,
    values: [full, kept],
  });
  for (const [kind, count] of [
    ['job', limits.count],
    ['command', limits.count],
    ['profiler', limits.profilerCount],
  ] as const) {
    const moment = Math.max(full, await beyondCount(connection, `kind = '${kind}'`, count));
    gone += await deleteRows(connection, {
      sql: `kind = '${kind}' and not pinned and started_at < $1::numeric`,
      values: [moment],
    });
  }
  // Error pages go with their requests; these are left over.
  const { rows } = await connection.pool.query<{ token: string }>(
    `select token from ${tableOf(connection)} where pinned`,
  );
  gone += await deleteRows(connection, {
    sql: `kind = 'error_page' and not pinned and started_at < $1::numeric
      and (parent is null or parent <> all($2::text[]))`,
    values: [full, [...kept, ...rows.map(({ token }) => token)]],
  });
  await purgeSettings(connection);
  return gone;
}

export async function clearRecords(connection: Connection): Promise<number> {
  const { rows } = await connection.pool.query<{ token: string }>(
    `select token from ${tableOf(connection)} where pinned`,
  );
  const where = {
    sql: 'not pinned and (parent is null or parent <> all($1::text[]))',
    values: [rows.map(({ token }) => token)],
  };
  let total = 0;
  for (let waits = 0; waits < MOST_WAITS;) {
    const count = await deleteStep(connection, where);
    if (count === 0) break;
    total += count ?? 0;
    if (count !== undefined) continue;
    waits += 1;
    await sleep(WAIT_MS);
  }
  return total;
}
