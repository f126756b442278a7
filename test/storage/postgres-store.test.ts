/** The store in PostgreSQL: the contract of every store, and what only a database does. */
import { expect } from 'chai';
import type { Knex } from 'knex';
import { runProfilerMigrations, runProfilerMigrationsAt } from '../../app/database/run-migrations.ts';
import { COLUMN_ENTRIES } from '../../app/profiler/store/profile-index.ts';
import type { Store, StoreItem } from '../../app/profiler/store/store.ts';
import type { PostgresStoreSettings } from '../../app/storage/postgres/postgres-store.ts';
import { openKnex, withPostgres, withEmbeddedPostgres, withOwnPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { describeStoreContract, itemOf, NO_LIMITS, stored } from './store-contract.ts';
import { createTestStore, emptyStore } from './test-storage.ts';

const SCHEMA = 'odd "schema" é';
const HOUR = 3_600_000;

describe('the store in the embedded PostgreSQL', () => {
  const server = withEmbeddedPostgres();
  let knex: Knex;

  before(async () => {
    knex = openKnex(server().connection);
    await runProfilerMigrations({ knex, schema: SCHEMA });
  });
  after(() => knex.destroy());

  describeStoreContract({
    open: () => Promise.resolve(createTestStore(server().connection, { schema: SCHEMA })),
    empty: () => emptyStore(knex, SCHEMA),
  });
});

describe('the store in PostgreSQL', () => {
  const server = withPostgres();
  let knex: Knex;
  let store: Store;
  const opened: Store[] = [];

  function open(settings: Partial<PostgresStoreSettings> = {}): Store {
    const made = createTestStore(server().connection, { schema: SCHEMA, ...settings });
    opened.push(made);
    return made;
  }

  before(async () => {
    knex = openKnex(server().connection);
    await runProfilerMigrations({ knex, schema: SCHEMA });
  });
  after(() => knex.destroy());
  beforeEach(async () => {
    await emptyStore(knex, SCHEMA);
    store = open();
  });
  afterEach(() => Promise.all(opened.splice(0).map((made) => made.close())));

  async function tokens(): Promise<string[]> {
    const { rows } = await store.find({ limit: 1000, offset: 0 });
    return rows.map(({ token }) => token);
  }

  it('has a column for each of a row', async () => {
    const columns = Object.keys(await knex.withSchema(SCHEMA).from('hindsight_profiles').columnInfo());
    expect(columns).to.include.members(COLUMN_ENTRIES.map(([, { column }]) => column));
  });

  it('stores a flood in batches, and drops the oldest when its queue is full', async () => {
    const dropped: (string | null)[] = [];
    const text = 'x'.repeat(1024 * 1024);
    await knex.transaction(async (trx) => {
      await trx.raw('lock table ??.hindsight_profiles', [SCHEMA]);
      for (let number = 0; number < 20; number++)
        store.add([{ ...itemOf(number), text, settled: (reason) => dropped.push(reason) }]);
      expect(store.state.pendingBytes).to.be.below(store.state.maxPendingBytes);
    });
    await until(() => store.state.pending === 0, 'all is stored');
    expect(dropped.filter((reason) => reason === 'queue full')).to.have.length(5);
    expect(dropped.filter((reason) => reason === null)).to.have.length(15);
    expect(await tokens()).to.have.length(15);
  });

  it('stores the others of a batch where one can not be stored', async () => {
    const odd = { ...itemOf(2), row: { ...itemOf(2).row, durationMs: 'long' as unknown as number } };
    expect(await stored(store, [itemOf(1), odd, itemOf(3)])).to.deep.equal([
      null,
      'refused by the database',
      null,
    ]);
  });

  it('gives up what takes too long, with a clear answer', async () => {
    const quick = open({ replyTimeoutMs: 200 });
    await knex.transaction(async (trx) => {
      await trx.raw('lock table ??.hindsight_profiles', [SCHEMA]);
      const error: unknown = await quick.read('000001').catch((reason: unknown) => reason);
      expect(error).to.include({ code: 'STORAGE_UNAVAILABLE', status: 503 });
      expect((error as Error).message).to.match(/has not replied within 0\.2 s/);
    });
  });

  it('says that its tables are missing, with no statement in the message', async () => {
    let unusable = 0;
    const lost = open({ schema: 'nowhere', onUnusable: () => void unusable++ });
    const error: unknown = await lost.read('000001').catch((reason: unknown) => reason);
    expect((error as Error).message)
      .to.match(/tables are missing/)
      .and.not.match(/select/);
    expect(unusable).to.equal(1);
    await lost.close(0);
    const closed: unknown = await lost.read('000001').catch((reason: unknown) => reason);
    expect((closed as Error).message).to.match(/is closed/);
  });

  it('finds in all of many rows, in pages, and gives an estimate of what is not counted', async () => {
    await stored(
      store,
      Array.from({ length: 5000 }, (_, number) => itemOf(number, { status: number % 5 === 0 ? 404 : 200 })),
    );
    const rare = await store.find({ url: '/items/17', limit: 2, offset: 1 });
    expect(rare.rows.map(({ url }) => url)).to.deep.equal(['/items/1798', '/items/1797']);
    expect(rare).to.include({ total: 111, totalIsExact: true });
    const many = await store.find({ status: [{ from: 200, to: 200 }], limit: 2, offset: 0 });
    expect(many.totalIsExact).to.equal(false);
    expect(many.total).to.be.within(3900, 4100);
    const all = await store.find({ limit: 2, offset: 4999 });
    expect(all.rows.map(({ token }) => token)).to.deep.equal(['000000']);
    expect(all).to.include({ total: 5000, totalIsExact: true });
    let counted = 0;
    for await (const rows of store.rows(0)) counted += rows.length;
    expect(counted).to.equal(5000);
  });

  describe('deleting', () => {
    const now = Date.now();
    const old = { startedAt: now - 6 * HOUR };

    it('keeps the newest of each kind', async () => {
      await stored(store, [
        ...[1, 2, 3, 4].map((number) => itemOf(number)),
        itemOf(5, { kind: 'error_page', parent: '000001' }),
        itemOf(6, { kind: 'profiler' }),
        itemOf(7, { kind: 'profiler' }),
        itemOf(8, { summary: 'limit' }),
        itemOf(9, { summary: 'limit' }),
      ]);
      const limits = { ...NO_LIMITS, count: 3, profilerCount: 1, summaryCount: 1 };
      expect(await store.purge({ ...limits, exceptions: { ...NO_LIMITS.exceptions, count: 0 } })).to.equal(4);
      const { rows } = await store.find({
        kinds: ['request', 'profiler', 'error_page'],
        limit: 100,
        offset: 0,
      });
      expect(rows.map(({ token }) => token)).to.deep.equal([
        '000009',
        '000007',
        '000004',
        '000003',
        '000002',
      ]);
    });

    it('keeps texts within the bytes', async () => {
      const text = 'x'.repeat(1000);
      await stored(
        store,
        [1, 2, 3].map((number) => ({ ...itemOf(number), text })),
      );
      const limits = { ...NO_LIMITS, exceptions: { ...NO_LIMITS.exceptions, count: 0 } };
      expect(await store.purge({ ...limits, bytes: 3000 })).to.equal(0);
      expect(await store.purge({ ...limits, bytes: 2500 })).to.equal(1);
      expect(await tokens()).to.deep.equal(['000003', '000002']);
    });

    it('keeps the pinned, the failed and the slowest of each route longer, with their error pages', async () => {
      await stored(store, [
        itemOf(1, { ...old, durationMs: 5 }),
        itemOf(2, { ...old, durationMs: 500 }),
        itemOf(3, { ...old, status: 500 }),
        itemOf(4, { ...old, kind: 'error_page', parent: '000003' }),
        itemOf(5, old),
        itemOf(6, { ...old, route: '/other', durationMs: 1 }),
      ]);
      await store.keep('000005', true);
      const limits = { ...NO_LIMITS, maxAgeMs: 4 * HOUR };
      expect(await store.purge(limits)).to.equal(1);
      expect(await tokens()).to.have.members(['000002', '000003', '000005', '000006']);
      expect(await store.read('000004')).to.not.equal(null);
      expect(await store.purge(limits)).to.equal(0);
      const none = { ...limits, exceptions: { ...limits.exceptions, maxAgeMs: 0 } };
      expect(await store.purge(none)).to.equal(4);
      expect(await tokens()).to.deep.equal(['000005']);
    });

    it('deletes nothing that is young by the clock of the database', async () => {
      await stored(store, [itemOf(1, { startedAt: now })]);
      const day = 24 * HOUR;
      const { now: clock } = Date;
      try {
        Date.now = () => clock() + 20 * 365 * day;
        await store.purge({ ...NO_LIMITS, maxAgeMs: day });
      } finally {
        Date.now = clock;
      }
      expect(await store.read('000001')).to.not.equal(null);
    });

    it('deletes nothing that is young by a clock before 1970', async () => {
      await stored(store, [itemOf(1, { startedAt: -HOUR })]);
      const { now: clock } = Date;
      try {
        Date.now = () => 0;
        await store.purge({ ...NO_LIMITS, maxAgeMs: 24 * HOUR });
      } finally {
        Date.now = clock;
      }
      expect(await store.read('000001')).to.not.equal(null);
    });

    it('leaves it to another process that is at it', async () => {
      const limits = { ...NO_LIMITS, count: 0, exceptions: { ...NO_LIMITS.exceptions, count: 0 } };
      await stored(store, [itemOf(1)]);
      await knex.transaction(async (trx) => {
        await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`hindsight purge ${SCHEMA}`]);
        expect(await store.purge(limits)).to.equal(0);
      });
      expect(await store.purge(limits)).to.equal(1);
    });

    it('never meets writers in a deadlock', async () => {
      const writers = Array.from({ length: 3 }, async (_, worker) => {
        const own = open();
        for (let round = 0; round < 10; round++) {
          const numbers = Array.from(
            { length: 60 },
            (__, i) => 1 + ((round * 37 + i * 7 + worker * 11) % 400),
          );
          await stored(
            own,
            numbers.map((number) => itemOf(number)),
          );
          await own.amend((1 + round).toString(16).padStart(6, '0'), 'late', String(round));
        }
      });
      const limits = { ...NO_LIMITS, count: 50, exceptions: { ...NO_LIMITS.exceptions, count: 0 } };
      const purges = Array.from({ length: 10 }, () => store.purge(limits));
      await Promise.all([...writers, ...purges]);
      await store.purge(limits);
      expect(await tokens()).to.have.length(50);
    });

    it('lets go of blocks of tokens and shared texts that nothing stored needs', async () => {
      await stored(store, [itemOf(0x0ab123, { startedAt: now })]);
      for (const name of ['tokens-0ab', 'tokens-0ac', 'tokens-0ad', 'part-a', 'paused'])
        await store.setting(name, 'x');
      const written = (names: readonly string[], hours: number): Promise<unknown> =>
        knex
          .withSchema(SCHEMA)
          .from('hindsight_settings')
          .whereIn('name', names)
          .update({ written_at: now - hours * HOUR });
      await written(['tokens-0ab', 'tokens-0ac', 'part-a', 'paused'], 3);
      await store.purge(NO_LIMITS);
      expect(
        await knex.withSchema(SCHEMA).from('hindsight_settings').orderBy('name').pluck('name'),
      ).to.deep.equal(['paused', 'tokens-0ab', 'tokens-0ad']);
    });
  });
});

