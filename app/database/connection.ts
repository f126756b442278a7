/**
 * The service's database: the owner's Knex and its state.
 *
 * In: a function that returns where to connect (and starts the embedded server), and what to do once connected (migrations). Out: a
 * Knex once the database is available. The start waits for none of this: Knex is loaded by `connect`, after the service listens.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Redactor } from '../profiler/redact.ts';
import { describeSettings, withTimeouts, type ConnectionSettings } from './connection-settings.ts';
import { EmbeddedPostgresError } from './embedded-postgres/errors.ts';
import { reasonOf, tryDatabase, untilReached } from './reach.ts';
import { DatabaseUnavailableError } from './unavailable.ts';

export interface DatabaseOptions {
  /** Where to connect; called before each try. */
  connection: () => Promise<ConnectionSettings>;
  /** Search path of the owner's connections, before `public`. */
  schema: string;
  redact: Pick<Redactor, 'text'>;
  /** Takes sentences; one a minute about an unavailable database. */
  log: (sentence: string) => void;
  /**
   * Runs each time the database has come, before it counts as ready, and when `mend` is called. A rejection counts as
   * one more failed try, so it should settle by itself what another try does not mend (see prepare.ts).
   */
  prepare?: Prepare;
  /** Called once with the owner's Knex, before it is used. */
  onKnex?: (knex: Knex) => void;
}

/** `reason`: the database has come, or the profiler's tables are missing in one that has been there. */
export type Prepare = (
  database: { owner: Knex; settings: ConnectionSettings },
  reason: 'come' | 'tables missing',
) => Promise<void>;

export interface DatabaseState {
  status: 'idle' | 'connecting' | 'ready' | 'unavailable' | 'closed';
  /** Why it is unavailable, masked. */
  message: string | null;
  /** `host:port/name`, once known. */
  server: string | null;
}

export interface Database {
  /** Starts to connect; further calls have no effect. Asking for a Knex does the same. */
  connect(): void;
  /** Makes the owner's Knex without connecting: it does so when it is first used. */
  load(): Promise<Knex>;
  /** The owner's Knex. Waits until the first try has succeeded or failed; rejects with a clear message. */
  knex(): Promise<Knex>;
  /** Resolves when the database is ready for the first time; rejects when it is closed before. */
  readonly ready: Promise<void>;
  state(): DatabaseState;
  /** The profiler's tables can't be used: prepares once more, beside all else and not more than every few seconds. */
  mend(): void;
  /** Where to connect, for separate connections. */
  settings(): Promise<ConnectionSettings>;
  close(): Promise<void>;
}

const CONNECT_MS = 5000;
/** Milliseconds a query waits for a connection of the pool, or for the database to come and be migrated. */
const ACQUIRE_MS = 10_000;
const LOG_EVERY_MS = 60_000;
const MEND_EVERY_MS = 3000;
/** Milliseconds for open queries when closing. */
const CLOSE_MS = 3000;
/** An embedded server that does not start needs help from a person: it is retried rarely. */
const EMBEDDED_PAUSE_MS = 10_000;
const OWNER_CONNECTIONS = 10;

interface PoolEvents {
  on(event: 'createFail', listener: (id: number, error: unknown) => void): void;
}

/** A promise with its resolvers; its rejection need not be handled. */
function createSignal(): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<void>((done, failed) => ([resolve, reject] = [done, failed]));
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

