/**
 * Profiles in PostgreSQL, shared by all processes on one database.
 *
 * All SQL names its schema and runs in single statements or short transactions without named statements, session locks or a search
 * path, so that pgbouncer's transaction mode holds. Tables come from `migrations/profiler`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { requirePackage } from '../paths.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import { LEASE_SIZE } from '../profiler/token.ts';
import type { PgSettings } from './pg-settings.ts';
import { createPool, type Store, tableIn } from './pool.ts';
import { countProfiles } from './postgres-counts.ts';
import { findProfiles } from './postgres-find.ts';
import { clearProfiles, purgeProfiles } from './postgres-purge.ts';
import { readProfile } from './postgres-read.ts';
import { readRoutePercentiles } from './postgres-route-percentiles.ts';
import { formKey, readSetting, tokenKey, writeSetting } from './postgres-settings.ts';
import { readShared, storeShared } from './postgres-shared.ts';
import { summarizeProfiles } from './postgres-summarize.ts';
import { writeProfiles } from './postgres-write.ts';
import { storable } from './text.ts';
import { rejectAfter, explain, isUnusable } from './unavailable.ts';

export interface StorageSettings {
  schema: string;
  /** Profiles not stored because another request has their token. */
  onClash?: (tokens: readonly string[]) => void;
  /** The tables are missing, or the role may not use them. */
  onUnusable?: () => void;
  /** Milliseconds a search may take. */
  findTimeoutMs?: number;
  /** Milliseconds that a page waits for a database that does not reply, in addition to what a search may take. */
  replyTimeoutMs?: number;
}

export interface PostgresStorageOptions extends StorageSettings {
  /** Settings for `pg`; called again after a failure. */
  connection: () => Promise<PgSettings>;
}

/** Milliseconds for a host to say where to connect. */
const SETTINGS_WITHIN_MS = 5000;
/** Milliseconds for background work, such as a lease of tokens. */
const CHORE_WITHIN_MS = 15_000;
/** Milliseconds that work under way gets at close. */
const CLOSE_WITHIN_MS = 1000;
/** More than reading the database's clock takes; profiles live for hours. */
const CLOCK_TOLERANCE_MS = 60_000;

/** By how much this process's clock is ahead: one that jumped must not delete what is young by the database's. */
async function clockAheadMs({ pool }: Store): Promise<number> {
  const { rows } = await pool.query<{ at: string }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::bigint as at',
  );
  const aheadMs = Date.now() - Number(rows[0]?.at ?? Infinity);
  return aheadMs > CLOCK_TOLERANCE_MS ? aheadMs : 0;
}

