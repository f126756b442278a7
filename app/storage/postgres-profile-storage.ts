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
import type {
  ProfileStorage,
  QueuedProfile,
  ReadProfile,
  RetentionLimits,
  TokenLease,
} from '../profiler/storage.ts';
import { createScratch } from './copy-csv.ts';
import { createPartitionKeeper, listPartitions, NET } from './partitions.ts';
import { findProfiles } from './postgres-find.ts';
import { clearProfiles } from './postgres-clear.ts';
import { purgeProfiles } from './postgres-purge.ts';
import { formKey, readSetting, tokenKey, writeSetting } from './postgres-settings.ts';
import { keepShared, readShared } from './postgres-shared.ts';
import type { Purge } from './purge-partition.ts';
import { readStanding, summarizeProfiles } from './postgres-summarize.ts';
import { surveyProfiles } from './postgres-survey.ts';
import { writeProfiles } from './postgres-write.ts';
import { writeRowOf, type WriteRow } from './rows.ts';
import { quoted, type Session, withSession } from './session.ts';
import { storable } from './text.ts';
import { createThreadWriter, type ThreadOptions } from './thread-writer.ts';
import { answerWithin, explain, isUnusable } from './unavailable.ts';

export interface PostgresStorageOptions {
  /** The pool to use; asked for at each call, so that it may be made late. Whoever gave it closes it. */
  knex: () => Knex | Promise<Knex>;
  schema: string;
  /** Profiles not stored because another request has their token. */
  onClash?: (tokens: readonly string[]) => void;
  /** The tables are missing, or the role may not use them. */
  onUnusable?: () => void;
  /** Milliseconds a search may take. */
  findTimeoutMs?: number;
  /** Width of a partition in milliseconds; a whole partition goes at once. About a twelfth of the retention. */
  partitionMs?: number;
  /** Write in a thread with a connection of its own; absent: on the pool, in this one. */
  thread?: ThreadOptions;
  /** Takes sentences about what works less well than it could. */
  say?: (sentence: string) => void;
  /** Milliseconds that a page waits for a database that says nothing at all, beyond what a search may take. */
  answerTimeoutMs?: number;
}

/**
 * Milliseconds for a batch. A connection that a network or a failover has swallowed says nothing for a quarter of an
 * hour; the next try gets another one, and storing the same profiles twice is harmless.
 */
const WRITE_WITHIN_MS = 15_000;
/** Milliseconds that work under way gets at close. */
const CLOSE_WITHIN_MS = 1000;

const HOUR = 3_600_000;

function parseAmendments(texts: Record<string, string> | null): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(texts ?? {}).map(([name, text]) => [name, JSON.parse(text) as unknown]),
  );
}

