/**
 * The profiles of a database or a folder without their application: the same pages, on a free port of this machine and behind a password that only
 * this process knows. Nothing is recorded, and the retention of the application stays its own.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer } from '../node-http.ts';
import type { AddressInfo } from 'node:net';
import type pg from 'pg';
import { postgresUrl } from '../config/database-url.ts';
import { createError, messageOf } from '../errors.ts';
import { createHostSource } from '../middleware/host-source.ts';
import { PROFILE_KINDS } from '../profiler/record/context.ts';
import type { Store, StoreLimits } from '../profiler/store/store.ts';
import { environmentOfStore } from '../config.ts';
import { requirePackage } from '../paths.ts';
import { createPool } from '../storage/pool.ts';
import { settingsIn } from '../storage/pg-settings.ts';
import { foldersNear, projectAt, type StoredProject } from '../storage/files/folder.ts';
import { createPostgresStorage } from './create-postgres-storage.ts';
import { openFilesOf } from './open-files.ts';
import { createProfiler } from './create-profiler.ts';

export interface PruneLimits {
  maxAgeMs: number | null;
  keep: number | null;
}

interface StorePruning {
  countPrunable(limits: PruneLimits): Promise<number>;
  prune(limits: PruneLimits): Promise<number>;
}

const NO_LIMIT = Number.MAX_SAFE_INTEGER;
/** Another process that purges holds a lock for a moment. */
const TRIES = 3;
const PAUSE_MS = 500;

function limitsOf({ maxAgeMs, keep }: PruneLimits): StoreLimits {
  return {
    maxAgeMs: maxAgeMs ?? NO_LIMIT,
    count: keep ?? NO_LIMIT,
    bytes: NO_LIMIT,
    profilerCount: keep === null ? NO_LIMIT : 0,
    summaryCount: keep ?? NO_LIMIT,
    summaryBytes: NO_LIMIT,
    // Failed and slow requests are no exceptions here: whoever prunes wants them gone, too.
    exceptions: {
      maxAgeMs: maxAgeMs ?? NO_LIMIT,
      count: keep === null ? NO_LIMIT : 0,
      bytes: NO_LIMIT,
    },
  };
}

function pruningOf(store: Store): StorePruning {
  async function total(query: { until?: number; kinds: typeof PROFILE_KINDS | readonly ['request'] }) {
    return (await store.find({ ...query, limit: 1, offset: 0 })).total;
  }

  return {
    async countPrunable({ maxAgeMs, keep }) {
      const old = maxAgeMs === null ? 0 : await total({ until: Date.now() - maxAgeMs, kinds: PROFILE_KINDS });
      const surplus = keep === null ? 0 : (await total({ kinds: ['request'] })) - keep;
      return Math.max(0, old, surplus);
    },
    async prune(limits) {
      let deleted = 0;
      for (let tries = 0; tries < TRIES;) {
        const count = await store.purge(limitsOf(limits));
        deleted += count;
        if (count > 0) tries = 0;
        else if (++tries < TRIES) await sleep(PAUSE_MS);
      }
      return deleted;
    },
  };
}

export interface StoredOptions {
  database: string;
  schema: string;
  warn: (sentence: string) => void;
}

export interface FilesOptions {
  folder: string | null;
  warn: (sentence: string) => void;
}

export interface StoredProfiles extends StorePruning {
  url: string;
  password: string;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
/** Milliseconds: whoever types a command waits longer than a page should. */
const REPLY_MS = 15_000;

/** Without what a profiler writes by itself: its own requests, claims of tokens, retention. */
function readOnly(store: Store): Store {
  return {
    ...store,
    add(items) {
      for (const { settled } of items) settled?.(null);
    },
    purge: () => Promise.resolve(0),
    setting: (name, value, options) =>
      name.startsWith('tokens-') ? Promise.resolve(value ?? null) : store.setting(name, value, options),
  };
}

async function schemasWithProfiles(database: string): Promise<string[] | null> {
  const { Pool } = requirePackage('pg') as typeof pg;
  const pool = createPool(Pool, await settingsIn(database));
  try {
    const { rows } = await pool.query<{ schema: string }>(
      "select table_schema as schema from information_schema.tables where table_name = 'hindsight_profiles' order by 1",
    );
    return rows.map(({ schema }) => schema);
  } catch {
    return null;
  } finally {
    await pool.end();
  }
}

async function checkDatabase({ database, schema }: StoredOptions): Promise<void> {
  try {
    postgresUrl(database);
  } catch (error) {
    throw createError('BAD_CONFIG', ['The address of the database', messageOf(error)]);
  }
  const schemas = await schemasWithProfiles(database);
  if (schemas === null || schemas.includes(schema)) return;
  const others =
    schemas.length === 0 ? 'nor has any other that you may read' : `these have: ${schemas.join(', ')}`;
  throw createError('BAD_CONFIG', ['--schema', `names "${schema}", which has no profiles; ${others}.`]);
}

/** Rejects with BAD_CONFIG if `pg` is not installed, or nothing can be stored there. */
export async function openStored(options: StoredOptions): Promise<StoredProfiles> {
  const { database, schema, warn } = options;
  await checkDatabase(options);
  const store = createPostgresStorage({
    connection: database,
    schema,
    replyTimeoutMs: REPLY_MS,
    dir: '',
    say: warn,
  });
  return serve(store, warn);
}

/** What projects near this one have left. */
export function storedProjects(path: string): StoredProject[] {
  const { env, dir } = environmentOfStore();
  return dir === null || dir === '' ? foldersNear(path, env) : projectAt(path, dir);
}

/** What any process of this user has recorded there, whatever protects its pages. */
export function openStoredFiles({ folder, warn }: FilesOptions): Promise<StoredProfiles> {
  return serve(openFilesOf(folder, warn), warn);
}

async function serve(store: Store, warn: (sentence: string) => void): Promise<StoredProfiles> {
  const password = randomBytes(24).toString('base64url');
  const sourceOf = createHostSource();
  const profiler = createProfiler(
    {
      enabled: true,
      storage: readOnly(store),
      // Links to this address would lead nowhere once the process has ended.
      sourceOf(req) {
        const source = sourceOf(req);
        return { ...source, origin: { ...source.origin, origin: null } };
      },
      password,
      observe: false,
      toolbar: false,
      isStored: true,
      warn,
    },
    () => () => undefined,
  );
  const server = createServer((req, res) => {
    // Error pages belong to a watched request.
    profiler.watch(req, res, () => {
      profiler.pages(req, res, () => res.writeHead(404).end());
    });
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  return {
    ...pruningOf(store),
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    password,
    async close() {
      server.close();
      server.closeAllConnections();
      await profiler.close();
    },
  };
}
