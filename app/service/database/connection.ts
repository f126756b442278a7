/**
 * The service's database: connects, runs migrations, and provides the owner's Knex once the database is available. The start does not wait
 * for any of this: `connect` loads Knex after the service listens.
 */
import type { Knex } from 'knex';
import type { Redactor } from '../../profiler/masking/redact.ts';
import {
  describeSettings,
  withTimeouts,
  type ConnectionSettings,
} from '../../database/connection-settings.ts';
import { EmbeddedPostgresError } from './embedded-postgres/errors.ts';
import { reasonOf, tryDatabase, untilReached } from './reach.ts';
import { DatabaseUnavailableError } from './unavailable.ts';

export interface DatabaseOptions {
  connection: () => Promise<ConnectionSettings>;
  schema: string;
  redact: Pick<Redactor, 'text'>;
  log: (sentence: string) => void;
  /**
   * Runs each time the database becomes available, before it counts as ready, and when `mend` is called. A rejection counts as a failed
   * try, so it should handle errors that another try can't fix (see prepare.ts).
   */
  prepare?: Prepare;
  /** Called once with the owner's Knex, before it is used. */
  onKnex?: (knex: Knex) => void;
}

export type Prepare = (
  database: { owner: Knex; settings: ConnectionSettings },
  reason: 'come' | 'tables missing',
) => Promise<void>;

export interface Database {
  connect(): void;
  load(): Promise<Knex>;
  /** Resolves when the database is ready for the first time; rejects when it is closed before. */
  readonly ready: Promise<void>;
  /** Call if the profiler's tables can't be used: prepares again in the background, at most every few seconds. */
  mend(): void;
  close(): Promise<void>;
}

const CONNECT_MS = 5000;
const ACQUIRE_MS = 10_000;
const LOG_EVERY_MS = 60_000;
const MEND_EVERY_MS = 3000;
const CLOSE_MS = 3000;
const EMBEDDED_PAUSE_MS = 10_000;
const OWNER_CONNECTIONS = 10;

interface PoolEvents {
  on(event: 'createFail', listener: (id: number, error: unknown) => void): void;
}

export function createDatabase(options: DatabaseOptions): Database {
  const { schema, redact, log } = options;
  const aborter = new AbortController();
  let resolveReady: () => void = () => undefined;
  let rejectReady: (error: Error) => void = () => undefined;
  const ready = new Promise<void>((resolve, reject) => ([resolveReady, rejectReady] = [resolve, reject]));
  ready.catch(() => undefined);
  let isReady = false;
  let server: string | null = null;
  let owner: Knex | null = null;
  let loop: Promise<void> | null = null;
  let loggedAt = -Infinity;
  let mendedAt = -Infinity;
  let mending: Promise<void> | null = null;
  /** Knex calls this for each connection, because the address may have changed. */
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

  /** Returns the minimum wait before the next try. */
  function failed(error: unknown): number {
    const reason = redact.text(reasonOf(error));
    const place = server === null ? 'The database' : `The database at ${server}`;
    isReady = false;
    if (performance.now() - loggedAt >= LOG_EVERY_MS) {
      loggedAt = performance.now();
      log(`${place} can't be used (${reason}); the service goes on and tries again.`);
    }
    return error instanceof EmbeddedPostgresError ? EMBEDDED_PAUSE_MS : 0;
  }

  async function attempt(timeoutMs: number, loading: Promise<Knex>): Promise<void> {
    const settings = await options.connection();
    server = describeSettings(settings);
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
    if (loggedAt > -Infinity) log(`The database at ${server} is available.`);
    loggedAt = -Infinity;
    isReady = true;
    resolveReady();
  }

  function start(): void {
    if (loop !== null || aborter.signal.aborted) return;
    loop = reach().finally(() => (loop = null));
    loop.catch((error: unknown) => failed(error));
  }

  /** A pool could not connect: retries until the database is back. */
  function lost(error: unknown): void {
    stale = true;
    if (!isReady) return;
    failed(error);
    start();
  }

  async function prepareAgain(knex: Knex): Promise<void> {
    await options.prepare?.({ owner: knex, settings: await options.connection() }, 'tables missing');
  }

  function mend(): void {
    if (!isReady || owner === null || mending !== null) return;
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

  return {
    connect: start,
    load: async () => (owner ??= await openKnex()),
    ready,
    mend,
    async close() {
      if (aborter.signal.aborted) return;
      aborter.abort();
      isReady = false;
      rejectReady(
        new DatabaseUnavailableError('The database connection was closed before the database responded.'),
      );
      await loop?.catch(() => undefined);
      if (owner !== null) await destroy(owner);
    },
  };
}