describe('the store in a PostgreSQL that goes away', () => {
  const server = withOwnPostgres();
  const opened: Store[] = [];

  before(() => runProfilerMigrationsAt({ ...server().connection }, SCHEMA));
  afterEach(() => Promise.all(opened.splice(0).map((made) => made.close())));

  function open(settings: Partial<PostgresStoreSettings> = {}): Store {
    const made = createTestStore(server().connection, { schema: SCHEMA, ...settings });
    opened.push(made);
    return made;
  }

  it('keeps what comes meanwhile, shows it, and stores it when it is back', async () => {
    const store = open();
    await stored(store, [itemOf(1)]);
    await server().halt();
    const later = stored(store, [itemOf(2)]);
    await until(() => store.state.failing, 'it is noticed');
    expect((await store.read('000002'))?.text).to.equal(itemOf(2).text);
    const error: unknown = await store.find({ limit: 1, offset: 0 }).catch((reason: unknown) => reason);
    expect(error).to.include({ code: 'STORAGE_UNAVAILABLE' });
    await server().resume();
    expect(await later).to.deep.equal([null]);
    expect((await store.find({ limit: 9, offset: 0 })).total).to.equal(2);
  });

  it('hands on what it can not store, and takes it back', async () => {
    const handed: StoreItem[] = [];
    let isBack = true;
    const store = open({
      onUnavailable: (items) => void handed.push(...items),
      onAvailable() {
        isBack = true;
        store.add(handed.splice(0));
      },
    });
    await stored(store, [itemOf(11)]);
    isBack = false;
    await server().halt();
    const later = stored(store, [itemOf(12)]);
    await until(() => handed.length === 1, 'the first is handed on');
    expect(store.state).to.include({ pending: 0, failing: true });
    expect((await store.read('00000c'))?.text).to.equal(itemOf(12).text);
    store.add([itemOf(13)]);
    expect(handed).to.have.length(2);
    await server().resume();
    await until(() => isBack, 'it is noticed that the database is back');
    expect(await later).to.deep.equal([null]);
    await store.amend('00000d', 'late', '1');
    expect((await store.read('00000d'))?.amendments).to.deep.equal({ late: 1 });
  });

  it('hands on what waits at the end', async () => {
    const handed: StoreItem[] = [];
    const store = open({ onUnavailable: (items) => void handed.push(...items) });
    await server().halt();
    store.add([itemOf(21)]);
    store.closeSync?.();
    store.add([itemOf(22)]);
    await store.close(50);
    expect(handed.map(({ row }) => row.token)).to.deep.equal(['000015', '000016']);
    await server().resume();
  });
});
