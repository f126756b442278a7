/**
 * The embedded PostgreSQL: one call that starts the server of a folder or joins the one that runs on it.
 *
 * In: VAR_DIR. Out: where to connect, and a hold that keeps the server running until it is let go or the process ends.
 * A real server with the binaries of npm, because PGlite has one session for all, no COPY and 800 MB. Order of reading:
 * binaries -> places -> cluster -> postmaster -> watcher.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries, readBinaries, type Binaries } from './binaries.ts';
import { cannotRun, ensureCluster } from './cluster.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { flushCommits } from './flush.ts';
import { DEFAULT_HOMES, findPlaces, socketFolder, type Places } from './places.ts';
import { acceptsSessions, disownStale, isServer, readPostmaster, type Postmaster } from './postmaster.ts';
import { adopt, DEFAULT_LINGER, joinUsers, launch, type Hold, type Launch } from './watcher.ts';

export { EmbeddedPostgresError } from './errors.ts';

export interface EmbeddedConnection {
  /** Folder of the socket. */
  host: string;
  port: number;
  user: string;
  database: string;
}

export interface EmbeddedServer {
  readonly connection: EmbeddedConnection;
  /** Of the package, such as `18.4.0-beta.17`. */
  readonly version: string;
  /** Process number of the server. */
  readonly pid: number;
  /** Where to connect now: starts the server anew where it has ended. Asked before each connection. */
  ensure(): Promise<EmbeddedConnection>;
  /** Brings commits to the disk and lets go; the server ends when nobody holds it any more. */
  stop(): Promise<void>;
  /** Resolves when the server's process is gone; rejects when it is not within 15 s. */
  ended(): Promise<void>;
}

export interface EmbeddedOptions {
  varDir: string;
  log: (sentence: string) => void;
  /** Folder with `bin`, `lib` and `share`; default: that of the installed package. */
  native?: string;
  /** Where root keeps what its server's user could not reach otherwise. */
  homes?: readonly string[];
  /** Seconds the server stays after its last user. */
  linger?: number;
}

/** Milliseconds for a start, with the recovery after a crash. */
const START_MS = 60_000;
const LOOK_EVERY_MS = 5;
/** Above the linger and the five seconds of a fast shutdown. */
const END_MS = 15_000;

interface Running {
  postmaster: Postmaster;
  hold: Hold;
  /** Settles when the script that we started has ended; absent where another process did. */
  exited?: Promise<number | null>;
}

interface Setup {
  places: Places;
  binaries: Binaries;
  linger: number;
}

/** What PostgreSQL wrote last about its failure. */
async function failureIn(log: string, from: number): Promise<string | null> {
  const text = await readFile(log).catch(() => Buffer.alloc(0));
  const lines = text
    .subarray(from <= text.length ? from : 0)
    .toString()
    .split('\n');
  const failures = lines.filter((line) => /(?:FATAL|PANIC|error while loading)/.test(line));
  return failures.at(-1)?.replace(/^.*?(?:FATAL|PANIC): */, '') ?? lines.at(-2) ?? null;
}

async function sizeOf(log: string): Promise<number> {
  return (await readFile(log).catch(() => Buffer.alloc(0))).length;
}

function damaged({ data, log }: Places, reason: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'failed',
    `The embedded PostgreSQL does not start on ${data}: ${reason}. Nothing was deleted; restore the folder from a copy, ` +
      `or move it away to begin with an empty one. Its log is ${log}.`,
  );
}

/** Joins the server that runs on the folder, if one does. `wait`: there is one that starts or stops, or gets its script. */
async function joinRunning(setup: Setup): Promise<Running | 'wait' | null> {
  const { places, linger } = setup;
  const postmaster = await readPostmaster(places.data);
  if (postmaster === null) return null;
  // First among its users, then a look whether it is not just stopping.
  const { hold, number } = joinUsers(postmaster);
  if (await acceptsSessions(postmaster)) {
    if (hold !== null) return { postmaster, hold };
    const options = { places, socketFolder: postmaster.socketFolder, temporary: false, linger };
    const adopted = adopt(options, postmaster, number + 1);
    // Who was slower than another one holds nothing yet: the server would end under it with the other.
    if (await adopted.watching) return { postmaster, ...adopted };
    adopted.hold.release();
    return 'wait';
  }
  hold?.release();
  if (await isServer(postmaster.pid)) return 'wait';
  await disownStale(places.data, postmaster, places.runAs);
  return null;
}

function pidFile({ data }: Places): Promise<string> {
  return readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
}

/**
 * Waits until the launched server, or another one that was quicker, is ready; the exit code where it has ended.
 * `before`: what a crash may have left in the file that says so.
 */
