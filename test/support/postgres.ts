/**
 * Real PostgreSQL servers for tests, on a socket in a folder of their own: Debian's (found under /usr/lib/postgresql)
 * and the embedded one. `with…` registers mocha hooks for the current `describe` and returns a function that gives the
 * running server. Where one can't be had the tests are skipped, or fail when HINDSIGHT_REQUIRE_ALL=1 is set.
 */
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
import { findBinaries } from '../../app/database/embedded-postgres/binaries.ts';
import { startEmbeddedPostgres, type EmbeddedServer } from '../../app/database/embedded-postgres/index.ts';
import { tryDatabase } from '../../app/database/reach.ts';
import { skipOrFail } from './parts.ts';
import { until } from './waiting.ts';

export interface TestConnection {
  host: string;
  port: number;
  user: string;
  database: string;
  password?: string;
}

export interface TestServer {
  name: string;
  connection: TestConnection;
  stop(): Promise<void>;
}

const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** Folder of the newest installed server's programs; null where there is none. */
export function debianBinaries(): string | null {
  if (!existsSync(DEBIAN_FOLDER)) return null;
  const versions = readdirSync(DEBIAN_FOLDER).sort((a, b) => Number(b) - Number(a));
  return (
    versions
      .map((version) => join(DEBIAN_FOLDER, version, 'bin'))
      .find((bin) => existsSync(join(bin, 'postgres'))) ?? null
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
export function serverFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** Folders of clusters that were made once in this process; servers get copies, which take a tenth of the time. */
let debianCluster: string | undefined;
let embeddedCluster: Promise<string> | undefined;

function removeAtExit(folder: string): void {
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true });
  });
}

/** With owners and rights. */
function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

function makeDebianCluster(bin: string): string {
  const folder = serverFolder('pgc-');
  removeAtExit(folder);
  const data = join(folder, 'data');
  const init = ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--wal-segsize=1', '--locale=C'];
  execFileSync(join(bin, 'initdb'), [...init, '-E', 'UTF8'], { ...serverUser(), cwd: '/', stdio: 'ignore' });
  return data;
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

async function makeEmbeddedCluster(): Promise<string> {
  const varDir = freshVarDir();
  removeAtExit(varDir);
  const server = await startEmbeddedPostgres({ varDir, log: () => undefined, linger: 0 });
  await endEmbedded(server);
  const folder = join(varDir, 'postgres');
  await until(() => readdirSync(join(folder, 'run')).length === 0, 'the server has cleared up');
  return folder;
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

/** A server that can go away and come back. */
export interface DebianServer extends TestServer {
  /** Ends the server, keeping its data. */
  halt(): Promise<void>;
  /** Starts it again; resolves when it answers. */
  resume(): Promise<void>;
  /** Lines of `pg_hba.conf`, taken over at the next `resume`. */
  allow(lines: readonly string[]): void;
}

/** A fresh server of Debian's; `settings` are command line settings such as `listen_addresses=127.0.0.1`. */
export async function startDebianPostgres(settings: readonly string[] = []): Promise<DebianServer> {
  const bin = debianBinaries();
  if (bin === null) throw new Error(`No PostgreSQL under ${DEBIAN_FOLDER}; install the package postgresql.`);
  const folder = serverFolder('pg-');
  const user = serverUser();
  const data = join(folder, 'data');
  copyFolder((debianCluster ??= makeDebianCluster(bin)), data);
  const given = ['listen_addresses=', 'fsync=off', ...settings].flatMap((setting) => ['-c', setting]);
  const connection = { host: folder, port: 5432, user: 'postgres', database: 'postgres' };
  let child: ChildProcess | undefined;

  async function halt(): Promise<void> {
    if (child === undefined) return;
    child.kill('SIGINT');
    await ended(child);
  }

  async function resume(): Promise<void> {
    if (child?.exitCode === null && child.signalCode === null) return;
    const options = { ...user, cwd: '/', stdio: 'ignore' as const };
    child = spawn(join(bin ?? '', 'postgres'), ['-D', data, '-k', folder, ...given], options);
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
    name: 'PostgreSQL of Debian',
    connection,
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

/** The same with a cluster in it, as one has it who starts again. Rejects where there is no embedded server. */
export async function clusterVarDir(): Promise<string> {
  const cluster = await (embeddedCluster ??= makeEmbeddedCluster());
  const varDir = freshVarDir();
  copyFolder(cluster, join(varDir, 'postgres'));
  return varDir;
}

/** A fresh embedded server in a folder of its own. */
async function startEmbeddedForTest(): Promise<TestServer> {
  const varDir = await clusterVarDir();
  const server = await startEmbeddedPostgres({ varDir, log: () => undefined, linger: 0 });
  return {
    name: 'embedded PostgreSQL',
    connection: server.connection,
    async stop() {
      await endEmbedded(server);
      rmSync(varDir, { recursive: true, force: true });
    },
  };
}

function withServer<S extends TestServer>(
  start: () => Promise<S>,
  missing: () => Promise<string | null>,
): () => S {
  let server: S | undefined;
  before(async function () {
    this.timeout(30_000);
    const part = await missing();
    if (part !== null) skipOrFail(this, part);
    server = await start();
  });
  after(async function () {
    this.timeout(30_000);
    await server?.stop();
  });
  return () => {
    if (server === undefined) throw new Error('The server is asked for before the tests run.');
    return server;
  };
}

export function withDebianPostgres(settings: readonly string[] = []): () => DebianServer {
  return withServer(
    () => startDebianPostgres(settings),
    () => Promise.resolve(debianBinaries() === null ? `a PostgreSQL under ${DEBIAN_FOLDER}` : null),
  );
}

export function withEmbeddedPostgres(): () => TestServer {
  return withServer(startEmbeddedForTest, () =>
    findBinaries().then(
      () => null,
      () => 'the package embedded-postgres for this platform',
    ),
  );
}

/** A small pool; the caller destroys it. */
export function openKnex(connection: TestConnection, settings: Knex.Config = {}): Knex {
  return knexLibrary({ client: 'pg', connection: { ...connection }, pool: { min: 0, max: 6 }, ...settings });
}