export function createPostgresStorage(options: PostgresStorageOptions): ProfileStorage {
  const {
    schema,
    onClash,
    findTimeoutMs = 1000,
    answerTimeoutMs = 3000,
    partitionMs = HOUR,
    say = () => undefined,
  } = options;
  const readText = `select document, (
      select json_object_agg(beside.name, beside.value) from ${quoted(schema)}.hindsight_amendments as beside
      where beside.token = profile.token and beside.started_at = profile.started_at
    ) as amendments
    from ${quoted(schema)}.hindsight_profiles as profile where profile.token = $1`;
  const partitions = createPartitionKeeper({ schema, width: partitionMs, say });
  const scratch = createScratch();
  const thread =
    options.thread === undefined
      ? null
      : createThreadWriter({ ...options.thread, data: { schema, partitionMs }, say });
  let lookedForTrigrams = false;

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

  /** Runs `work` on the pool. */
  function using<T>(work: (knex: Knex) => Promise<T>, withinMs = Infinity): Promise<T> {
    return track((async () => work(await options.knex()))(), withinMs);
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
    return withSession(await options.knex(), (session) =>
      writeProfiles(session, { schema, partitions, scratch, signal }, rows),
    );
  }

  /** In the thread where there is one that can. Once this has settled, the bytes of the profiles are not read any more. */
  async function write(profiles: readonly QueuedProfile[]): Promise<string[]> {
    if (profiles.length === 0) return [];
    const rows = profiles.map(writeRowOf);
    const written = await track(thread?.write(rows) ?? Promise.resolve(null));
    if (written !== null) return written;
    const given = new AbortController();
    try {
      const clashes = await track(writeHere(rows, given.signal), WRITE_WITHIN_MS);
      thread?.wroteInstead();
      return clashes;
    } finally {
      given.abort();
    }
  }

  async function checkTrigrams(knex: Knex): Promise<void> {
    if (lookedForTrigrams) return;
    lookedForTrigrams = true;
    const found = await knex.raw<{ rows: unknown[] }>(
      `select 1 from pg_indexes where schemaname = ? and tablename = ? and indexdef like '%trgm_ops%'`,
      [schema, NET],
    );
    if (found.rows.length === 0)
      say(
        'Profiles are searched by parts of their URL without an index, since the extension pg_trgm could not be ' +
          'created; docs/decisions/0009 says how to add it.',
      );
  }

  async function purge(knex: Knex, limits: RetentionLimits): Promise<number> {
    await checkTrigrams(knex);
    // The next partition is there before the first profile that needs it.
    const now = Date.now();
    await withSession(knex, (session) => partitions.prepare(session, [now, now + partitionMs]));
    return purgeProfiles(purgeOf(knex), limits);
  }

  function purgeOf(knex: Knex): Purge {
    return {
      knex,
      schema,
      partitions: () => withSession(knex, (session) => listPartitions(session, schema)),
    };
  }

  /** Past Knex's builder: each profile page reads one, and the builder would cost as much as the page's panel. */
  async function read(session: Session, token: string): Promise<ReadProfile | null> {
    const { rows } = await session.query(readText, [storable(token)]);
    const [row] = rows as { document: string; amendments: Record<string, string> | null }[];
    if (row === undefined) return null;
    return { document: row.document, amendments: parseAmendments(row.amendments) };
  }

  async function amend(knex: Knex, token: string, name: string, value: unknown): Promise<boolean> {
    const result = await knex.raw<{ rowCount: number }>(
      `insert into ??.hindsight_amendments (token, started_at, name, value)
       select token, started_at, ?::text, ?::text from ??.hindsight_profiles where token = ?
       on conflict (token, name) do update set started_at = excluded.started_at, value = excluded.value`,
      [schema, storable(name), JSON.stringify(value ?? null), schema, storable(token)],
    );
    return result.rowCount > 0;
  }

  async function leaseTokens(knex: Knex, proposed?: Buffer): Promise<TokenLease> {
    const key = await tokenKey({ knex, schema }, proposed);
    const result = await knex.raw<{ rows: { start: string }[] }>('select nextval(?::regclass) as start', [
      `${quoted(schema)}.hindsight_tokens`,
    ]);
    return { start: Number(result.rows[0]?.start ?? 0), count: LEASE_SIZE, key };
  }

  async function leasedUntil(knex: Knex): Promise<number> {
    const result = await knex.raw<{ rows: { last: string }[] }>(
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
    keepShared: (parts) => using((knex) => keepShared({ knex, schema }, parts), WRITE_WITHIN_MS),
    readShared: (ids) => using((knex) => readShared({ knex, schema }, ids), answerTimeoutMs),
    amend: (token, name, value) => using((knex) => amend(knex, token, name, value), answerTimeoutMs),
    read: (token) => using((knex) => withSession(knex, (session) => read(session, token)), answerTimeoutMs),
    find: (query) =>
      using(
        (knex) => findProfiles(knex, { schema, timeoutMs: findTimeoutMs, partitionMs }, query),
        2 * findTimeoutMs + answerTimeoutMs,
      ),
    standing: (query) => using((knex) => readStanding(knex, schema, query), answerTimeoutMs),
    summarize: (query) =>
      using(
        (knex) => summarizeProfiles(knex, { schema, timeoutMs: findTimeoutMs }, query),
        2 * findTimeoutMs + answerTimeoutMs,
      ),
    survey: (query) => using((knex) => surveyProfiles(knex, { schema }, query), answerTimeoutMs),
    clear: () => using((knex) => clearProfiles(purgeOf(knex))),
    readSetting: (name) => using((knex) => readSetting({ knex, schema }, name), answerTimeoutMs),
    writeSetting: (name, value) =>
      using((knex) => writeSetting({ knex, schema }, name, value), answerTimeoutMs),
    formKey: () => using((knex) => formKey({ knex, schema }), answerTimeoutMs),
    purge: (limits) => using((knex) => purge(knex, limits)),
    leaseTokens: (key) => using((knex) => leaseTokens(knex, key), WRITE_WITHIN_MS),
    leasedUntil: () => using(leasedUntil, answerTimeoutMs),
    close,
  };
}
