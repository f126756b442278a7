/** The embedded server with its real binaries: every way to find, start, join, lose and leave it. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { findBinaries, restoreLinks } from '../../../app/service/database/embedded-postgres/binaries.ts';
import {
  EmbeddedPostgresError,
  startEmbeddedPostgres,
  type EmbeddedOptions,
  type EmbeddedServer,
} from '../../../app/service/database/embedded-postgres/index.ts';
import { withBuild } from '../../support/build.ts';
import { clusterVarDir, endEmbedded, fillWithCluster, isAlive, openKnex } from '../../support/postgres.ts';
import { until } from '../../support/waiting.ts';

const USER_SCRIPT = fileURLToPath(new URL('../../support/embedded-user.mjs', import.meta.url));
const isRoot = process.getuid?.() === 0;

const folders: string[] = [];
const servers: EmbeddedServer[] = [];
const children: ChildProcess[] = [];

function freshFolder(prefix = 'hv-'): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  // A service's folder is open to others as a rule; mkdtemp's is not.
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** One with a cluster, where its making is not what is tested. */
async function clusterFolder(): Promise<string> {
  const folder = await clusterVarDir();
  folders.push(folder);
  return folder;
}

async function start(varDir: string, options: Partial<EmbeddedOptions> = {}): Promise<EmbeddedServer> {
  const server = await startEmbeddedPostgres({ varDir, log: () => undefined, linger: 0, ...options });
  servers.push(server);
  return server;
}

async function failure(promise: Promise<unknown>): Promise<EmbeddedPostgresError> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(EmbeddedPostgresError);
  return error as EmbeddedPostgresError;
}

async function query(server: EmbeddedServer, sql: string): Promise<unknown> {
  const knex = openKnex(server.connection);
  try {
    return (await knex.raw<{ rows: { value: unknown }[] }>(sql)).rows[0]?.value;
  } finally {
    await knex.destroy();
  }
}

