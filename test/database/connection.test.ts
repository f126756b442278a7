import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import {
  createDatabase,
  type Database,
  type DatabaseOptions,
} from '../../app/service/database/connection.ts';
import {
  describeSettings,
  settingsOf,
  type ConnectionSettings,
} from '../../app/database/connection-settings.ts';
import {
  EmbeddedPostgresError,
  startEmbeddedPostgres,
} from '../../app/service/database/embedded-postgres/index.ts';
import { listMigrations } from '../../app/database/migration-source.ts';
import { createPrepare } from '../../app/service/database/prepare.ts';
import { createTestStore } from '../storage/test-storage.ts';
import { until } from '../support/waiting.ts';
import {
  clusterVarDir,
  endEmbedded,
  isAlive,
  openKnex,
  startPostgres,
  withPostgres,
  type PostgresServer,
} from '../support/postgres.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const redact = { text: (value: string) => value.replaceAll('hunter2-hunter2', '***') };

/** The owner's Knex, once the database is ready. */
async function knexOf(database: Database): ReturnType<Database['load']> {
  database.connect();
  await database.ready;
  return database.load();
}

async function failure(promise: Promise<unknown>): Promise<Error & { status?: number }> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(Error);
  return error as Error & { status?: number };
}

describe('connection settings', () => {
  const address = { host: 'db', port: 5432, name: 'shop', user: 'u', ssl: 'off' as const };

  it('encrypt and check as the address asks', () => {
    expect(settingsOf(address)).to.deep.equal({ host: 'db', port: 5432, user: 'u', database: 'shop' });
    expect(settingsOf({ ...address, ssl: 'unverified' }).ssl).to.deep.equal({ rejectUnauthorized: false });
    expect(settingsOf({ ...address, ssl: 'verified', password: 'p' })).to.deep.include({
      password: 'p',
      ssl: { rejectUnauthorized: true },
    });
  });

  it('are described without a password', () => {
    const settings = settingsOf({ ...address, password: 'hunter2' });
    expect(describeSettings(settings)).to.equal('db:5432/shop');
    expect(describeSettings({ ...settings, host: '::1' })).to.equal('[::1]:5432/shop');
  });
});

