/**
 * Reads the owner's migration-version table, for every request while debug is on.
 *
 * One small read at a time on a separate connection, shared by concurrent requests, with a timeout of half a second; no request waits
 * for it. A table that is missing, locked, ahead of the code or behind it is a result, too. The folder is read at most once a second.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Client as PgClient } from 'pg';
import { withTimeouts, type ConnectionSettings } from '../../database/connection-settings.ts';
import { listMigrations } from '../../database/migration-source.ts';
import { reasonOf } from './reach.ts';
import { quoted } from '../../storage/pool.ts';
import { within } from '../../profiler/timeouts.ts';
import { codeOf } from '../../errors.ts';

export interface ExecutedMigration {
  name: string;
  batch: number;
  at: number | null;
}

export interface MigrationFact {
  /**
   * `behind`: some are pending. `ahead`: the table names some that the code does not have (and some may be pending too).
   * `missing`: there is no table. `locked`: it could not be read within the time. `unavailable`: the database does not reply.
   */
  state: 'ok' | 'behind' | 'ahead' | 'missing' | 'locked' | 'unavailable';
  schema: string;
  table: string;
  executed: readonly ExecutedMigration[];
  pending: readonly string[];
  unknown: readonly string[];
  durationMs: number;
  message: string | null;
}

export interface MigrationReader {
  /** Never rejects. */
  read(): Promise<MigrationFact>;
  close(): Promise<void>;
}

export interface MigrationReaderOptions {
  connection: () => Promise<ConnectionSettings>;
  schema: string;
  table: string;
  folder: string;
  redact: { text(value: string): string };
  timeoutMs?: number;
}

const TIMEOUT_MS = 500;
/** The server's timeout for a locked table is shorter than ours, so that the connection can be used again. */
const SERVER_SHARE = 0.6;
const NAMES_EVERY_MS = 1000;
const PAUSE_MS = 1000;

/** SQLSTATE: undefined_table, invalid_schema_name; query_canceled, which is how a lock shows. */
const MISSING = new Set(['42P01', '3F000']);
const CANCELED = '57014';

/** Separators of columns and rows when the table is read as one text: control characters that no name contains. */
const COLUMN = '\u001f';
const ROW = '\u001e';

function parse(text: string): ExecutedMigration[] {
  if (text === '') return [];
  return text.split(ROW).map((row) => {
    const [name = '', batch = '', at = ''] = row.split(COLUMN);
    return { name, batch: Number(batch), at: at === '' ? null : Number(at) };
  });
}

type Lists = Pick<MigrationFact, 'state' | 'executed' | 'pending' | 'unknown' | 'message'>;

function compare(text: string, known: readonly string[]): Lists {
  const executed = parse(text);
  const done = new Set(executed.map(({ name }) => name));
  const inFolder = new Set(known);
  const pending = known.filter((name) => !done.has(name));
  const unknown = [...done].filter((name) => !inFolder.has(name));
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`${unknown.length} executed that this code does not have`);
  if (pending.length > 0) parts.push(`${pending.length} pending`);
  const state = unknown.length > 0 ? 'ahead' : pending.length > 0 ? 'behind' : 'ok';
  return {
    state,
    executed,
    pending,
    unknown,
    message: parts.length === 0 ? null : `Migrations: ${parts.join(', ')}.`,
  };
}