/** Processes whose command line names the folder. */
function processesOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${folder}/postgres`);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Resolves when no process names the folder any more. To look through all of them costs more than to ask for those that were found. */
async function untilGone(folder: string): Promise<void> {
  for (let left = processesOf(folder); left.length > 0; left = processesOf(folder)) {
    const seen = left;
    await until(() => !seen.some(isAlive), `processes of ${folder} have ended`);
  }
}

const untilEnded = (pid: number): Promise<void> => until(() => !isAlive(pid), `process ${pid} has ended`);
const untilExit = (child: ChildProcess): Promise<void> =>
  until(() => child.signalCode !== null || child.exitCode !== null, 'the user has ended');

/** Owned as the cluster around it. */
function putPidFile(varDir: string, text: string): string {
  const data = join(varDir, 'postgres', 'data');
  const file = join(data, 'postmaster.pid');
  const { uid, gid } = statSync(data);
  writeFileSync(file, text);
  if (isRoot) chownSync(file, uid, gid);
  return file;
}

/** As the server writes it. */
function pidFileOf(pid: number, varDir: string): string {
  const folder = join(varDir, 'postgres');
  return `${pid}\n${join(folder, 'data')}\n1700000000\n5432\n${join(folder, 'run')}\n\n  12345 67890\nready   \n`;
}

function runUser(varDir: string, env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [USER_SCRIPT], {
    env: { ...process.env, VAR_DIR: varDir, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  children.push(child);
  return child;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('\n')) resolve(text.trim());
    });
    child.once('exit', () => resolve(text.trim()));
  });
}

async function startUser(
  varDir: string,
  env: Record<string, string> = {},
): Promise<{ child: ChildProcess; serverPid: number }> {
  const child = runUser(varDir, env);
  const [word, pid] = (await firstLine(child)).split(' ');
  expect(word).to.equal('ready');
  return { child, serverPid: Number(pid) };
}

describe('embedded PostgreSQL', function () {
  withBuild();
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    const left = servers.splice(0);
    for (const server of left) await server.stop();
    for (const server of left) await endEmbedded(server);
    // They go with the run's folder (run.ts): where many files were just deleted, ext4 takes long to make others.
    for (const folder of folders.splice(0)) await untilGone(folder);
  });

  describe('in a new folder with an odd name', () => {
    let varDir: string;
    let server: EmbeddedServer;
    /** Of the server that another process got, which started at the same time. */
    let otherPid: number;

    before(async () => {
      process.env.API_KEY = 'a secret of the host';
      varDir = join(freshFolder(), `it's "a" $HOME é`);
      mkdirSync(varDir);
      const started = [
        startEmbeddedPostgres({ varDir, log: () => undefined, linger: 0 }),
        startUser(varDir),
      ] as const;
      const [here, there] = await Promise.all(started).finally(() => {
        delete process.env.API_KEY;
      });
      server = here;
      otherPid = there.serverPid;
    });
    after(async () => {
      await endEmbedded(server);
      await untilGone(varDir);
    });

    it('makes one cluster and answers', async () => {
      expect(otherPid).to.equal(server.pid);
      expect(
        await query(server, `select current_setting('server_version_num')::int / 10000 as value`),
      ).to.equal(18);
      expect(
        await query(server, `select upper('äß') || current_setting('server_encoding') as value`),
      ).to.match(/^Ä.*UTF8$/);
      expect(statSync(join(varDir, 'postgres')).mode & 0o777).to.equal(0o700);
      expect(readdirSync(join(varDir, 'postgres')).sort()).to.deep.equal(['data', 'postgres.log', 'run']);
    });

    it('has the extensions that come with it', async () => {
      await query(server, 'create extension pg_trgm');
      expect(await query(server, `select similarity('abc', 'abc') as value`)).to.equal(1);
    });

    it('is not the root user, and closed to all others', () => {
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
      expect(status).to.not.match(/^Uid:\s+0/m);
      if (isRoot) expect(status).to.match(/^Groups:\s*$/m);
      expect(statSync(server.connection.host).mode & 0o777).to.equal(0o700);
    });

    it('has nothing of the environment', () => {
      const environment = readFileSync(`/proc/${server.pid}/environ`, 'utf8');
      expect(environment)
        .to.contain('LC_ALL')
        .and.not.match(/secret|API_KEY/);
    });

    it('writes no statement into its log', async () => {
      await query(server, `select 'hunter2 in a statement'::int`).catch(() => undefined);
      expect(readFileSync(join(varDir, 'postgres', 'postgres.log'), 'utf8')).to.not.contain('hunter2');
    });
  });

  describe('with several users', () => {
    it('is joined by a second one in the same process', async () => {
      const varDir = await clusterFolder();
      const first = await start(varDir);
      const second = await start(varDir);
      expect(second.pid).to.equal(first.pid);
      await first.stop();
      await sleep(300);
      expect(await query(second, 'select 1 as value')).to.equal(1);
      await endEmbedded(second);
    });

    it('stays while one of them is there, and ends after the last was killed', async () => {
      const varDir = await clusterFolder();
      const [first, second] = [await startUser(varDir, { LINGER: '0' }), await startUser(varDir)];
      expect(second.serverPid).to.equal(first.serverPid);
      first.child.kill('SIGKILL');
      await untilExit(first.child);
      await sleep(500);
      expect(isAlive(first.serverPid)).to.equal(true);
      second.child.kill('SIGKILL');
      await untilGone(varDir);
      expect(existsSync(join(varDir, 'postgres', 'data', 'postmaster.pid'))).to.equal(false);
      expect(readdirSync(join(varDir, 'postgres', 'run'))).to.deep.equal([]);
    });

    it('is there for a user that comes while it lingers', async () => {
      const varDir = await clusterFolder();
      const { child, serverPid } = await startUser(varDir, { LINGER: '5' });
      child.kill('SIGTERM');
      await untilExit(child);
      const second = await start(varDir);
      expect(second.pid).to.equal(serverPid);
      await sleep(6000);
      expect(isAlive(serverPid)).to.equal(true);
    });

    it("is not reached by a terminal's Ctrl-C", async () => {
      const { child, serverPid } = await startUser(await clusterFolder());
      process.kill(-(child.pid ?? 0), 'SIGINT');
      await untilExit(child);
      await sleep(500);
      expect(isAlive(serverPid)).to.equal(true);
    });
  });

  describe('after an accident', () => {
    it('starts over a postmaster.pid that a crash left', async () => {
      const varDir = await clusterFolder();
      const first = await start(varDir);
      await query(first, 'create table kept as select 42 as value');
      await endEmbedded(first);
      const { child, serverPid } = await startUser(varDir);
      // Stopped, so that it can't start the server again.
      child.kill('SIGSTOP');
      process.kill(serverPid, 'SIGKILL');
      await untilEnded(serverPid);
      child.kill('SIGKILL');
      expect(existsSync(join(varDir, 'postgres', 'data', 'postmaster.pid'))).to.equal(true);
      expect(await query(await start(varDir), 'select value from kept')).to.equal(42);
    });

    it('has kept what was committed before it was let go, if it is killed right after', async () => {
      const varDir = await clusterFolder();
      const server = await start(varDir, { linger: 5 });
      const knex = openKnex(server.connection);
      await knex.raw('create table kept (value int)');
      await knex.raw('checkpoint');
      await knex.raw('insert into kept values (42)');
      await server.stop();
      process.kill(server.pid, 'SIGKILL');
      await untilEnded(server.pid);
      await knex.destroy();
      expect(await query(await start(varDir), 'select value from kept')).to.equal(42);
    });

    it('starts over one whose number is another program by now', async () => {
      const varDir = await clusterFolder();
      const { uid, gid } = statSync(join(varDir, 'postgres', 'data'));
      const other = spawn('sleep', ['60'], { stdio: 'ignore', ...(isRoot ? { uid, gid } : {}) });
      children.push(other);
      putPidFile(varDir, pidFileOf(other.pid ?? 0, varDir));
      expect(await query(await start(varDir), 'select 1 as value')).to.equal(1);
      expect(other.exitCode).to.equal(null);
    });

    it('starts over one that a crash left empty', async () => {
      const varDir = await clusterFolder();
      utimesSync(putPidFile(varDir, ''), 1_700_000_000, 1_700_000_000);
      expect(await query(await start(varDir), 'select 1 as value')).to.equal(1);
    });

    it('waits for the server that has just made one, and has not written to it yet', async () => {
      const varDir = await clusterFolder();
      const file = putPidFile(varDir, '');
      const starting = start(varDir);
      const log = (): string => readFileSync(join(varDir, 'postgres', 'postgres.log'), 'utf8');
      await until(() => log().includes('"postmaster.pid" is empty'), 'a server has found it');
      unlinkSync(file);
      expect(await query(await starting, 'select 1 as value')).to.equal(1);
    });

    it('starts over one whose process nobody has waited for', async () => {
      const varDir = await clusterFolder();
      const { uid, gid } = statSync(join(varDir, 'postgres', 'data'));
      // A shell that becomes another program does not wait for the child it had.
      const parent = spawn('sh', ['-c', 'sleep 0 & exec sleep 60'], {
        stdio: 'ignore',
        ...(isRoot ? { uid, gid } : {}),
      });
      children.push(parent);
      const childrenOf = (): string =>
        readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8');
      const dead = (): number => Number(childrenOf().trim());
      await until(
        () => dead() > 0 && readFileSync(`/proc/${dead()}/stat`, 'utf8').includes(') Z'),
        'the child has ended',
      );
      putPidFile(varDir, pidFileOf(dead(), varDir));
      expect(await query(await start(varDir), 'select 1 as value')).to.equal(1);
    });

    it('is started anew when it was killed while in use', async () => {
      const server = await start(await clusterFolder());
      const before = server.pid;
      process.kill(before, 'SIGKILL');
      await untilEnded(before);
      await server.ensure();
      expect(server.pid).to.not.equal(before);
      expect(await query(server, 'select 1 as value')).to.equal(1);
    });

    function watchersOf(varDir: string): number[] {
      return processesOf(varDir).filter((pid) => {
        const file = `/proc/${pid}/cmdline`;
        return isAlive(pid) && existsSync(file) && readFileSync(file, 'utf8').includes('hindsight-postgres');
      });
    }

    async function killWatchers(varDir: string): Promise<void> {
      const pids = watchersOf(varDir);
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // Ended by itself.
        }
      }
      await until(() => !pids.some(isAlive), 'the watchers have ended');
    }

    it('is replaced by one that is watched when it lost its watch and its user', async () => {
      const varDir = await clusterFolder();
      const { child, serverPid } = await startUser(varDir);
      child.kill('SIGSTOP');
      await killWatchers(varDir);
      child.kill('SIGKILL');
      await untilExit(child);
      expect(isAlive(serverPid)).to.equal(true);
      const server = await start(varDir);
      expect(isAlive(serverPid)).to.equal(false);
      await server.stop();
      await untilGone(varDir);
      expect(readdirSync(join(varDir, 'postgres', 'run'))).to.deep.equal([]);
    });

    it('is one server for all, when many find out at once that it lost its watch', async () => {
      const varDir = await clusterFolder();
      const users: EmbeddedServer[] = [];
      for (let n = 0; n < 3; n++) users.push(await start(varDir));
      await killWatchers(varDir);
      // Who looked just before another replaced the server finds out with a later connection.
      await until(async () => {
        await Promise.all(users.map((user) => user.ensure()));
        return new Set(users.map(({ pid }) => pid)).size === 1;
      }, 'all have the same server');
      const last = users.pop()!;
      for (const user of users) await user.stop();
      await sleep(1500);
      expect(isAlive(last.pid)).to.equal(true);
      await last.stop();
      await untilEnded(last.pid);
      await until(() => watchersOf(varDir).length === 0, 'its watch has ended');
    });

    it('makes a whole cluster after one that was killed in the making', async () => {
      const varDir = freshFolder();
      const child = runUser(varDir);
      await until(
        () =>
          existsSync(join(varDir, 'postgres')) &&
          readdirSync(join(varDir, 'postgres')).some((name) => name.startsWith('init-')),
        'a cluster is made',
      );
      await sleep(60);
      child.kill('SIGKILL');
      await untilExit(child);
      expect(existsSync(join(varDir, 'postgres', 'data'))).to.equal(false);
      await untilGone(varDir);
      expect(await query(await start(varDir), 'select 1 as value')).to.equal(1);
      expect(readdirSync(join(varDir, 'postgres')).sort()).to.deep.equal(['data', 'postgres.log', 'run']);
    });

    it('ends also where its folder was deleted under it', async () => {
      const varDir = await clusterFolder();
      const { child, serverPid } = await startUser(varDir);
      rmSync(varDir, { recursive: true, force: true });
      child.kill('SIGKILL');
      await untilGone(varDir);
      expect(isAlive(serverPid)).to.equal(false);
    });

    it('begins with an empty folder where it was deleted while in use', async () => {
      const varDir = await clusterFolder();
      const server = await start(varDir);
      const before = server.pid;
      rmSync(varDir, { recursive: true, force: true });
      await server.ensure();
      expect(server.pid).to.not.equal(before);
      expect(await query(server, 'select 1 as value')).to.equal(1);
      await untilEnded(before);
    });

    it('leaves the next one of its folder alone when the folder was deleted before it ended', async () => {
      const varDir = await clusterFolder();
      const first = await start(varDir);
      const before = first.pid;
      rmSync(join(varDir, 'postgres'), { recursive: true, force: true });
      await fillWithCluster(varDir);
      const second = await start(varDir);
      expect(second.pid).to.not.equal(before);
      await first.stop();
      await untilEnded(before);
      expect(await query(second, 'select 1 as value')).to.equal(1);
      await endEmbedded(second);
    });

    it('says so, and changes nothing, where the cluster is damaged', async () => {
      const varDir = await clusterFolder();
      const control = join(varDir, 'postgres', 'data', 'global', 'pg_control');
      const damaged = Buffer.alloc(statSync(control).size, 7);
      writeFileSync(control, damaged);
      const error = await failure(start(varDir));
      expect(error.message).to.match(/does not start on .*data: .+\. Nothing was deleted; .*move it away/);
      expect(readFileSync(control).equals(damaged)).to.equal(true);
    });

    it('says so where the folder holds something else, or a cluster of another version', async () => {
      const varDir = await clusterFolder();
      const version = join(varDir, 'postgres', 'data', 'PG_VERSION');
      writeFileSync(version, '17\n');
      expect((await failure(start(varDir))).message).to.match(
        /made by PostgreSQL 17, the embedded one is 18\. Nothing was changed/,
      );
      unlinkSync(version);
      expect((await failure(start(varDir))).message).to.match(/no PostgreSQL cluster .* Nothing was changed/);
    });
  });

  describe('in odd places', () => {
    it('moves the socket when its path is long', async () => {
      const varDir = join(freshFolder(), 'a-long-name'.repeat(8), 'v');
      mkdirSync(varDir, { recursive: true });
      await fillWithCluster(varDir);
      const server = await start(varDir);
      expect(server.connection.host.length).to.be.below(80);
      expect(server.connection.host.startsWith(varDir)).to.equal(false);
      expect(statSync(server.connection.host).mode & 0o777).to.equal(0o700);
      expect(await query(server, 'select 1 as value')).to.equal(1);
      expect((await start(varDir)).pid).to.equal(server.pid);
      for (const each of servers.splice(0)) await each.stop();
      await endEmbedded(server);
      await until(() => !existsSync(server.connection.host), 'its folder is gone');
    });

    it('says so where the folder can not be written to', async () => {
      const file = join(freshFolder(), 'file');
      writeFileSync(file, '');
      const error = await failure(start(join(file, 'var')));
      expect(error.message).to.match(/can't be written to \(ENOTDIR\).*VAR_DIR/);
    });

    it('says so where the folder became read-only', async function () {
      const folder = freshFolder();
      try {
        execFileSync('mount', ['-t', 'tmpfs', 'none', folder], { stdio: 'ignore' });
      } catch {
        this.skip();
      }
      try {
        await fillWithCluster(folder);
        execFileSync('mount', ['-o', 'remount,ro', folder]);
        expect((await failure(start(folder))).message).to.match(/can't be written to \(EROFS\).*VAR_DIR/);
      } finally {
        execFileSync('umount', ['-l', folder]);
      }
    });

    it('does not follow a link in the place of its folder', async () => {
      const varDir = freshFolder();
      symlinkSync(freshFolder(), join(varDir, 'postgres'));
      expect((await failure(start(varDir))).message).to.match(/is no folder/);
    });

    it('says so where the folder belongs to somebody else', async function () {
      if (!isRoot) this.skip();
      const varDir = freshFolder();
      mkdirSync(join(varDir, 'postgres'), { mode: 0o700 });
      chownSync(join(varDir, 'postgres'), 12345, 12345);
      expect((await failure(start(varDir))).message).to.match(
        /belongs to user 12345, but PostgreSQL would run as user \d+/,
      );
    });
  });

  describe('for root', () => {
    before(function () {
      if (!isRoot) this.skip();
    });

    it("runs as the folder's owner", async () => {
      const varDir = await clusterFolder();
      execFileSync('chown', ['-R', '1:1', varDir]);
      const server = await start(varDir);
      expect(readFileSync(`/proc/${server.pid}/status`, 'utf8')).to.match(/^Uid:\s+1\s/m);
      expect(await query(server, 'select 1 as value')).to.equal(1);
    });

    it('moves data and binaries out of a folder that only root can enter, to the first home that can be made', async () => {
      const closed = freshFolder();
      const { native, version } = await findBinaries();
      cpSync(join(native, '..', 'package.json'), join(closed, 'package.json'));
      cpSync(native, join(closed, 'native'), { recursive: true, verbatimSymlinks: true });
      chmodSync(closed, 0o700);
      const home = join(freshFolder(), 'home');
      const varDir = join(closed, 'var');
      const options = { native: join(closed, 'native'), homes: ['/proc/no-such-place', home] };
      const told: string[] = [];
      const server = await start(varDir, { ...options, log: (sentence) => told.push(sentence) });
      expect(await query(server, 'create table kept as select 42 as value')).to.equal(undefined);
      const [hash = ''] = readdirSync(home).filter((name) => !name.startsWith('.'));
      const own = join(home, hash);
      expect(readdirSync(home)).to.deep.equal([hash]);
      expect(readdirSync(own).sort()).to.deep.equal([`native-${version}`, 'postgres']);
      expect(statSync(own).mode & 0o777).to.equal(0o700);
      expect(statSync(own).uid).to.not.equal(0);
      expect(told.join()).to.contain(own);
      expect(existsSync(join(varDir, 'postgres'))).to.equal(false);
      await endEmbedded(server);
      const again = await start(varDir, options);
      expect(await query(again, 'select value from kept')).to.equal(42);
    });

    it('refuses a link, or a folder of somebody else, in the place of its home', async () => {
      const closed = freshFolder();
      chmodSync(closed, 0o700);
      const homes = freshFolder();
      symlinkSync(freshFolder(), join(homes, 'link'));
      mkdirSync(join(homes, 'foreign'));
      chownSync(join(homes, 'foreign'), 12345, 12345);
      for (const name of ['link', 'foreign']) {
        const error = await failure(start(join(closed, 'var'), { homes: [join(homes, name)] }));
        expect(error.message).to.match(/must be a folder of root that nobody else can write to/);
      }
    });
  });

  describe('its package', () => {
    it('gets its missing links back', async () => {
      const { native } = await findBinaries();
      const copy = freshFolder();
      cpSync(join(native, '..', 'package.json'), join(copy, 'package.json'));
      cpSync(native, join(copy, 'native'), { recursive: true, verbatimSymlinks: true });
      const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
        target: string;
      }[];
      for (const { target } of links) rmSync(join(copy, target), { force: true });
      expect(
        await query(
          await start(await clusterFolder(), { native: join(copy, 'native') }),
          'select 1 as value',
        ),
      ).to.equal(1);
      for (const { target } of links) expect(lstatSync(join(copy, target)).isSymbolicLink()).to.equal(true);
      expect(await restoreLinks(join(copy, 'native'))).to.equal(true);
    });

    it('is reported where it can not run', async () => {
      const copy = freshFolder();
      mkdirSync(join(copy, 'native', 'bin'), { recursive: true });
      writeFileSync(join(copy, 'package.json'), '{"version":"18.0.0"}');
      for (const name of ['initdb', 'postgres'])
        writeFileSync(join(copy, 'native', 'bin', name), '#!/no/such/loader\n', { mode: 0o755 });
      const error = await failure(start(freshFolder(), { native: join(copy, 'native') }));
      expect(error.message).to.match(/can't run the embedded PostgreSQL .*DATABASE_URL/);
    });
  });
});
