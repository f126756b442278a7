/**
 * The embedded PostgreSQL: one call starts the server of VAR_DIR or joins the running one. It returns the connection settings and a hold,
 * which keeps the server running until it is released or the process ends. Read binaries, places, cluster and watch next.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionSettings } from '../../../database/connection-settings.ts';
import { tryDatabase } from '../reach.ts';
import { findBinaries, readBinaries } from './binaries.ts';
import { cannotRun, ensureCluster } from './cluster.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { DEFAULT_HOMES, findPlaces, nameSocketFolder, type Places } from './places.ts';
import {
  clearStale,
  clearUnwritten,
  type Postmaster,
  readPostmaster,
  stateOf,
  stopUnwatched,
} from './postmaster.ts';
import { FLUSH_COMMITS } from './settings.ts';
import { type Hold, joinUsers, launch } from './watch.ts';

export { EmbeddedPostgresError } from './errors.ts';

export interface EmbeddedServer {
  readonly connection: ConnectionSettings;
  readonly pid: number;
  /** Where to connect; restarts the server if it has ended. Called before each connection. */
  ensure(): Promise<ConnectionSettings>;
  /** Flushes commits to disk and releases the hold; the server stops after its last hold is released. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  varDir: string;
  log: (sentence: string) => void;
  native?: string;
  /** Folders in which root stores files that the server's user could not reach elsewhere. */
  homes?: readonly string[];
  linger?: number;
}

const DEFAULT_LINGER = 2;
const START_MS = 60_000;
const LOOK_EVERY_MS = 5;
const FLUSH_MS = 1000;

interface Running {
  postmaster: Postmaster;
  hold: Hold;
  /** Settles when the server has ended; absent if another process started it. */
  exited?: Promise<unknown>;
}

function readLog({ log }: Places): Promise<string> {
  return readFile(log, 'utf8').catch(() => '');
}

function failureIn(said: string): string | undefined {
  const lines = said.split('\n');
  const failure = lines.findLast((line) => /FATAL|PANIC|error while loading/.test(line));
  return failure?.replace(/^.*?(?:FATAL|PANIC): */, '') ?? lines.at(-2);
}

function damaged({ data, log }: Places, reason: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL does not start on ${data}: ${reason}. Nothing was deleted; restore the folder from a copy, ` +
      `or move it away to begin with an empty one. Its log is ${log}.`,
  );
}

/** Joins the server that runs on the folder; null if there is none. `wait`: one is starting or stopping. */
async function joinRunning(places: Places): Promise<Running | 'wait' | null> {
  const postmaster = await readPostmaster(places.data);
  if (postmaster === null) {
    await clearUnwritten(places);
    return null;
  }
  // Join first, then check the state: it may be stopping already.
  const hold = joinUsers(postmaster.connection.host);
  const state = await stateOf(postmaster);
  if (state === 'open' && hold !== null) return { postmaster, hold };
  hold?.release();
  if (state === 'open') await stopUnwatched(places, postmaster);
  // A server writes the file before it listens: one that is still watched and not ready yet is starting.
  if (state !== 'gone' || (hold !== null && !postmaster.ready)) return 'wait';
  await clearStale(places, postmaster);
  return null;
}

/** Starts a server on the folder; null if another process was faster. */
async function startServer(places: Places, linger: number): Promise<Running | null> {
  const socketFolder = nameSocketFolder(places);
  const logged = (await readLog(places)).length;
  const { hold, exited } = launch(places, socketFolder, linger);
  let code: number | null | undefined;
  exited.then(
    (value) => (code = value),
    () => (code = null),
  );
  const deadline = performance.now() + START_MS;
  while (code === undefined && performance.now() < deadline) {
    const postmaster = await readPostmaster(places.data);
    if (postmaster?.ready === true && postmaster.connection.host === socketFolder)
      return { postmaster, hold, exited };
    await sleep(LOOK_EVERY_MS);
  }
  hold.release();
  const log = await readLog(places);
  // The shell may have truncated the log. It may also contain lines of another server.
  const said = log.slice(logged <= log.length ? logged : 0);
  const reason = failureIn(said);
  if (code === undefined)
    throw damaged(places, `it is not ready after ${START_MS / 1000} s (${reason ?? 'no message'})`);
  await exited.catch((error: unknown) => {
    throw cannotRun(places, error);
  });
  if (code === 126 || code === 127) throw cannotRun(places, reason ?? `exit code ${code}`);
  // Another server has created the lock file.
  if (/lock file .* (?:is empty|already exists)|shared memory block .* still in use/.test(said)) return null;
  throw damaged(places, reason ?? `exit code ${code}`);
}

async function startOrJoin(places: Places, major: string, linger: number): Promise<Running> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    const joined = await joinRunning(places);
    if (joined !== null && joined !== 'wait') return joined;
    if (joined === null) {
      await ensureCluster(places, major);
      const started = await startServer(places, linger);
      if (started !== null) return started;
    }
    await sleep(50);
  }
  throw damaged(
    places,
    `another server has held the folder for ${START_MS / 1000} s without letting sessions in`,
  );
}

/** Starts or joins the server of VAR_DIR. Rejects with an EmbeddedPostgresError whose message says what to do. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { varDir, log, native, homes = DEFAULT_HOMES, linger = DEFAULT_LINGER } = options;
  const binaries = await (native === undefined ? findBinaries() : readBinaries(native));
  const [major = ''] = binaries.version.split('.');

  /** Finds the places each time, because the folder may have been deleted. */
  async function begin(): Promise<Running> {
    const begun = await startOrJoin(await findPlaces({ varDir, binaries, homes, log }), major, linger);
    const ended = (): void => {
      if (!stopped && running === begun) ensure().catch((error: unknown) => log(String(error)));
    };
    begun.exited?.then(ended, ended);
    return begun;
  }

  let stopped = false;
  let starting: Promise<void> | null = null;
  let running: Running;
  running = await begin();

  async function restart(): Promise<void> {
    const { hold } = running;
    running = await begin();
    hold.release();
    if (stopped) running.hold.release();
  }

  async function ensure(): Promise<ConnectionSettings> {
    if (!stopped && !(running.hold.watched() && (await stateOf(running.postmaster)) === 'open')) {
      starting ??= restart().finally(() => (starting = null));
      await starting;
    }
    return running.postmaster.connection;
  }

  return {
    get connection() {
      return running.postmaster.connection;
    },
    get pid() {
      return running.postmaster.pid;
    },
    ensure,
    async stop() {
      if (stopped) return;
      stopped = true;
      await tryDatabase(running.postmaster.connection, FLUSH_MS, FLUSH_COMMITS).catch(() => undefined);
      running.hold.release();
    },
  };
}
