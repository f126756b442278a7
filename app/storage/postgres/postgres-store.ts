/**
 * Records in PostgreSQL, shared by all processes on one database.
 *
 * All SQL names its schema and runs in single statements or short transactions without named statements, session locks or a search path, so
 * that pgbouncer's transaction mode holds, and finds records by their token, so that Citus can distribute them. Tables come from
 * `migrations/profiler`.
 */
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { requirePackage } from '../../paths.ts';
import { runningOutside } from '../../profiler/record/outside.ts';
import type { Store, StoredRecord, StoreItem } from '../../profiler/store/store.ts';
import type { PgSettings } from '../pg-settings.ts';
import { createPool, type Store as Connection, tableIn } from '../pool.ts';
import { storable } from '../text.ts';
import { createFinder } from './find.ts';
import { clearRecords, purgeRecords } from './purge.ts';
import { ALL_COLUMNS, marksText, rowOf, insertInto, type WrittenRow, writtenRowOf } from './rows.ts';
import { createWriteQueue } from './write-queue.ts';
import { createError, type HindsightError, isError, isHindsightError, codeOf } from '../../errors.ts';
import { within } from '../../profiler/timeouts.ts';

const TRIES = 10;
/** SQLSTATE of a conflict with another writer: deadlock, serialization failure. */
const MET_ANOTHER = new Set(['40P01', '40001']);

async function insert(
  { pool }: Connection,
  table: string,
  rows: readonly WrittenRow[],
): Promise<Set<string>> {
  const [statement, batch] = [insertInto(table), JSON.stringify(rows)];
  for (let tries = 1; ; tries++) {
    try {
      const { rows: inserted } = await pool.query<{ token: string }>(statement, [batch]);
      return new Set(inserted.map(({ token }) => token));
    } catch (error) {
      if (tries === TRIES || !MET_ANOTHER.has(codeOf(error))) throw error;
    }
  }
}

/** Stores all or nothing. Returns the tokens that another request has: its record stays. */
async function writeItems(connection: Connection, items: readonly StoreItem[]): Promise<ReadonlySet<string>> {
  const table = tableIn(connection.schema, 'hindsight_profiles');
  // In the same order in all processes, so that two writers rarely deadlock.
  const rows = items.map(writtenRowOf).sort((a, b) => (a.token < b.token ? -1 : 1));
  const inserted = await insert(connection, table, rows);
  const refused = new Map(rows.flatMap((row) => (inserted.has(row.token) ? [] : [[row.token, row]])));
  if (refused.size === 0) return new Set();
  const { rows: stored } = await connection.pool.query<{
    token: string;
    process: string;
    started_at: string;
  }>(`select token, process, started_at from ${table} where token = any($1)`, [[...refused.keys()]]);
  const others = stored.filter(({ token, process, started_at: startedAt }) => {
    const row = refused.get(token);
    return row?.process !== process || row.started_at !== Number(startedAt);
  });
  return new Set(others.map(({ token }) => token));
}

/** SQLSTATE: query_canceled, undefined_table, invalid_schema_name, insufficient_privilege. */
const CANCELED = '57014';
const MISSING = new Set(['42P01', '3F000']);
const FORBIDDEN = '42501';

function messageOf(error: unknown): string {
  if (!isError(error)) return 'of an unknown failure.';
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  return /[.!?]$/.test(error.message) ? error.message : `${error.message}.`;
}

function isUnusable(error: unknown): boolean {
  const code = codeOf(error);
  return MISSING.has(code) || code === FORBIDDEN;
}

/** `timeoutMs`: what a search was given. The original is the cause. */
export function explain(error: unknown, timeoutMs: number): HindsightError {
  if (isHindsightError(error)) return error;
  const code = codeOf(error);
  let reason = messageOf(error);
  if (code === CANCELED) reason = `the search took longer than ${timeoutMs} ms; narrow it down.`;
  else if (MISSING.has(code)) reason = "the profiler's tables are missing; run its migrations.";
  else if (code === FORBIDDEN) reason = `the database's role may not use them (${reason})`;
  return createError('STORAGE_UNAVAILABLE', [reason], { cause: error });
}

