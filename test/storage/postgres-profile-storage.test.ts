import { expect } from 'chai';
import type { Knex } from 'knex';
import { runProfilerMigrations, runProfilerMigrationsAt } from '../../app/database/run-migrations.ts';
import { LEASED_COUNTERS, LEASE_SIZE } from '../../app/profiler/token.ts';
import type { ProfileStorage } from '../../app/profiler/storage.ts';
import { createPostgresStorage, type StorageSettings } from '../../app/storage/postgres-profile-storage.ts';
import {
  openKnex,
  type TestServer,
  withDebianPostgres,
  withEmbeddedPostgres,
  withOwnPostgres,
} from '../support/postgres.ts';
import { describeStorageContract, profileOf } from './contract.ts';
import { createTestStorage, emptyTables } from './test-storage.ts';

const HOUR = 3_600_000;
const SCHEMA = 'odd "schema" é';
const everything = { olderThan: 0, count: 1e6, bytes: 1e12, profilerCount: 1e6 };

function describePostgresStorage(server: () => TestServer, { isNewest }: { isNewest: boolean }): void {
  let knex: Knex;
  const opened: ProfileStorage[] = [];

  before(async () => {
    knex = openKnex(server().connection);
    await runProfilerMigrations({ knex, schema: SCHEMA });
  });
  after(() => knex?.destroy());
  beforeEach(() => emptyTables(knex, SCHEMA));

  afterEach(() => Promise.all(opened.splice(0).map((storage) => storage.close())));

  function create(settings: Partial<StorageSettings> = {}): ProfileStorage {
    return createTestStorage(server().connection, { schema: SCHEMA, ...settings });
  }
  function open(settings: Partial<StorageSettings> = {}): ProfileStorage {
    const storage = create(settings);
    opened.push(storage);
    return storage;
  }

  // Debian's gets the same statements through pgbouncer (pgbouncer.test.ts).
  if (isNewest)
    describeStorageContract({
      isEmptied: true,
      create: (onClash) => Promise.resolve(create({ onClash })),
    });

  it('leases blocks that never meet, with one key for all', async function () {
    // Twenty storages connect at once.
    const leases = await Promise.all(Array.from({ length: 20 }, async () => open().leaseTokens?.()));
    const starts = leases.map((lease) => lease?.start ?? -1);
    expect(new Set(starts).size).to.equal(20);
    for (const start of starts) expect(start % LEASE_SIZE).to.equal(0);
    expect(new Set(leases.map((lease) => lease?.key.toString('hex'))).size).to.equal(1);
    expect(leases[0]?.key.length).to.equal(16);
    expect(leases[0]?.count).to.equal(LEASE_SIZE);
  });

  it('has one key for forms in all processes, which is not that of tokens', async () => {
    const [one, other] = await Promise.all([open().formKey?.(), open().formKey?.()]);
    expect(one?.length).to.equal(32);
    expect(one?.equals(other ?? Buffer.alloc(0))).to.equal(true);
    expect(one?.toString('hex')).to.not.contain((await open().leaseTokens?.())?.key.toString('hex'));
  });

  it('skips as many blocks as it is told', async () => {
    const storage = open();
    const first = (await storage.leaseTokens?.())?.start ?? 0;
    expect((await storage.leaseTokens?.(undefined, 3))?.start).to.equal(first + 4 * LEASE_SIZE);
  });

  it('deletes nothing that is young by the clock of the database, where that of the process is ahead', async () => {
    const young = profileOf(1, { startedAt: Date.now() });
    const storage = open();
    await storage.write([young]);
    const { now } = Date;
    const day = 24 * 3_600_000;
    try {
      Date.now = () => now() + 20 * 365 * day;
      const keepExceptions = { olderThan: Date.now() - 7 * day, count: 10 };
      await storage.purge({ ...everything, olderThan: Date.now() - day, keepExceptions });
    } finally {
      Date.now = now;
    }
    expect(await storage.read('000001')).to.not.equal(null);
    await storage.purge({ ...everything, olderThan: Date.now() + day });
    expect(await storage.read('000001')).to.equal(null);
  });

  it('begins the counters anew when they are used up', async () => {
    await knex.raw(`select setval('"odd ""schema"" é".hindsight_tokens', ${LEASED_COUNTERS - LEASE_SIZE})`);
    expect((await open().leaseTokens?.())?.start).to.equal(0);
  });

  it('cuts a search off with a clear answer', async () => {
    await open().write([profileOf(1)]);
    await knex.transaction(async (trx) => {
      await trx.raw('lock table ??.hindsight_profiles in access exclusive mode', [SCHEMA]);
      const error: unknown = await open({ findTimeoutMs: 200 })
        .find({ limit: 1, offset: 0 })
        .catch((reason: unknown) => reason);
      expect(error).to.include({ code: 'STORAGE_UNAVAILABLE', status: 503 });
      expect((error as Error).message).to.match(/longer than 200 ms/);
    });
  });

  it('gives up reading and searching where the database says nothing', async () => {
    const storage = open({ findTimeoutMs: 60_000, replyTimeoutMs: 300 });
    const quick = createPostgresStorage({
      schema: SCHEMA,
      findTimeoutMs: 100,
      replyTimeoutMs: 100,
      connection: () => new Promise(() => undefined),
    });
    await knex.transaction(async (trx) => {
      await trx.raw('lock table ??.hindsight_profiles', [SCHEMA]);
      const error: unknown = await storage.read('000001').catch((reason: unknown) => reason);
      expect(error).to.include({ code: 'STORAGE_UNAVAILABLE', status: 503 });
      expect((error as Error).message).to.match(/has not replied within 0\.3 s/);
    });
    const late: unknown = await quick.find({ limit: 1, offset: 0 }).catch((reason: unknown) => reason);
    expect((late as Error).message).to.match(/has not replied within 0\.3 s/);
  });

  it('says that its tables are missing, with no statement in the message', async () => {
    const storage = open({ schema: 'nowhere' });
    const error: unknown = await storage.read('000001').catch((reason: unknown) => reason);
    expect((error as Error).message)
      .to.match(/tables are missing/)
      .and.not.match(/select/);
  });

  it('names the reason, not the values, when a write fails', async () => {
    await knex.raw('alter table ??.hindsight_profiles add constraint small check (bytes < 5000)', [SCHEMA]);
    const storage = open();
    const error: unknown = await storage
      .write([profileOf(1, { bytes: 9999 }, 'hunter2')])
      .catch((reason: unknown) => reason);
    await knex.raw('alter table ??.hindsight_profiles drop constraint small', [SCHEMA]);
    expect((error as Error).message)
      .to.match(/violates check constraint/)
      .and.not.match(/hunter2|insert/);
  });

  it('stores all of a batch or nothing', async () => {
    await knex.raw('alter table ??.hindsight_profiles add constraint small check (bytes < 5000)', [SCHEMA]);
    const batch = Array.from({ length: 600 }, (_, number) =>
      profileOf(number, { bytes: number === 599 ? 9999 : 1 }),
    );
    const outcome = await open()
      .write(batch)
      .then(
        () => 'stored',
        () => 'refused',
      );
    await knex.raw('alter table ??.hindsight_profiles drop constraint small', [SCHEMA]);
    expect(outcome).to.equal('refused');
    expect((await open().find({ limit: 1, offset: 0 })).total).to.equal(0);
  });

  it('needs no search path', async () => {
    const options = '-c search_path=pg_catalog';
    const storage = createTestStorage({ ...server().connection, options }, { schema: SCHEMA });
    opened.push(storage);
    await storage.write([profileOf(1)]);
    await storage.amend('000001', 'pin', true);
    expect((await storage.read('000001'))?.amendments).to.deep.equal({ pin: true });
    expect((await storage.find({ limit: 1, offset: 0 })).total).to.equal(1);
    await storage.leaseTokens?.();
    expect(await storage.purge({ ...everything, count: 0 })).to.equal(1);
  });

  it('never meets a purge in a deadlock', async () => {
    const storage = open();
    const family = (number: number): ReturnType<typeof profileOf>[] => [
      profileOf(number, { state: number % 3 === 0 ? 'running' : 'final' }),
      profileOf(100_000 - number, { kind: 'error_page', parent: number.toString(16).padStart(6, '0') }),
    ];
    const writers = Array.from({ length: 3 }, async (_, worker) => {
      for (let round = 0; round < 15; round++) {
        const numbers = Array.from({ length: 60 }, (__, i) => 1 + ((round * 37 + i * 7 + worker * 11) % 400));
        await storage.write(numbers.flatMap(family));
        await storage.amend((1 + round).toString(16).padStart(6, '0'), 'pin', { round });
      }
    });
    const purges = Array.from({ length: 2 }, async () => {
      for (let round = 0; round < 20; round++) await storage.purge({ ...everything, count: 50 });
    });
    await Promise.all([...writers, ...purges]);
    await storage.purge({ ...everything, count: 50 });
    expect((await storage.find({ limit: 1, offset: 0 })).total).to.equal(50);
  });

  it('lets go of what is shared once it was used last well before the oldest profile began', async () => {
    const storage = open();
    const oldest = Date.now() - 5 * HOUR;
    await storage.write([profileOf(1, { startedAt: oldest })]);
    await storage.storeShared(['a', 'b', 'c'].map((id) => ({ id, text: '[]' })));
    const usedAt = (id: string, at: number): Promise<unknown> =>
      knex.raw('update ??.hindsight_shared set used_at = ? where id = ?', [SCHEMA, at, id]);
    await usedAt('a', oldest - 3 * HOUR);
    await usedAt('b', oldest - HOUR);
    await storage.purge(everything);
    expect([...(await storage.readShared(['a', 'b', 'c'])).keys()].sort()).to.deep.equal(['b', 'c']);
    await storage.storeShared([{ id: 'b', text: '[]' }]);
    await storage.purge({ ...everything, count: 0 });
    expect([...(await storage.readShared(['b', 'c'])).keys()].sort()).to.deep.equal(['b', 'c']);
    await usedAt('b', Date.now() - 3 * HOUR);
    await storage.purge(everything);
    expect([...(await storage.readShared(['b', 'c'])).keys()]).to.deep.equal(['c']);
  });

  it('keeps the pinned, the failed and the slowest of each route longer, with their error pages', async () => {
    const storage = open();
    const now = Date.now();
    const old = { startedAt: now - 6 * HOUR };
    await storage.write([
      profileOf(1, { ...old, durationMs: 5 }),
      profileOf(2, { ...old, durationMs: 500 }),
      profileOf(3, { ...old, status: 500 }),
      profileOf(4, { ...old, kind: 'error_page', parent: '000003' }),
      profileOf(5, old),
      profileOf(6, { ...old, route: '/other', durationMs: 1 }),
    ]);
    await storage.amend('000005', 'pin', true);
    const tokens = async (): Promise<string[]> =>
      (await storage.find({ limit: 100, offset: 0 })).rows.map(({ token }) => token);
    const limits = { ...everything, olderThan: now - 4 * HOUR, keepExceptions: { olderThan: 0, count: 100 } };
    expect(await storage.purge(limits)).to.equal(1);
    expect(await tokens()).to.have.members(['000002', '000003', '000005', '000006']);
    expect(await storage.read('000004')).to.not.equal(null);
    expect(await storage.purge(limits)).to.equal(0);
    expect(await storage.purge({ ...limits, keepExceptions: { olderThan: now, count: 100 } })).to.equal(4);
    expect(await tokens()).to.deep.equal(['000005']);
    expect(await storage.purge({ ...limits, keepExceptions: { olderThan: 0, count: 0 } })).to.equal(1);
  });

  it('leaves the purge to another process that is at it', async () => {
    await open().write([profileOf(1)]);
    await knex.transaction(async (trx) => {
      await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`hindsight purge ${SCHEMA}`]);
      expect(await open().purge({ ...everything, count: 0 })).to.equal(0);
    });
    expect(await open().purge({ ...everything, count: 0 })).to.equal(1);
  });
}

