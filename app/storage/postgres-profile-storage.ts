/**
 * Profiles in PostgreSQL, shared by all processes on one database: a thread does the work (postgres-operations.ts).
 *
 * All SQL names its schema and runs in single statements or short transactions without named statements, session locks or a search
 * path, so that pgbouncer's transaction mode holds. Tables come from `migrations/profiler`.
 */
import type { Worker } from 'node:worker_threads';
import type { OtlpOptions } from '../export/otlp-exporter.ts';
import { NOTHING_EXPORTED } from '../profiler/export.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import type { PgSettings } from './pg-settings.ts';
import type { OperationOptions } from './operation-options.ts';
import type { Operations } from './postgres-operations.ts';
import { batchOf } from './postgres-write.ts';
import { createThread } from './thread.ts';
import { rejectAfter, explain, isUnusable } from './unavailable.ts';

export interface StorageSettings {
  schema: string;
  /** Profiles not stored because another request has their token. */
  onClash?: (tokens: readonly string[]) => void;
  /** The tables are missing, or the role may not use them. */
  onUnusable?: () => void;
  /** Milliseconds a search may take. */
  findTimeoutMs?: number;
  /** Width of a partition in milliseconds; whole partitions are dropped. About a twelfth of the retention. */
  partitionMs?: number;
  /** Where its thread exports what it writes; absent: nowhere. */
  otlp?: OtlpOptions | undefined;
  /** Receives sentences about degraded operation, such as a missing privilege. */
  say?: (sentence: string) => void;
  /** Milliseconds that a page waits for a database that does not reply, in addition to what a search may take. */
  replyTimeoutMs?: number;
}

export interface PostgresStorageOptions extends StorageSettings {
  /** Settings for `pg` that can be sent to a thread; called again after a failure. */
  connection: () => Promise<PgSettings>;
  /** Starts the module `storage/postgres-thread`. */
  start: (options: OperationOptions) => Worker;
}

export interface PostgresStorage extends ProfileStorage {
  /** Of the primary's write-ahead log: what was committed before is at or below it. */
  position(): Promise<string>;
  /** Whether this server, a replica, has replayed the log up to there; null: it is none. */
  hasReached(position: string, withinMs: number): Promise<boolean | null>;
}

/** Milliseconds for a host to say where to connect. */
const SETTINGS_WITHIN_MS = 5000;
/** Milliseconds for background work, such as a lease of tokens. */
const CHORE_WITHIN_MS = 15_000;
/** Milliseconds that work under way gets at close. */
const CLOSE_WITHIN_MS = 1000;

const HOUR = 3_600_000;

export function createPostgresStorage(options: PostgresStorageOptions): PostgresStorage {
  const { schema, onClash, onUnusable, connection, start, otlp } = options;
  const { findTimeoutMs = 1000, replyTimeoutMs = 3000, partitionMs = HOUR } = options;
  const searchMs = 2 * findTimeoutMs + replyTimeoutMs;
  let exported = NOTHING_EXPORTED;
  const thread = createThread(
    () => start({ schema, partitionMs, findTimeoutMs, otlp }),
    options.say ?? (() => undefined),
    (counters) => {
      exported = counters;
    },
  );
  let settings: Promise<PgSettings> | null = null;
  /** The settings used last: `connection` can't be awaited at the end of the process. */
  let knownSettings: PgSettings | null = null;
  let closed = false;

  async function order<Name extends keyof Operations>(
    name: Name,
    given: Parameters<Operations[Name]>,
    transferred?: readonly ArrayBuffer[],
  ): Promise<Awaited<ReturnType<Operations[Name]>>> {
    try {
      // Don't call the host's `connection` again.
      if (closed) throw new Error('the storage is closed.');
      settings ??= rejectAfter(connection(), SETTINGS_WITHIN_MS);
      knownSettings = await settings;
      const result = await thread.ask({ settings: knownSettings, name, given }, transferred);
      return result as Awaited<ReturnType<Operations[Name]>>;
    } catch (error) {
      settings = null;
      if (isUnusable(error)) onUnusable?.();
      throw explain(error, findTimeoutMs);
    }
  }

  /** Rejects after `withinMs`; the operation may go on. */
  function ask<Name extends keyof Operations>(
    withinMs: number,
    name: Name,
    ...given: Parameters<Operations[Name]>
  ): Promise<Awaited<ReturnType<Operations[Name]>>> {
    return rejectAfter(order(name, given), withinMs);
  }

  return {
    name: 'postgresql',
    async write(profiles) {
      if (profiles.length === 0) return;
      const batch = batchOf(profiles);
      const clashes = await order('write', [batch], [batch.data.buffer]);
      if (clashes.length > 0) onClash?.(clashes);
    },
    writeSync(profiles, parts, withinMs) {
      if (closed || knownSettings === null) return false;
      const batch = batchOf(profiles);
      const order = { settings: knownSettings, name: 'writeLast' as const, given: [parts, batch] };
      return thread.askSync(order, [batch.data.buffer], withinMs);
    },
    storeShared: (parts) => ask(CHORE_WITHIN_MS, 'storeShared', parts),
    readShared: (ids) => ask(replyTimeoutMs, 'readShared', ids),
    amend: (token, name, value) => ask(replyTimeoutMs, 'amend', token, name, JSON.stringify(value ?? null)),
    read: (token, wanted) => ask(replyTimeoutMs, 'read', token, wanted),
    find: (query) => ask(searchMs, 'find', query),
    routePercentiles: (query) => ask(replyTimeoutMs, 'routePercentiles', query),
    summarize: (query) => ask(searchMs, 'summarize', query),
    countsAndHistogram: (query) => ask(replyTimeoutMs, 'countsAndHistogram', query),
    clear: () => order('clear', []),
    readSetting: (name) => ask(replyTimeoutMs, 'readSetting', name),
    writeSetting: (name, value) => ask(replyTimeoutMs, 'writeSetting', name, value),
    purge: (limits) => order('purge', [limits]),
    leasedUntil: () => ask(replyTimeoutMs, 'leasedUntil'),
    position: () => ask(replyTimeoutMs, 'position'),
    hasReached: (position, withinMs) => ask(withinMs, 'hasReached', position),
    formKey: async () => Buffer.from(await ask(replyTimeoutMs, 'formKey'), 'hex'),
    async leaseTokens(proposed, skip = 0) {
      const lease = await ask(CHORE_WITHIN_MS, 'leaseTokens', proposed?.toString('hex') ?? null, skip);
      return { ...lease, key: Buffer.from(lease.key, 'hex') };
    },
    exported: () => (otlp === undefined ? null : exported),
    async close() {
      closed = true;
      await thread.close(CLOSE_WITHIN_MS);
    },
  };
}