/** Rejects if `work` has not settled in time; `work` goes on. A database that hangs reports no error. */
function rejectAfter<T>(work: Promise<T>, ms: number): Promise<T> {
  const reason = `the database has not replied within ${ms / 1000} s.`;
  return within(work, ms, () => createError('STORAGE_UNAVAILABLE', [reason]));
}

export interface PostgresStoreSettings {
  schema: string;
  /** The tables are missing, or the role may not use them. */
  onUnusable?: () => void;
  /** Takes records while the database is away. Absent: they wait in memory, and the oldest are dropped when that is full. */
  onUnavailable?: (items: readonly StoreItem[]) => void;
  /** The database can be used, for the first time or again: what `onUnavailable` took can be added. */
  onAvailable?: () => void;
  replyTimeoutMs?: number;
}

export interface PostgresStoreOptions extends PostgresStoreSettings {
  connection: () => Promise<PgSettings>;
}

/** Milliseconds for a host to say where to connect. */
const SETTINGS_WITHIN_MS = 5000;
/** Milliseconds that work under way gets at close. */
const CLOSE_WITHIN_MS = 1000;
const CLOSE_MS = 5000;

function parseAmendments(beside: Record<string, string> | null): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(beside ?? {}).map(([name, json]) => [name, JSON.parse(json) as unknown]),
  );
}

function recordOf({ row, text }: StoreItem): StoredRecord {
  return { row: { ...row }, text, amendments: {}, pinned: false };
}