export function createDatabase(options: DatabaseOptions): Database {
  const { schema, redact, log } = options;
  const aborter = new AbortController();
  const first = createSignal();
  /** Settled by the first success or failure. */
  const outcome = createSignal();
  let state: DatabaseState = { status: 'idle', message: null, server: null };
  let owner: Knex | null = null;
  let loop: Promise<void> | null = null;
  let loggedAt = -Infinity;
  let everReady = false;
  let mendedAt = -Infinity;
  let mending: Promise<void> | null = null;
  /** The address may have changed; Knex asks for it anew. */
  let stale = false;

  async function connectionForKnex(): Promise<Knex.StaticConnectionConfig> {
    const settings = await options.connection();
    stale = false;
    return {
      ...withTimeouts(settings, CONNECT_MS),
      expirationChecker: () => stale,
    };
  }

  async function openKnex(): Promise<Knex> {
    const { default: knex } = await import('knex');
    const say = (message: unknown): void => log(`Knex: ${redact.text(String(message))}`);
    const quiet = (): void => undefined;
    const opened = knex({
      client: 'pg',
      connection: connectionForKnex,
      pool: { min: 0, max: OWNER_CONNECTIONS },
      searchPath: [schema, 'public'],
      acquireConnectionTimeout: ACQUIRE_MS,
      log: { warn: quiet, debug: quiet, error: say, deprecate: say },
    });
    (opened.client as { pool: PoolEvents }).pool.on('createFail', (_id, error) => lost(error));
    options.onKnex?.(opened);
    return opened;
  }

  /** Returns how long to wait at least before the next try. */
  function failed(error: unknown): number {
    const reason = redact.text(reasonOf(error));
    const place = state.server === null ? 'The database' : `The database at ${state.server}`;
    state = { ...state, status: 'unavailable', message: reason };
    outcome.resolve();
    if (Date.now() - loggedAt >= LOG_EVERY_MS) {
      loggedAt = Date.now();
      log(`${place} can't be used (${reason}); the service goes on and tries again.`);
    }
    return error instanceof EmbeddedPostgresError ? EMBEDDED_PAUSE_MS : 0;
  }

  async function attempt(timeoutMs: number, loading: Promise<Knex>): Promise<void> {
    const settings = await options.connection();
    state = { ...state, server: describeSettings(settings) };
    await tryDatabase(settings, timeoutMs);
    owner ??= await loading;
    await options.prepare?.({ owner, settings }, 'come');
  }

  async function reach(): Promise<void> {
    // Knex takes 0.1 s to load: meanwhile the embedded server starts.
    const loading = owner === null ? openKnex() : Promise.resolve(owner);
    loading.catch(() => undefined);
    const reached = await untilReached({
      attempt: (timeoutMs) => attempt(timeoutMs, loading),
      failed,
      signal: aborter.signal,
    });
    if (!reached) {
      await loading.then(destroy, () => undefined);
      return;
    }
    if (loggedAt > -Infinity) log(`The database at ${state.server} is there.`);
    loggedAt = -Infinity;
    state = { ...state, status: 'ready', message: null };
    everReady = true;
    first.resolve();
    outcome.resolve();
  }

  function start(): void {
    if (loop !== null || aborter.signal.aborted) return;
    loop = reach().finally(() => (loop = null));
    loop.catch((error: unknown) => failed(error));
  }

  /** A pool could not connect: look for the database until it is back. */
  function lost(error: unknown): void {
    stale = true;
    if (state.status !== 'ready') return;
    failed(error);
    start();
  }

  async function prepareAgain(knex: Knex): Promise<void> {
    await options.prepare?.({ owner: knex, settings: await options.connection() }, 'tables missing');
  }

  function mend(): void {
    if (state.status !== 'ready' || owner === null || mending !== null) return;
    if (performance.now() - mendedAt < MEND_EVERY_MS) return;
    mendedAt = performance.now();
    // If the connection is lost meanwhile, the next query notices.
    mending = prepareAgain(owner)
      .catch(() => undefined)
      .finally(() => (mending = null));
  }

  async function destroy(knex: Knex): Promise<void> {
    const slow = new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref());
    await Promise.race([knex.destroy().catch(() => undefined), slow]);
  }

  function connect(): void {
    if (state.status === 'idle') state = { ...state, status: 'connecting' };
    start();
  }

  async function knexWhenReady(): Promise<Knex> {
    if (state.status === 'idle') connect();
    if (state.status === 'connecting')
      await Promise.race([outcome.promise, sleep(ACQUIRE_MS, undefined, { ref: false })]);
    if (state.status === 'closed') throw new DatabaseUnavailableError('The database connection is closed.');
    if (owner !== null && everReady) return owner;
    throw new DatabaseUnavailableError(
      `The database can't be used now: ${state.message ?? 'it has not answered'}.`,
    );
  }

  return {
    connect,
    load: async () => (owner ??= await openKnex()),
    knex: knexWhenReady,
    ready: first.promise,
    state: () => state,
    mend,
    settings: () => options.connection(),
    async close() {
      if (state.status === 'closed') return;
      state = { ...state, status: 'closed' };
      aborter.abort();
      outcome.resolve();
      first.reject(
        new DatabaseUnavailableError('The database connection was closed before the database answered.'),
      );
      await loop?.catch(() => undefined);
      if (owner !== null) await destroy(owner);
    },
  };
}
