/**
 * Profiles in PostgreSQL, shared by all processes on one database.
 *
 * In: profiles as columns and JSON text, queries, limits. Out: rows and documents. All SQL names its schema and runs in
 * single statements or short transactions without named statements, session locks or a search path, so that pgbouncer's
 * transaction mode holds. Tables come from `migrations/profiler`. jsonb for the document was rejected: it refuses
 * U+0000 and doubles the server's work.
 */
import type { Knex } from 'knex';
import { createOpenList } from '../profiler/open-list.ts';
import { LEASE_SIZE } from '../profiler/token.ts';
import type { ProfileStorage, QueuedProfile } from '../profiler/storage.ts';
import { type Chores, createChores, purgeOf } from './chores.ts';
import { createScratch } from './copy-csv.ts';
import { createPartitionKeeper } from './partitions.ts';
import { type Pool, poolOfKnex } from './pool.ts';
import { findProfiles } from './postgres-find.ts';
import { clearProfiles } from './postgres-clear.ts';
import { formKey } from './postgres-settings.ts';
import { createReader } from './postgres-read.ts';
import { readShared } from './postgres-shared.ts';
import { readStanding } from './postgres-standing.ts';
import { summarizeProfiles } from './postgres-summarize.ts';
import { surveyProfiles } from './postgres-survey.ts';
import { writeProfiles } from './postgres-write.ts';
import { writeRowOf, type WriteRow } from './rows.ts';
import { createThreadWriter, type ThreadOptions } from './thread-writer.ts';
import { answerWithin, explain, isUnusable } from './unavailable.ts';

/** The pool to use; asked for at each call, so that it may be made late. Whoever gave it closes it. */
export type PoolSource =
  | { knex: () => Knex | Promise<Knex>; pool?: undefined }
  /** For pages only: all that goes on by itself is done in the thread, where there is one. */
  | { pool: () => Pool | Promise<Pool>; knex?: undefined };

export interface StorageSettings {
  schema: string;
  /** Profiles not stored because another request has their token. */
  onClash?: (tokens: readonly string[]) => void;
  /** The tables are missing, or the role may not use them. */
  onUnusable?: () => void;
  /** Milliseconds a search may take. */
  findTimeoutMs?: number;
  /** Width of a partition in milliseconds; a whole partition goes at once. About a twelfth of the retention. */
  partitionMs?: number;
  /** Takes sentences about what works less well than it could. */
  say?: (sentence: string) => void;
  /** Milliseconds that a page waits for a database that says nothing at all, beyond what a search may take. */
  answerTimeoutMs?: number;
}

export type PostgresStorageOptions = PoolSource &
  StorageSettings & {
    /** Write in a thread with a connection of its own; absent: on the pool, in this one. */
    thread?: ThreadOptions;
  };

/**
 * Milliseconds for a batch. A connection that a network or a failover has swallowed says nothing for a quarter of an
 * hour; the next try gets another one, and storing the same profiles twice is harmless.
 */
const WRITE_WITHIN_MS = 15_000;
/** Milliseconds that work under way gets at close. */
const CLOSE_WITHIN_MS = 1000;

const HOUR = 3_600_000;