export function createPostgresStore(options: PostgresStoreOptions): Store {
  const { schema, onUnusable, connection, replyTimeoutMs = 3000 } = options;
  const records = tableIn(schema, 'hindsight_profiles');
  const settingsTable = tableIn(schema, 'hindsight_settings');
  // Without a context: its statements are no request's.
  const outside = runningOutside();
  let settings: Promise<PgSettings> | null = null;
  let current: { settings: PgSettings; connection: Connection } | null = null;
  const running = new Set<Promise<void>>();
  let closed = false;

  async function connect(): Promise<Connection> {
    // Don't call the host's `connection` again.
    if (closed) throw new Error('the storage is closed.');
    settings ??= rejectAfter(connection(), SETTINGS_WITHIN_MS);
    const known = await settings;
    if (current === null || !isDeepStrictEqual(current.settings, known)) {
      const { Pool } = requirePackage('pg') as typeof pg;
      current = { settings: known, connection: { pool: createPool(Pool, known), schema } };
    }
    return current.connection;
  }

  async function attempt<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await work(await connect());
    } catch (error) {
      settings = null;
      if (isUnusable(error)) onUnusable?.();
      throw error;
    }
  }

  function run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const done = outside(() => attempt(work));
    const settled = done.then(
      () => void running.delete(settled),
      () => void running.delete(settled),
    );
    running.add(settled);
    return done;
  }

  async function explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw explain(error, replyTimeoutMs);
    }
  }

  function ask<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return explained(rejectAfter(run(work), replyTimeoutMs));
  }

  const queue = createWriteQueue({
    write: (items) => run((known) => writeItems(known, items)),
    probe: () => run(({ pool }) => pool.query(`select 1 from ${records} limit 1`)),
    onUnavailable: options.onUnavailable,
    onAvailable: options.onAvailable,
  });
  const finder = createFinder(ask);

  /** What was added before is in the database. */
  const flushed = (): Promise<void> => ask(() => queue.flush());

  function handOver(): void {
    const left = queue.takeAll();
    if (left.length === 0) return;
    if (options.onUnavailable !== undefined) options.onUnavailable(left);
    else for (const { settled } of left) settled?.('shut down');
  }

  async function changed(sql: string, values: readonly unknown[]): Promise<boolean> {
    await flushed();
    const { rowCount } = await ask(({ pool }) => pool.query(sql, [...values]));
    return (rowCount ?? 0) > 0;
  }

  async function readStored(token: string): Promise<StoredRecord | null> {
    const { rows } = await ask(({ pool }) =>
      pool.query<unknown[]>({
        text: `select ${ALL_COLUMNS.sql}, document, beside, pinned from ${records} where token = $1`,
        values: [storable(token)],
        rowMode: 'array',
      }),
    );
    const [values] = rows;
    if (values === undefined) return null;
    const [text, beside, pinned] = values.slice(ALL_COLUMNS.names.length);
    return {
      row: rowOf(ALL_COLUMNS, values),
      text: text as string,
      amendments: parseAmendments(beside as Record<string, string> | null),
      pinned: pinned === true,
    };
  }

  return {
    name: 'postgresql',
    get state() {
      return { ...queue.state, notice: null };
    },
    add: (items) => {
      outside(() => queue.add(items));
    },
    async read(token) {
      // What waits is in the database in a moment, with what was added to it before.
      if (queue.get(token) !== undefined && !queue.state.failing) await flushed().catch(() => undefined);
      const waiting = queue.get(token);
      if (waiting !== undefined) return recordOf(waiting);
      const handed = queue.handedOn(token);
      if (handed === undefined) return readStored(token);
      return queue.state.failing ? recordOf(handed) : ((await readStored(token)) ?? recordOf(handed));
    },
    async find(query, findText) {
      await flushed();
      return finder.find(query, findText);
    },
    async *rows(since) {
      await flushed();
      yield* finder.rows(since);
    },
    amend: (token, name, json) =>
      // The JSON is kept as a string, because jsonb refuses U+0000.
      changed(
        `update ${records} set beside = coalesce(beside, '{}') || jsonb_build_object($2::text, $3::text) where token = $1`,
        [storable(token), storable(name), storable(json)],
      ),
    async label(token, { findings, mark, marks }) {
      await changed(`update ${records} set findings = $2, mark = $3, marks = $4 where token = $1`, [
        storable(token),
        findings,
        mark === null ? null : storable(mark),
        marksText(marks),
      ]);
    },
    keep: (token, yes) =>
      changed(`update ${records} set pinned = $2 where token = $1`, [storable(token), yes]),
    purge: (limits) => explained(run((known) => purgeRecords(known, limits))),
    async clear() {
      await flushed();
      return explained(run(clearRecords));
    },
    async setting(name, value, { onlyIfAbsent = false } = {}) {
      return ask(async ({ pool }) => {
        if (value === null) {
          await pool.query(`delete from ${settingsTable} where name = $1`, [storable(name)]);
          return null;
        }
        if (value !== undefined)
          await pool.query(
            `insert into ${settingsTable} (name, value, written_at)
             values ($1, $2, (extract(epoch from now()) * 1000)::bigint) on conflict (name) do ${
               onlyIfAbsent
                 ? 'nothing'
                 : 'update set value = excluded.value, written_at = excluded.written_at'
             }`,
            [storable(name), storable(value)],
          );
        const { rows } = await pool.query<{ value: string }>(
          `select value from ${settingsTable} where name = $1`,
          [storable(name)],
        );
        return rows[0]?.value ?? null;
      });
    },
    async close(timeoutMs = CLOSE_MS) {
      if (closed) return;
      await queue.close(timeoutMs);
      handOver();
      closed = true;
      await rejectAfter(Promise.all(running), CLOSE_WITHIN_MS).catch(() => undefined);
      // A pool waits for its connections, and one of them may hang.
      await rejectAfter(current?.connection.pool.end() ?? Promise.resolve(), CLOSE_WITHIN_MS).catch(
        () => undefined,
      );
    },
    closeSync: handOver,
  };
}