describe('storage in a PostgreSQL that goes away', () => {
  const server = withOwnPostgres();

  it('fails with the reason, and goes on when it is back', async () => {
    await runProfilerMigrationsAt({ ...server().connection }, SCHEMA);
    let asked = 0;
    const storage = createPostgresStorage({
      schema: SCHEMA,
      connection: () => {
        asked += 1;
        return Promise.resolve({ ...server().connection });
      },
    });
    await storage.write([profileOf(1)]);
    expect(asked).to.equal(1);
    await server().halt();
    const error: unknown = await storage.write([profileOf(2)]).catch((reason: unknown) => reason);
    expect((error as Error).message).to.match(/can't be read/);
    await server().resume();
    await storage.write([profileOf(2)]);
    expect(asked).to.be.greaterThan(1);
    expect((await storage.find({ limit: 10, offset: 0 })).total).to.equal(2);
    await storage.close();
    const closed: unknown = await storage.read('000001').catch((reason: unknown) => reason);
    expect((closed as Error).message).to.match(/is closed/);
  });
});

describe('storage in the embedded PostgreSQL', () =>
  describePostgresStorage(withEmbeddedPostgres(), { isNewest: true }));
describe("storage in Debian's PostgreSQL", () =>
  describePostgresStorage(withDebianPostgres(), { isNewest: false }));