export function createPostgresStorage(options: PostgresStorageOptions): ProfileStorage {
  const { schema, onClash, onUnusable, connection } = options;
  const { findTimeoutMs = 1000, replyTimeoutMs = 3000 } = options;
  const searchMs = 2 * findTimeoutMs + replyTimeoutMs;
  const search = { schema, timeoutMs: findTimeoutMs };
  const sequence = tableIn(schema, 'hindsight_tokens');
  // Without a context: its statements are no request's.
  const outside = AsyncLocalStorage.snapshot();
  let settings: Promise<PgSettings> | null = null;
  let current: { settings: PgSettings; store: Store } | null = null;
  const running = new Set<Promise<unknown>>();
  let closed = false;

  /** With new settings a new pool is created; the old one closes its connections when they are idle. */
  async function storeNow(): Promise<Store> {
    // Don't call the host's `connection` again.
    if (closed) throw new Error('the storage is closed.');
    settings ??= rejectAfter(connection(), SETTINGS_WITHIN_MS);
    const known = await settings;
    if (current === null || !isDeepStrictEqual(current.settings, known)) {
      const { Pool } = requirePackage('pg') as typeof pg;
      current = { settings: known, store: { pool: createPool(Pool, known), schema } };
    }
    return current.store;
  }

  async function attempt<T>(work: (store: Store) => Promise<T>): Promise<T> {
    try {
      return await work(await storeNow());
    } catch (error) {
      settings = null;
      if (isUnusable(error)) onUnusable?.();
      throw explain(error, findTimeoutMs);
    }
  }

  function run<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const done = outside(() => attempt(work));
    const settled = done.then(
      () => undefined,
      () => undefined,
    );
    running.add(settled);
    void settled.then(() => running.delete(settled));
    return done;
  }

  /** Rejects after `withinMs`; the work may go on. */
  function ask<T>(withinMs: number, work: (store: Store) => Promise<T>): Promise<T> {
    return rejectAfter(run(work), withinMs);
  }

  return {
    name: 'postgresql',
    isShared: true,
    async write(profiles) {
      if (profiles.length === 0) return;
      const clashes = await run((store) => writeProfiles(store, profiles));
      if (clashes.length > 0) onClash?.(clashes);
    },
    storeShared: (parts) => ask(CHORE_WITHIN_MS, (store) => storeShared(store, parts)),
    readShared: (ids) => ask(replyTimeoutMs, (store) => readShared(store, ids)),
    amend: (token, name, value) =>
      ask(replyTimeoutMs, async ({ pool }) => {
        const { rowCount } = await pool.query(
          `insert into ${tableIn(schema, 'hindsight_amendments')} (token, started_at, name, value)
           select token, started_at, $1::text, $2::text from ${tableIn(schema, 'hindsight_profiles')} where token = $3
           on conflict (token, name) do update set started_at = excluded.started_at, value = excluded.value`,
          [storable(name), JSON.stringify(value ?? null), storable(token)],
        );
        return (rowCount ?? 0) > 0;
      }),
    read: (token, wanted) => ask(replyTimeoutMs, (store) => readProfile(store, token, wanted)),
    find: (query) => ask(searchMs, ({ pool }) => findProfiles(pool, search, query)),
    routePercentiles: (query) => ask(replyTimeoutMs, ({ pool }) => readRoutePercentiles(pool, schema, query)),
    summarize: (query) => ask(searchMs, ({ pool }) => summarizeProfiles(pool, search, query)),
    countsAndHistogram: (query) => ask(replyTimeoutMs, ({ pool }) => countProfiles(pool, { schema }, query)),
    clear: () => run(clearProfiles),
    readSetting: (name) => ask(replyTimeoutMs, (store) => readSetting(store, name)),
    writeSetting: (name, value) => ask(replyTimeoutMs, (store) => writeSetting(store, name, value)),
    purge: (limits) =>
      run(async (store) => {
        const { olderThan, keepExceptions } = limits;
        const aheadMs = await clockAheadMs(store);
        return purgeProfiles(store, {
          ...limits,
          olderThan: olderThan - aheadMs,
          ...(keepExceptions === undefined
            ? {}
            : { keepExceptions: { ...keepExceptions, olderThan: keepExceptions.olderThan - aheadMs } }),
        });
      }),
    leasedUntil: () =>
      ask(replyTimeoutMs, async ({ pool }) => {
        const { rows } = await pool.query<{ last: string }>(`select last_value as last from ${sequence}`);
        return Number(rows[0]?.last ?? 0) + LEASE_SIZE;
      }),
    formKey: () => ask(replyTimeoutMs, formKey),
    leaseTokens: (proposed, skip = 0) =>
      ask(CHORE_WITHIN_MS, async (store) => {
        const key = await tokenKey(store, proposed);
        const { rows } = await store.pool.query<{ start: string }>(
          'select nextval($1::regclass) as start from generate_series(0, $2::int) order by 1 desc limit 1',
          [sequence, skip],
        );
        return { start: Number(rows[0]?.start ?? 0), count: LEASE_SIZE, key };
      }),
    async close() {
      closed = true;
      await rejectAfter(Promise.all(running), CLOSE_WITHIN_MS).catch(() => undefined);
      // A pool waits for its connections, and one of them may hang.
      await rejectAfter(current?.store.pool.end() ?? Promise.resolve(), CLOSE_WITHIN_MS).catch(
        () => undefined,
      );
    },
  };
}
