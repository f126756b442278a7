/**
 * Retention: drops whole partitions, and deletes rows of the one that a limit falls into, in short transactions under an advisory
 * lock, so that one process at a time does it. Exceptions (pinned, failed, slowest) are moved to the default partition before theirs
 * is dropped. No step waits long for a lock: what it can't get is left to the next round (decision 9).
 */
import { PROFILE_KINDS, type ProfileKind } from '../profiler/context.ts';
import type { RetentionLimits } from '../profiler/storage.ts';
import { listPartitions, NET, PARENT, type Partition } from './partitions.ts';
import { pinnedTokens } from './pins.ts';
import { quoted, type Store, tableIn } from './pool.ts';
import { purgeShared } from './postgres-shared.ts';
import { dropPartition, markSurvivors, type Where } from './purge-partition.ts';
import { deleteRows } from './purge-rows.ts';
import { relationSizes, type RelationSize } from './relation-sizes.ts';
import { codeOf } from '../errors.ts';

/** Milliseconds that one round may spend on deleting rows. */
const ROWS_MS = 5000;

/** Condition for rows that are not exceptions. */
function ordinary(limits: RetentionLimits): string {
  return limits.keepExceptions === undefined ? 'true' : 'kept is null';
}

function survivorsOf({ keepExceptions }: RetentionLimits): object | null {
  return keepExceptions === undefined ? null : {};
}

/** Of a partition that reaches beyond the moment. */
async function purgeRowsByAge(store: Store, { name }: Partition, limits: RetentionLimits): Promise<number> {
  const where = {
    sql: `${ordinary(limits)} and started_at < $1::numeric`,
    values: [String(limits.olderThan)],
  };
  if (limits.keepExceptions !== undefined)
    await markSurvivors(store, name, { ...where, reasons: ['pinned'] });
  let gone = 0;
  for (const kind of PROFILE_KINDS)
    gone += await deleteRows(store, { relation: name, kind, ...where, withinMs: ROWS_MS });
  return gone;
}

async function purgeByAge(
  store: Store,
  partitions: readonly Partition[],
  limits: RetentionLimits,
): Promise<number> {
  let gone = 0;
  for (const partition of partitions) {
    if (partition.until <= limits.olderThan)
      gone += await dropPartition(store, partition, survivorsOf(limits));
    else if (limits.exact === true && partition.from < limits.olderThan)
      gone += await purgeRowsByAge(store, partition, limits);
  }
  if (limits.keepExceptions !== undefined)
    await markSurvivors(store, NET, {
      sql: 'kept is null and started_at < $1::numeric',
      values: [String(limits.olderThan)],
    });
  for (const kind of PROFILE_KINDS)
    gone += await deleteRows(store, {
      relation: NET,
      kind,
      sql: `started_at < $1::numeric and ${ordinary(limits)}`,
      values: [String(limits.olderThan)],
      withinMs: ROWS_MS,
    });
  return gone;
}

/** The first row beyond the newest `allowed` of a kind: it and all older rows are deleted. */
async function limitByCount(
  { pool, schema }: Store,
  relation: string,
  options: { kind: ProfileKind; allowed: number; ordinary: string },
): Promise<Where | null> {
  const { rows } = await pool.query<FirstBeyond>(
    `select started_at, token from ${tableIn(schema, relation)} where kind = $1 and ${options.ordinary}
     order by started_at desc, token offset $2 limit 1`,
    [options.kind, options.allowed],
  );
  return beyondLimit(rows[0], options.ordinary);
}

interface FirstBeyond {
  started_at: string;
  token: string;
}

function beyondLimit(first: FirstBeyond | undefined, also: string): Where | null {
  return first === undefined
    ? null
    : {
        sql: `${also} and (started_at < $1::bigint or (started_at = $1::bigint and token >= $2))`,
        values: [first.started_at, first.token],
      };
}

/** The newest row at which the documents, counted from the newest, exceed `allowed` bytes. */
async function limitByBytes(
  { pool, schema }: Store,
  relation: string,
  options: { allowed: number; ordinary: string },
): Promise<Where | null> {
  const { rows } = await pool.query<FirstBeyond>(
    `select started_at, token from (
       select started_at, token, sum(bytes) over (order by started_at desc, token) as reached
       from ${tableIn(schema, relation)} where ${options.ordinary}
     ) as newest where reached > $1 order by started_at desc, token limit 1`,
    [options.allowed],
  );
  return beyondLimit(rows[0], options.ordinary);
}

/** Relations, newest first, that are partly or entirely beyond the limit, with what each may still hold. */
function* overLimit(
  sizes: readonly RelationSize[],
  measure: 'requests' | 'bytes',
  limit: number,
): Generator<{ relation: RelationSize; allowed: number }> {
  let left = limit;
  for (const relation of sizes) {
    if (relation[measure] > left) yield { relation, allowed: Math.max(0, left) };
    left -= relation[measure];
  }
}