export function createPostgresStorage(options: PostgresStorageOptions): ProfileStorage {
  const {
    schema,
    onClash,
    findTimeoutMs = 1000,
    answerTimeoutMs = 3000,
    partitionMs = HOUR,
    say = () => undefined,
  } = options;
  const readProfile = createReader(schema);
  const partitions = createPartitionKeeper({ schema, width: partitionMs, say });
  const scratch = createScratch();
  const thread =
    options.thread === undefined
      ? null
      : createThreadWriter({
          ...options.thread,
          data: { schema, partitionMs },
          alone: options.pool !== undefined,
          say,
        });
  const chores = createChores({ pool: openPool, schema, partitions, partitionMs, say });

  /** What is under way on the pool. */
  const running = createOpenList<Promise<unknown>>();

  /** What goes wrong, also no answer in time, becomes an error of the catalogue. */
  function track<T>(work: Promise<T>, withinMs = Infinity): Promise<T> {
    const result = work.catch((error: unknown) => {
      if (isUnusable(error)) options.onUnusable?.();
      throw explain(error, findTimeoutMs);
    });
    const over = (): void => {
      running.delete(result);
    };
    running.add(result);
    result.then(over, over);
    return withinMs === Infinity ? result : answerWithin(result, withinMs);
  }

  async function openPool(): Promise<Pool> {
    return options.pool === undefined ? poolOfKnex(await options.knex()) : options.pool();
  }

  /** Runs `work` on the pool. */
  function using<T>(work: (pool: Pool) => Promise<T>, withinMs = Infinity): Promise<T> {
    return track((async () => work(await openPool()))(), withinMs);
  }

  /** In the thread where that is alone with them, else here. */
  async function doChore<Name extends keyof Chores>(
    name: Name,
    given: Parameters<Chores[Name]>,
  ): Promise<Awaited<ReturnType<Chores[Name]>>> {
    const done = await thread?.ask(name, given);
    if (done !== null && done !== undefined) return done.result as Awaited<ReturnType<Chores[Name]>>;
    const chore = chores[name] as (
      ...values: Parameters<Chores[Name]>
    ) => Promise<Awaited<ReturnType<Chores[Name]>>>;
    return chore(...given);
  }

  /** Lets what is under way end, such as a lease of tokens, since the pool is closed next; a database that hangs is left. */
  async function close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise((resolve) => {
      timer = setTimeout(resolve, CLOSE_WITHIN_MS);
    });
    await Promise.race([Promise.allSettled(running), patience]);
    clearTimeout(timer);
    await thread?.close(CLOSE_WITHIN_MS);
  }

  async function writeHere(rows: readonly WriteRow[], signal: AbortSignal): Promise<string[]> {
    return (await openPool()).session((session) =>
      writeProfiles(session, { schema, partitions, scratch, signal }, rows),
    );
  }

  /** In the thread where there is one that can. Once this has settled, the bytes of the profiles are not read any more. */
  async function write(profiles: readonly QueuedProfile[]): Promise<string[]> {
    if (profiles.length === 0) return [];
    const rowsOf = (): WriteRow[] => profiles.map(writeRowOf);
    const written = await track(thread?.write(rowsOf) ?? Promise.resolve(null));
    if (written !== null) return written;
    const given = new AbortController();
    try {
      const clashes = await track(writeHere(rowsOf(), given.signal), WRITE_WITHIN_MS);
      thread?.wroteInstead();
      return clashes;
    } finally {
      given.abort();
    }
  }

  async function leasedUntil(pool: Pool): Promise<number> {
    const result = await pool.raw<{ rows: { last: string }[] }>(
      'select last_value as last from ??.hindsight_tokens',
      [schema],
    );
    return Number(result.rows[0]?.last ?? 0) + LEASE_SIZE;
  }

  return {
    name: 'postgresql',
    async write(profiles) {
      const clashes = await write(profiles);
      if (clashes.length > 0) onClash?.(clashes);
    },
    keepShared: (parts) => track(doChore('keepShared', [parts]), WRITE_WITHIN_MS),
    readShared: (ids) => using((pool) => readShared({ pool, schema }, ids), answerTimeoutMs),
    amend: (token, name, value) =>
      track(doChore('amend', [token, name, JSON.stringify(value ?? null)]), answerTimeoutMs),
    read: (token, wanted) =>
      using((pool) => pool.session((session) => readProfile(session, token, wanted)), answerTimeoutMs),
    find: (query) =>
      using(
        (pool) => findProfiles(pool, { schema, timeoutMs: findTimeoutMs, partitionMs }, query),
        2 * findTimeoutMs + answerTimeoutMs,
      ),
    standing: (query) => using((pool) => readStanding(pool, schema, query), answerTimeoutMs),
    summarize: (query) =>
      using(
        (pool) => summarizeProfiles(pool, { schema, timeoutMs: findTimeoutMs }, query),
        2 * findTimeoutMs + answerTimeoutMs,
      ),
    survey: (query) => using((pool) => surveyProfiles(pool, { schema }, query), answerTimeoutMs),
    clear: () => using((pool) => clearProfiles(purgeOf(pool, schema))),
    readSetting: (name) => track(doChore('readSetting', [name]), answerTimeoutMs),
    writeSetting: (name, value) => track(doChore('writeSetting', [name, value]), answerTimeoutMs),
    formKey: () => using((pool) => formKey({ pool, schema }), answerTimeoutMs),
    purge: (limits) => track(doChore('purge', [limits])),
    async leaseTokens(proposed) {
      const lease = doChore('leaseTokens', [proposed?.toString('hex') ?? null]);
      const { key, ...numbers } = await track(lease, WRITE_WITHIN_MS);
      return { ...numbers, key: Buffer.from(key, 'hex') };
    },
    leasedUntil: () => using(leasedUntil, answerTimeoutMs),
    close,
  };
}
