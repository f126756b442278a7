/** Creates the PostgreSQL storage for hosts and for the service. Its thread starts with the first call. */
import type { Worker } from 'node:worker_threads';
import { createError } from '../errors.ts';
import { requirePackage, startWorker } from '../paths.ts';
import type { HostKnex } from '../profiler/host-knex.ts';
import type { ProfileStorage } from '../profiler/storage.ts';
import { connectionOf, type GivenConnection, threadSettings } from '../storage/pg-settings.ts';
import {
  createPostgresStorage as create,
  type StorageSettings,
} from '../storage/postgres-profile-storage.ts';
import type { OperationOptions } from '../storage/operation-options.ts';
import { readFromReplica } from '../storage/read-from-replica.ts';

export type HostStorageOptions = StorageSettings & {
  /** A streaming replica of the same database, to read from: a URL or settings of `pg`, or a function as in `connection`. */
  readConnection?: GivenConnection;
} & (
    | {
        /** Provides the connection settings only; the profiler opens its own connections. */
        knex: () => HostKnex | Promise<HostKnex>;
        connection?: undefined;
      }
    | {
        /** A URL, settings of `pg`, or a function that returns either when a connection is opened. */
        connection: GivenConnection;
        knex?: undefined;
      }
  );

/** Milliseconds for the replica to reply: the primary is asked afterwards, within the time of a page. */
const REPLICA_REPLY_MS = 1500;

/** Throws at start if the Knex exists already and has no usable connection settings; one that is created later is checked then. */
function checkAtStart(knex: () => HostKnex | Promise<HostKnex>): void {
  let made: HostKnex | Promise<HostKnex>;
  try {
    made = knex();
  } catch {
    return;
  }
  if (!('client' in made)) made.catch(() => undefined);
  else connectionOf(made);
}

/** The driver is a peer dependency: a host that stores profiles in memory does not need it. */
function requireDriver(): void {
  try {
    requirePackage.resolve('pg');
  } catch {
    throw createError('BAD_CONFIG', [
      'createPostgresStorage',
      'needs the package pg, which is not installed; run `npm install pg`.',
    ]);
  }
}

function start(options: OperationOptions): Worker {
  return startWorker('storage/postgres-thread', options);
}

/** Throws if the settings can't be used. */
export function createPostgresStorage(options: HostStorageOptions): ProfileStorage {
  const { knex, connection, readConnection, ...settings } = options;
  requireDriver();
  if (knex !== undefined) checkAtStart(knex);
  const primary = create({
    ...settings,
    connection: async () => threadSettings(knex === undefined ? connection : connectionOf(await knex())),
    start,
  });
  if (readConnection === undefined) return primary;
  const { say = () => undefined, schema, findTimeoutMs } = settings;
  const replica = create({
    schema,
    ...(findTimeoutMs === undefined ? {} : { findTimeoutMs }),
    replyTimeoutMs: REPLICA_REPLY_MS,
    connection: () => threadSettings(readConnection),
    start,
  });
  return readFromReplica({ primary, replica, say });
}