async function purgeByLimit(
  store: Store,
  sizes: readonly RelationSize[],
  { measure, limits }: { measure: 'requests' | 'bytes'; limits: RetentionLimits },
): Promise<number> {
  let gone = 0;
  const limit = measure === 'requests' ? limits.count : limits.bytes;
  for (const { relation, allowed } of overLimit(sizes, measure, limit)) {
    if (relation.partition !== null && allowed === 0 && relation.closed) {
      gone += await dropPartition(store, relation.partition, survivorsOf(limits));
      continue;
    }
    const name = relation.name;
    const options = { allowed, ordinary: ordinary(limits) };
    const beyond =
      measure === 'bytes'
        ? await limitByBytes(store, name, options)
        : await limitByCount(store, name, { ...options, kind: 'request' });
    if (beyond === null) continue;
    // Failed and slow requests are exceptions when a partition is dropped; among single rows only pinned ones are.
    if (limits.keepExceptions !== undefined)
      await markSurvivors(store, name, { ...beyond, reasons: ['pinned'] });
    for (const kind of measure === 'bytes' ? PROFILE_KINDS : (['request'] as const))
      gone += await deleteRows(store, { relation: name, kind, ...beyond, withinMs: ROWS_MS });
  }
  return gone;
}

/** Profiles of all kinds except requests, which are counted with their partitions, and error pages, which are deleted with their requests. */
async function purgeByKind(store: Store, limits: RetentionLimits): Promise<number> {
  const allowed = { profiler: limits.profilerCount, job: limits.count, command: limits.count };
  let gone = 0;
  for (const kind of ['profiler', 'job', 'command'] as const) {
    const beyond = await limitByCount(store, PARENT, {
      kind,
      allowed: allowed[kind],
      ordinary: ordinary(limits),
    });
    if (beyond !== null)
      gone += await deleteRows(store, { relation: PARENT, kind, ...beyond, withinMs: ROWS_MS });
  }
  return gone;
}

async function purgeByLimits(store: Store, limits: RetentionLimits): Promise<number> {
  const sizes = await relationSizes(store, ordinary(limits));
  let gone = await purgeByLimit(store, sizes, { measure: 'requests', limits });
  gone += await purgeByKind(store, limits);
  const left = gone === 0 ? sizes : await relationSizes(store, ordinary(limits));
  return gone + (await purgeByLimit(store, left, { measure: 'bytes', limits }));
}

/** Updates exceptions that were pinned or unpinned since. */
async function followPins({ pool, schema }: Store): Promise<void> {
  const { rows } = await pool.query<{ token: string }>(pinnedTokens(quoted(schema)));
  // Not a subquery: its tokens are compared with parents, which Citus has on other nodes.
  const isPinned = '(token = any($1) or parent = any($1))';
  await pool.query(
    `update ${tableIn(schema, NET)} set kept = case when ${isPinned} then 'pinned' end
     where kept is not null and (kept = 'pinned') is distinct from (${isPinned} is true)`,
    [rows.map(({ token }) => token)],
  );
}

/** Exceptions have a separate age and number; pins only a number. */
async function purgeExceptions(store: Store, { keepExceptions }: RetentionLimits): Promise<number> {
  if (keepExceptions === undefined) return 0;
  await followPins(store);
  let gone = 0;
  const unpinned = `kept is not null and kept <> 'pinned'`;
  const conditions = [
    { sql: `${unpinned} and started_at < $1::numeric`, values: [String(keepExceptions.olderThan)] },
    ...(await Promise.all(
      [unpinned, `kept = 'pinned'`].map((ordinary) =>
        limitByCount(store, NET, { kind: 'request', allowed: keepExceptions.count, ordinary }),
      ),
    )),
  ];
  for (const condition of conditions)
    if (condition !== null)
      gone += await deleteRows(store, { relation: NET, kind: 'request', ...condition, withinMs: ROWS_MS });
  return gone;
}

/** SQLSTATE: undefined_table. */
const VANISHED = '42P01';

/** Whether the error came from a partition that another process dropped meanwhile. */
async function wasTaken({ pool, schema }: Store, error: unknown): Promise<boolean> {
  if (codeOf(error) !== VANISHED) return false;
  const { rows } = await pool.query('select 1 from pg_tables where schemaname = $1 and tablename = $2', [
    schema,
    NET,
  ]);
  return rows.length > 0;
}

/**
 * Returns how many profiles were deleted; dropped partitions count as when they were last counted. If another process purges, the
 * rest is left to the next round.
 */
export async function purgeProfiles(store: Store, limits: RetentionLimits): Promise<number> {
  const steps = [
    async () => purgeByAge(store, await listPartitions(store.pool, store.schema), limits),
    () => purgeExceptions(store, limits),
    () => purgeByLimits(store, limits),
  ];
  let gone = 0;
  for (const step of steps) {
    try {
      gone += await step();
    } catch (error) {
      if (!(await wasTaken(store, error))) throw error;
    }
  }
  await purgeShared(store);
  return gone;
}
