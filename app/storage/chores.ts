/**
 * What the storage does while nobody looks: what is stored with profiles and beside them, leases of tokens, settings that are read
 * again and again, retention. It is done on the pool, or in the writer's thread where the pool is only there for pages
 * (postgres-profile-storage.ts): a process whose profiles nobody reads loads no client of the database then.
 *
 * Arguments and results are what a message to a thread can hold.
 */
import { LEASE_SIZE } from '../profiler/token.ts';
import type { RetentionLimits, SharedPart } from '../profiler/storage.ts';
import { listPartitions, NET, type PartitionKeeper } from './partitions.ts';
import type { Pool } from './pool.ts';
import { purgeProfiles } from './postgres-purge.ts';
import { readSetting, tokenKey, writeSetting } from './postgres-settings.ts';
import { keepShared } from './postgres-shared.ts';
import type { Purge } from './purge-partition.ts';
import { quoted } from './session.ts';
import { storable } from './text.ts';

export interface Chores {
  keepShared(parts: readonly SharedPart[]): Promise<void>;
  /** `value`: as JSON. False: no such profile is stored. */
  amend(token: string, name: string, value: string): Promise<boolean>;
  readSetting(name: string): Promise<string | null>;
  writeSetting(name: string, value: string | null): Promise<void>;
  /** Keys in hexadecimal. */
  leaseTokens(proposed: string | null): Promise<{ start: number; count: number; key: string }>;
  purge(limits: RetentionLimits): Promise<number>;
}

export interface ChoreOptions {
  pool: () => Pool | Promise<Pool>;
  schema: string;
  partitions: PartitionKeeper;
  partitionMs: number;
  /** Takes sentences about what works less well than it could. */
  say: (sentence: string) => void;
}

export function purgeOf(pool: Pool, schema: string): Purge {
  return {
    pool,
    schema,
    partitions: () => pool.session((session) => listPartitions(session, schema)),
  };
}

export function createChores({ pool: open, schema, partitions, partitionMs, say }: ChoreOptions): Chores {
  let lookedForTrigrams = false;

  async function checkTrigrams(pool: Pool): Promise<void> {
    if (lookedForTrigrams) return;
    lookedForTrigrams = true;
    const found = await pool.raw<{ rows: unknown[] }>(
      `select 1 from pg_indexes where schemaname = ? and tablename = ? and indexdef like '%trgm_ops%'`,
      [schema, NET],
    );
    if (found.rows.length === 0)
      say(
        'Profiles are searched by parts of their URL without an index, since the extension pg_trgm could not be ' +
          'created; docs/decisions/0009 says how to add it.',
      );
  }

  return {
    keepShared: async (parts) => keepShared({ pool: await open(), schema }, parts),
    async amend(token, name, value) {
      const result = await (
        await open()
      ).raw<{ rowCount: number }>(
        `insert into ??.hindsight_amendments (token, started_at, name, value)
         select token, started_at, ?::text, ?::text from ??.hindsight_profiles where token = ?
         on conflict (token, name) do update set started_at = excluded.started_at, value = excluded.value`,
        [schema, storable(name), value, schema, storable(token)],
      );
      return result.rowCount > 0;
    },
    readSetting: async (name) => readSetting({ pool: await open(), schema }, name),
    writeSetting: async (name, value) => writeSetting({ pool: await open(), schema }, name, value),
    async leaseTokens(proposed) {
      const pool = await open();
      const given = proposed === null ? undefined : Buffer.from(proposed, 'hex');
      const key = await tokenKey({ pool, schema }, given);
      const result = await pool.raw<{ rows: { start: string }[] }>('select nextval(?::regclass) as start', [
        `${quoted(schema)}.hindsight_tokens`,
      ]);
      return { start: Number(result.rows[0]?.start ?? 0), count: LEASE_SIZE, key: key.toString('hex') };
    },
    async purge(limits) {
      const pool = await open();
      await checkTrigrams(pool);
      // The next partition is there before the first profile that needs it.
      const now = Date.now();
      await pool.session((session) => partitions.prepare(session, [now, now + partitionMs]));
      return purgeProfiles(purgeOf(pool, schema), limits);
    },
  };
}