export function createMigrationReader(options: MigrationReaderOptions): MigrationReader {
  // Without a context, because the statement is not the request's.
  const outside = AsyncLocalStorage.snapshot();
  const { schema, table, folder, redact, timeoutMs = TIMEOUT_MS } = options;
  // One message, so that SET LOCAL applies to the SELECT and to nothing else, through pgbouncer too. The table is read as one text: a
  // third of the work of rows, and an unchanged text need not be parsed.
  const sql =
    `set local statement_timeout = ${Math.round(timeoutMs * SERVER_SHARE)}; ` +
    `select coalesce(string_agg(concat_ws(e'\\x1f', coalesce(name, ''), coalesce(batch, 0), ` +
    `round(extract(epoch from migration_time) * 1000)), e'\\x1e' order by id), '') as executed ` +
    `from ${quoted(schema)}.${quoted(table)}`;
  let client: PgClient | null = null;
  let connecting: Promise<PgClient> | null = null;
  let underWay: Promise<MigrationFact> | null = null;
  let names: { at: number; list: readonly string[] } | null = null;
  let last: { text: string; list: readonly string[]; lists: Lists } | null = null;
  let refused: { at: number; error: unknown } | null = null;
  let closed = false;

  async function namesInFolder(): Promise<readonly string[]> {
    if (names === null || performance.now() - names.at > NAMES_EVERY_MS) {
      const list = (await listMigrations(folder)).map(({ name }) => name);
      const same = names !== null && list.join(ROW) === names.list.join(ROW);
      names = { at: performance.now(), list: same && names !== null ? names.list : list };
    }
    return names.list;
  }

  function drop(): void {
    const old = client;
    client = null;
    connecting = null;
    old?.end().catch(() => undefined);
  }

  async function connect(): Promise<PgClient> {
    const [{ default: pg }, settings] = await Promise.all([import('pg'), options.connection()]);
    const fresh = new pg.Client(withTimeouts(settings, timeoutMs));
    fresh.on('error', () => {
      if (client === fresh) drop();
    });
    await fresh.connect();
    // This connection must not keep the process alive.
    (fresh as unknown as { unref(): void }).unref();
    return fresh;
  }

  async function readTable(): Promise<string> {
    if (refused !== null && performance.now() - refused.at < PAUSE_MS) throw refused.error;
    if (client === null) {
      const asked = (connecting ??= connect());
      const fresh = await asked;
      if (closed || connecting !== asked) {
        fresh.end().catch(() => undefined);
        throw new Error(closed ? 'the reader is closed' : 'connecting took too long');
      }
      client = fresh;
      connecting = null;
    }
    // Several statements in one message give several results.
    const results = (await client.query(sql)) as unknown as { rows: { executed: string }[] }[];
    return results.at(-1)?.rows[0]?.executed ?? '';
  }

  function failed(error: unknown): Pick<MigrationFact, 'state' | 'message'> {
    const code = codeOf(error);
    const name = `${schema}.${table}`;
    if (MISSING.has(code))
      return { state: 'missing', message: `The table ${name} does not exist: no migration has run.` };
    if (code === CANCELED) {
      return {
        state: 'locked',
        message: `The table ${name} is locked; it could not be read within ${timeoutMs} ms.`,
      };
    }
    drop();
    refused = { at: performance.now(), error };
    return {
      state: 'unavailable',
      message: `The table ${name} can't be read: ${redact.text(reasonOf(error))}.`,
    };
  }

  async function readNow(): Promise<MigrationFact> {
    const started = performance.now();
    const fact: MigrationFact = {
      state: 'ok',
      schema,
      table,
      executed: [],
      pending: [],
      unknown: [],
      durationMs: 0,
      message: null,
    };
    try {
      const [list, text] = await within(
        Promise.all([namesInFolder(), readTable()]),
        timeoutMs,
        () => new Error(`no response within ${timeoutMs} ms`),
      );
      if (last?.text !== text || last.list !== list) last = { text, list, lists: compare(text, list) };
      Object.assign(fact, last.lists);
    } catch (error) {
      Object.assign(fact, failed(error));
      if (fact.state === 'missing') fact.pending = await namesInFolder().catch(() => []);
    }
    fact.durationMs = performance.now() - started;
    return fact;
  }

  return {
    read() {
      underWay ??= outside(readNow).finally(() => (underWay = null));
      return underWay;
    },
    async close() {
      closed = true;
      await underWay;
      drop();
    },
  };
}