async function becomesReady(
  places: Places,
  { exited }: Launch,
  before: string,
): Promise<Postmaster | number | null> {
  let ended = false;
  let code: number | null = null;
  exited.then(
    (value) => ([ended, code] = [true, value]),
    () => (ended = true),
  );
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    if (ended) {
      await exited;
      return code;
    }
    const text = await pidFile(places);
    if (text !== before && /^ready/m.test(text)) return readPostmaster(places.data);
    await sleep(LOOK_EVERY_MS);
  }
  return null;
}

async function startServer({ places, linger }: Setup): Promise<Running | 'lost'> {
  const { folder, temporary } = await socketFolder(places);
  const logSize = await sizeOf(places.log);
  const before = await pidFile(places);
  const launched = launch({ places, socketFolder: folder, temporary, linger });
  let outcome: Postmaster | number | null;
  try {
    outcome = await becomesReady(places, launched, before);
  } catch (error) {
    throw cannotRun(places.native, places.runAs, error);
  }
  if (outcome !== null && typeof outcome !== 'number') {
    if (outcome.socketFolder === folder) return { postmaster: outcome, ...launched };
    launched.hold.release();
    return 'lost';
  }
  launched.hold.release();
  const reason = await failureIn(places.log, logSize);
  if (outcome === null)
    throw damaged(places, `it is not ready after ${START_MS / 1000} s (${reason ?? 'no message'})`);
  if (reason !== null && /lock file .* already exists|shared memory block .* still in use/.test(reason))
    return 'lost';
  if (outcome === 126 || outcome === 127)
    throw cannotRun(places.native, places.runAs, reason ?? `exit code ${outcome}`);
  throw damaged(places, reason ?? `exit code ${outcome}`);
}

async function startOrJoin(setup: Setup): Promise<Running> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    const joined = await joinRunning(setup);
    if (joined !== null && joined !== 'wait') return joined;
    if (joined === null) {
      await ensureCluster(setup.places, setup.binaries.major);
      const started = await startServer(setup);
      if (started !== 'lost') return started;
    }
    if (Date.now() > deadline) {
      throw damaged(
        setup.places,
        `another server has held the folder for ${START_MS / 1000} s without letting sessions in`,
      );
    }
    await sleep(50);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Starts or joins the server of VAR_DIR. Rejects with an EmbeddedPostgresError whose message says what to do. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { varDir, log, native, homes = DEFAULT_HOMES, linger = DEFAULT_LINGER } = options;
  if (process.platform === 'win32') {
    throw new EmbeddedPostgresError(
      'missing',
      'The embedded PostgreSQL is not supported on Windows; set DATABASE_URL.',
    );
  }
  const binaries = await (native === undefined ? findBinaries() : readBinaries(native));

  /** Looks for the places each time: the folder may have been deleted meanwhile. */
  async function begin(): Promise<Running> {
    const places = await findPlaces({ varDir, binaries, homes, log });
    return startOrJoin({ binaries, linger, places });
  }

  let running = await begin();
  let stopped = false;
  let starting: Promise<void> | null = null;

  function connection(): EmbeddedConnection {
    const { socketFolder: host, port } = running.postmaster;
    return { host, port, user: 'postgres', database: 'postgres' };
  }

  /** A script that was killed can't stop the server when we leave: another one takes over, or a new server is started. */
  function keepWatched({ exited, hold }: Running): void {
    const lost = (): void => {
      if (!stopped && running.hold === hold) ensure().catch((error: unknown) => log(String(error)));
    };
    exited?.then(lost, lost);
  }

  async function restart(): Promise<void> {
    const before = running.hold;
    running = await begin();
    before.release();
    keepWatched(running);
    if (stopped) running.hold.release();
  }

  async function ensure(): Promise<EmbeddedConnection> {
    if (!stopped && !(running.hold.watched() && (await acceptsSessions(running.postmaster)))) {
      starting ??= restart().finally(() => (starting = null));
      await starting;
    }
    return connection();
  }

  keepWatched(running);

  return {
    get connection() {
      return connection();
    },
    version: binaries.version,
    get pid() {
      return running.postmaster.pid;
    },
    ensure,
    async stop() {
      if (stopped) return;
      stopped = true;
      await flushCommits(connection()).catch(() => undefined);
      running.hold.release();
    },
    async ended() {
      const { pid } = running.postmaster;
      const deadline = Date.now() + END_MS;
      while (isAlive(pid) && (await isServer(pid))) {
        if (Date.now() > deadline)
          throw new EmbeddedPostgresError('failed', `PostgreSQL (process ${pid}) does not end.`);
        await sleep(20);
      }
    },
  };
}