describe('the database', () => {
  const server = withPostgres();
  const open: Database[] = [];
  let lines: string[];

  function create(connection: DatabaseOptions['connection'], more: Partial<DatabaseOptions> = {}): Database {
    lines = [];
    const database = createDatabase({
      connection,
      schema: 'shop',
      redact,
      log: (line) => lines.push(line),
      ...more,
    });
    open.push(database);
    return database;
  }

  afterEach(async () => {
    for (const database of open.splice(0)) await database.close();
  });

  it('is not touched before it is asked for', async () => {
    let asked = 0;
    const database = create(() => {
      asked++;
      return Promise.resolve(server().connection);
    });
    await sleep(50);
    expect(asked).to.equal(0);
    expect((await (await knexOf(database)).raw<{ rows: unknown[] }>('select 1')).rows.length).to.equal(1);
  });

  it('gives the owner the search path', async () => {
    const database = create(() => Promise.resolve(server().connection));
    const knex = await knexOf(database);
    const { rows } = await knex.raw<{ rows: { search_path: string }[] }>('show search_path');
    expect(rows[0]?.search_path).to.equal('shop, public');
    expect(lines).to.deep.equal([]);
  });

  it('is handed to observers once, before anybody uses it', async () => {
    const seen: unknown[] = [];
    const database = create(() => Promise.resolve(server().connection), {
      onKnex: (knex) => seen.push(knex),
    });
    expect(seen).to.deep.equal([]);
    const knex = await knexOf(database);
    expect(seen).to.deep.equal([knex]);
  });

  it('is migrated when it comes, and a migration that fails is said and no obstacle', async () => {
    const folder = freshFolder();
    const prepare = createPrepare({
      schema: 'no"schema',
      profiler: true,
      owner: true,
      ownerFolder: folder,
      redact,
      log: (line) => lines.push(line),
    });
    const admin = openKnex(server().connection);
    await admin.raw('create role weak login');
    const database = create(() => Promise.resolve({ ...server().connection, user: 'weak' }), { prepare });
    database.connect();
    await database.ready;
    expect(lines.join('\n')).to.match(/The role "weak" may not create the schema/);
    const strong = create(() => Promise.resolve(server().connection), { prepare });
    await knexOf(strong);
    const migrations = await listMigrations('migrations/profiler');
    expect(lines).to.deep.equal([
      `Ran the profiler's migrations: ${migrations.map(({ name }) => name).join(', ')}.`,
    ]);
    await admin.destroy();
  });

  it('gets the missing tables of the profiler once it may make them, and after somebody dropped them', async () => {
    const prepare = createPrepare({
      schema: 'later',
      profiler: true,
      owner: false,
      redact,
      log: (line) => lines.push(line),
    });
    const admin = openKnex(server().connection);
    await admin.raw('create role late login');
    const database = create(() => Promise.resolve({ ...server().connection, user: 'late' }), { prepare });
    database.connect();
    await database.ready;
    const late = { ...server().connection, user: 'late' };
    const storage = createTestStore(late, { schema: 'later', onUnusable: () => database.mend() });
    const reads = async (): Promise<boolean> => (await storage.read('000001').catch(() => false)) === null;
    for (let times = 0; times < 10; times++) {
      expect(await reads()).to.equal(false);
      await sleep(100);
    }
    await admin.raw('create schema later authorization late');
    await until(reads, 'the tables are there');
    await admin.raw('drop schema later cascade; create schema later authorization late');
    await until(reads, 'the tables are there again');
    await until(() => lines.length === 3, 'what was done is said');
    expect(lines.map((line) => line.slice(0, 30))).to.deep.equal([
      'The role "late" may not create',
      "Ran the profiler's migrations:",
      "Ran the profiler's migrations:",
    ]);
    await storage.close();
    await admin.destroy();
  });

  it('can be closed at any time', async () => {
    const never = create(() => new Promise<ConnectionSettings>(() => undefined));
    await never.close();
    const connecting = create(() => Promise.reject(new Error('no')));
    connecting.connect();
    await connecting.close();
    await connecting.close();
    expect((await failure(connecting.ready)).message).to.match(/closed/);
  });

  describe('that is away', () => {
    let own: PostgresServer;

    before(async () => {
      own = await startPostgres();
    });
    after(() => own.stop());
    beforeEach(() => own.resume());
    afterEach(() => own.halt());

    it('at the start is used within 2 s of its return', async () => {
      await own.halt();
      const database = create(() => Promise.resolve(own.connection));
      database.connect();
      await sleep(2500);
      expect(lines.length).to.equal(1);
      expect(lines[0]).to.match(
        /^The database at .*postgres can't be used \(connect E(?:NOENT|CONNREFUSED).*\); the service goes on and tries again\.$/,
      );
      await own.resume();
      await database.ready;
      expect(lines.at(-1)).to.match(/is available\.$/);
    });

    it('later is seen, said once, and used as soon as it is back', async () => {
      const database = create(() => Promise.resolve(own.connection));
      const knex = await knexOf(database);
      await knex.raw('select 1');
      await own.halt();
      for (let i = 0; i < 3; i++) await failure(knex.raw('select 1').then());
      expect(lines.filter((line) => line.includes("can't be used")).length).to.equal(1);
      await own.resume();
      await until(() => lines.at(-1)?.endsWith('is available.') === true, 'the database is ready');
      expect((await knex.raw<{ rows: unknown[] }>('select 1')).rows.length).to.equal(1);
    });

    it('for a wrong password or a missing database is tried again like any other, and nothing is told', async () => {
      own.allow(['local all postgres trust', 'local all guest scram-sha-256']);
      await own.halt();
      await own.resume();
      const admin = openKnex(own.connection);
      await admin.raw(`create role guest login password 'other'`);
      const guest = { ...own.connection, user: 'guest', password: 'hunter2-hunter2' };
      const database = create(() => Promise.resolve(guest));
      database.connect();
      const refused = 'password authentication failed for user "guest"';
      await until(() => lines.join().includes(refused), 'the refusal is said');
      await admin.raw(`alter role guest password 'hunter2-hunter2'`);
      await database.ready;
      expect(lines.join()).to.not.contain('hunter2');
      const missing = create(() => Promise.resolve({ ...guest, database: 'late' }));
      missing.connect();
      await until(() => lines.join().includes('does not exist'), 'the database is missing');
      await admin.raw('create database late');
      await admin.destroy();
      await missing.ready;
      own.allow(['local all all trust']);
    });
  });

  it('masks what an error says', async () => {
    const database = create(() => Promise.reject(new Error('no way with hunter2-hunter2')));
    database.connect();
    await until(() => lines.length > 0, 'the failure is said');
    expect(lines.join()).to.contain('no way with ***').and.not.contain('hunter2');
  });

  it('does not start an embedded server that fails again and again', async () => {
    let asked = 0;
    const database = create(() => {
      asked++;
      return Promise.reject(new EmbeddedPostgresError('The folder is damaged.'));
    });
    database.connect();
    await sleep(2000);
    expect(asked).to.equal(1);
  });

  it('follows an embedded server that is started anew', async () => {
    const varDir = await clusterVarDir();
    const embedded = await startEmbeddedPostgres({ varDir, log: () => undefined, linger: 0 });
    const database = create(() => embedded.ensure());
    const knex = await knexOf(database);
    await knex.raw('select 1');
    process.kill(embedded.pid, 'SIGKILL');
    await until(() => !isAlive(embedded.pid), 'the server has ended');
    // A connection of the old server may fail first.
    const answers = (): Promise<boolean> =>
      knex.raw('select 1').then(
        () => true,
        () => false,
      );
    await until(answers, 'the new server answers');
    await database.close();
    await endEmbedded(embedded);
    rmSync(varDir, { recursive: true, force: true });
  });
});
