/** Operations of the storage's thread. Each is one message, so arguments and results must be values that can be cloned. */
import type { ProfileStorage, SharedPart } from '../profiler/storage.ts';
import { LEASE_SIZE } from '../profiler/token.ts';
import type { OperationOptions } from './operation-options.ts';
import { createPartitionKeeper, NET } from './partitions.ts';
import { type Pool, tableIn, withClient } from './pool.ts';
import { clearProfiles } from './postgres-clear.ts';
import { findProfiles } from './postgres-find.ts';
import { purgeProfiles } from './postgres-purge.ts';
import { createReader } from './postgres-read.ts';
import { formKey, readSetting, tokenKey, writeSetting } from './postgres-settings.ts';
import { storeShared, readShared } from './postgres-shared.ts';
import { readRoutePercentiles } from './postgres-route-percentiles.ts';
import { summarizeProfiles } from './postgres-summarize.ts';
import { countProfiles } from './postgres-counts.ts';
import { type Batch, writeProfiles } from './postgres-write.ts';
import { hasReached, readPosition } from './replica-position.ts';
import { storable } from './text.ts';

/** More than reading the database's clock takes; profiles live for hours. */
const CLOCK_TOLERANCE_MS = 60_000;

type Contract<Name extends keyof ProfileStorage> = Required<ProfileStorage>[Name];

export interface Operations {
  /** Returns the tokens that clashed. */
  write(batch: Batch): Promise<string[]>;
  /** Shared parts and profiles in one operation, for the end of the process. */
  writeLast(parts: readonly SharedPart[], batch: Batch): Promise<void>;
  storeShared: Contract<'storeShared'>;
  readShared: Contract<'readShared'>;
  /** `value`: as JSON. False: no such profile is stored. */
  amend(token: string, name: string, value: string): Promise<boolean>;
  read: Contract<'read'>;
  find: Contract<'find'>;
  routePercentiles: Contract<'routePercentiles'>;
  summarize: Contract<'summarize'>;
  countsAndHistogram: Contract<'countsAndHistogram'>;
  clear: Contract<'clear'>;
  readSetting: Contract<'readSetting'>;
  writeSetting: Contract<'writeSetting'>;
  purge: Contract<'purge'>;
  leasedUntil: Contract<'leasedUntil'>;
  /** Of the primary's write-ahead log. */
  position(): Promise<string>;
  /** Whether this server, a replica, has replayed the log up to there; null: it is none. */
  hasReached(position: string): Promise<boolean | null>;
  /** Keys in hexadecimal. */
  formKey(): Promise<string>;
  leaseTokens(proposed: string | null, skip: number): Promise<{ start: number; count: number; key: string }>;
}

/** `say` receives sentences about degraded operation, such as a missing privilege. */
export function createOperations(
  pool: Pool,
  { schema, partitionMs, findTimeoutMs }: OperationOptions,
  say: (sentence: string) => void,
): Operations {
  const store = { pool, schema };
  const read = createReader(schema);
  const partitions = createPartitionKeeper({ schema, width: partitionMs, say });
  const sequence = tableIn(schema, 'hindsight_tokens');
  let lookedForTrigrams = false;

  async function checkTrigrams(): Promise<void> {
    if (lookedForTrigrams) return;
    lookedForTrigrams = true;
    const { rows } = await pool.query(
      `select 1 from pg_indexes where schemaname = $1 and tablename = $2 and indexdef like '%trgm_ops%'`,
      [schema, NET],
    );
    if (rows.length === 0)
      say(
        'Profiles are searched by parts of their URL without an index, since the extension pg_trgm could not be ' +
          'created; docs/decisions/0009 says how to add it.',
      );
  }

  /** By how much this process's clock is ahead: one that jumped must not delete what is young by the database's. */
  async function clockAheadMs(): Promise<number> {
    const { rows } = await pool.query<{ at: string }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::bigint as at',
    );
    const aheadMs = Date.now() - Number(rows[0]?.at ?? Infinity);
    return aheadMs > CLOCK_TOLERANCE_MS ? aheadMs : 0;
  }

  const write = (batch: Batch): Promise<string[]> =>
    withClient(pool, (client) => writeProfiles(client, { schema, partitions }, batch));

  return {
    write,
    async writeLast(parts, batch) {
      if (parts.length > 0) await storeShared(store, parts);
      await write(batch);
    },
    storeShared: (parts) => storeShared(store, parts),
    readShared: (ids) => readShared(store, ids),
    async amend(token, name, value) {
      const { rowCount } = await pool.query(
        `insert into ${tableIn(schema, 'hindsight_amendments')} (token, started_at, name, value)
         select token, started_at, $1::text, $2::text from ${tableIn(schema, 'hindsight_profiles')} where token = $3
         on conflict (token, name) do update set started_at = excluded.started_at, value = excluded.value`,
        [storable(name), value, storable(token)],
      );
      return (rowCount ?? 0) > 0;
    },
    read: (token, wanted) => read(pool, token, wanted),
    find: (query) => findProfiles(pool, { schema, timeoutMs: findTimeoutMs, partitionMs }, query),
    routePercentiles: (query) => readRoutePercentiles(pool, schema, query),
    summarize: (query) => summarizeProfiles(pool, { schema, timeoutMs: findTimeoutMs }, query),
    countsAndHistogram: (query) => countProfiles(pool, { schema }, query),
    clear: () => clearProfiles(store),
    readSetting: (name) => readSetting(store, name),
    writeSetting: (name, value) => writeSetting(store, name, value),
    async purge(limits) {
      await checkTrigrams();
      const { olderThan, keepExceptions } = limits;
      const aheadMs = await clockAheadMs();
      // Creates the next partition before a profile needs it.
      const now = Date.now();
      await withClient(pool, (client) => partitions.prepare(client, [now, now + partitionMs]));
      return purgeProfiles(store, {
        ...limits,
        olderThan: olderThan - aheadMs,
        ...(keepExceptions === undefined
          ? {}
          : { keepExceptions: { ...keepExceptions, olderThan: keepExceptions.olderThan - aheadMs } }),
      });
    },
    async leasedUntil() {
      const { rows } = await pool.query<{ last: string }>(`select last_value as last from ${sequence}`);
      return Number(rows[0]?.last ?? 0) + LEASE_SIZE;
    },
    position: () => readPosition(pool),
    hasReached: (position) => hasReached(pool, position),
    formKey: async () => (await formKey(store)).toString('hex'),
    async leaseTokens(proposed, skip) {
      const key = await tokenKey(store, proposed === null ? undefined : Buffer.from(proposed, 'hex'));
      const { rows } = await pool.query<{ start: string }>(
        'select nextval($1::regclass) as start from generate_series(0, $2::int) order by 1 desc limit 1',
        [sequence, skip],
      );
      return { start: Number(rows[0]?.start ?? 0), count: LEASE_SIZE, key: key.toString('hex') };
    },
  };
}
