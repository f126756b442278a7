/** Partitions by time: made when needed, searched by, dropped by retention. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Knex } from 'knex';
import { runProfilerMigrations } from '../../app/database/run-migrations.ts';
import type { ProfileStorage } from '../../app/profiler/storage.ts';
import { up as createFirstTable } from '../../migrations/profiler/20261120000000_profiles.ts';
import { createPool } from '../../app/storage/pool.ts';
import type { StorageSettings } from '../../app/storage/postgres-profile-storage.ts';
import { gapAround, listPartitions, type Partition } from '../../app/storage/partitions.ts';
import pg from 'pg';
import { openKnex, withPostgres } from '../support/postgres.ts';
import { profileOf } from './contract.ts';
import { createStorageInProcess } from './in-process.ts';

const HOUR = 3_600_000;
const LONGEST_TEST = 5000;
const everything = { olderThan: 0, count: 1e6, bytes: 1e12, profilerCount: 1e6 };
const keepExceptions = { olderThan: 0, count: 100 };

describe('partitions of profiles', () => {
  const server = withPostgres();
  let thisHour: number;
  let knex: Knex;
  let pool: pg.Pool;
  const opened: ProfileStorage[] = [];
  let storage: ProfileStorage;
  let schema: string;
  let number = 0;

  before(() => {
    knex = openKnex(server().connection);
    pool = createPool(pg.Pool, { ...server().connection });
  });
  after(() => Promise.all([knex?.destroy(), pool?.end()]));
  afterEach(() => Promise.all(opened.splice(0).map((made) => made.close())));
  beforeEach(async () => {
    // No test may begin in one hour and end in the next.
    const left = HOUR - (Date.now() % HOUR);
    if (left < LONGEST_TEST) await sleep(left);
    thisHour = Math.floor(Date.now() / HOUR) * HOUR;
    schema = `parts ${++number}`;
    await runProfilerMigrations({ knex, schema });
    storage = open();
  });

  function open(settings: Omit<StorageSettings, 'schema'> = {}): ProfileStorage {
    const made = createStorageInProcess(server().connection, { ...settings, schema });
    opened.push(made);
    return made;
  }

  const partitions = (): Promise<Partition[]> => listPartitions(pool, schema);
  const at = (hoursAgo: number): { startedAt: number } => ({ startedAt: thisHour - hoursAgo * HOUR + 5 });
  async function tokens(): Promise<string[]> {
    const { rows } = await storage.find({ limit: 100, offset: 0 });
    return rows.map(({ token }) => token);
  }

  it('are made for what is written, and ahead', async () => {
    await storage.write([profileOf(1, at(0)), profileOf(2, at(2)), profileOf(3)]);
    expect((await partitions()).map(({ from }) => from)).to.deep.equal([thisHour - 2 * HOUR, thisHour]);
    await storage.purge(everything);
    expect((await partitions()).at(-1)?.from).to.equal(thisHour + HOUR);
    expect(await tokens()).to.deep.equal(['000001', '000002', '000003']);
  });

  it('take in what the net had of their time', async () => {
    // No partition can have such a width: all goes into the net.
    const net = open({ partitionMs: 0.1 });
    await net.write([profileOf(1, at(0))]);
    await storage.write([profileOf(2, at(0))]);
    expect(await partitions()).to.have.length(1);
    expect(await tokens()).to.have.members(['000001', '000002']);
  });

  it('take over what a release without partitions has stored', async () => {
    const profiles = [profileOf(1, at(0)), profileOf(2, at(500)), profileOf(3, { parent: '000002' })];
    await storage.write(profiles);
    const current = schema;
    schema = `${current} first`;
    await knex.raw('create schema ??', [schema]);
    await createFirstTable(knex, { schema });
    const columns = Object.keys(await knex.withSchema(schema).from('hindsight_profiles').columnInfo());
    await knex.raw(
      `insert into ??.hindsight_profiles (${columns.join(', ')}) select ${columns.join(', ')} from ??.hindsight_profiles`,
      [schema, current],
    );
    await knex.raw('create table ??.hindsight_migrations (like ??.hindsight_migrations including all)', [
      schema,
      current,
    ]);
    const names: string[] = await knex
      .withSchema(current)
      .from('hindsight_migrations')
      .orderBy('id')
      .pluck('name');
    await knex.withSchema(schema).from('hindsight_migrations').insert({ name: names[0], batch: 1 });

    expect((await runProfilerMigrations({ knex, schema })).executed).to.deep.equal(names.slice(1));
    const migrated = open();
    await migrated.write([profileOf(4, at(0))]);
    const { rows } = await migrated.find({ limit: 100, offset: 0 });
    expect(rows.map(({ token }) => token)).to.have.members(['000001', '000002', '000003', '000004']);
    for (const { index, document } of profiles)
      expect((await migrated.read(index.token))?.document).to.equal(document);
    expect((await partitions()).map(({ from }) => from)).to.deep.equal([thisHour]);
  });

  it('fill gaps without overlapping', () => {
    const others = [
      { name: 'a', from: 0, until: 15 },
      { name: 'b', from: 18, until: 40 },
    ];
    expect(gapAround(16, 10, others)).to.include({ from: 15, until: 18 });
    expect(gapAround(20, 10, others)).to.equal(null);
    expect(gapAround(45, 10, others)).to.include({ from: 40, until: 50 });
  });

  it('find a clash of tokens in another partition', async () => {
    await storage.write([profileOf(1, at(0))]);
    const clashes: string[] = [];
    const other = open({ onClash: (all) => clashes.push(...all) });
    await other.write([profileOf(1, at(3))]);
    expect(clashes).to.deep.equal(['000001']);
    const { rows } = await storage.find({ token: '000001', limit: 1, offset: 0 });
    expect(rows[0]?.startedAt).to.equal(at(0).startedAt);
  });

  it('go as a whole when they are too old, with what is beside their profiles', async () => {
    await storage.write([profileOf(1, at(0)), profileOf(2, at(5)), profileOf(3, at(6))]);
    await storage.amend('000003', 'timing', 1);
    expect(await storage.purge({ ...everything, olderThan: thisHour - 4 * HOUR })).to.equal(2);
    expect(await tokens()).to.deep.equal(['000001']);
    expect((await partitions()).map(({ from }) => from)).to.deep.equal([thisHour, thisHour + HOUR]);
    expect(await knex.withSchema(schema).from('hindsight_amendments')).to.deep.equal([]);
  });

  it('let the pinned, the failed and the slowest of each route survive, with their children', async () => {
    await storage.write([
      profileOf(1, { ...at(6), durationMs: 5 }),
      profileOf(2, { ...at(6), durationMs: 500 }),
      profileOf(3, { ...at(6), status: 500 }),
      profileOf(4, { ...at(6), kind: 'error_page', parent: '000003' }),
      profileOf(5, at(6)),
      profileOf(6, { ...at(6), route: '/other', durationMs: 1 }),
    ]);
    await storage.amend('000005', 'pin', true);
    const limits = { ...everything, olderThan: thisHour - 4 * HOUR, keepExceptions };
    expect(await storage.purge(limits)).to.equal(1);
    expect(await tokens()).to.have.members(['000002', '000003', '000005', '000006']);
    expect(await storage.read('000004')).to.not.equal(null);
    expect((await storage.read('000005'))?.amendments).to.deep.equal({ pin: true });
    expect(await storage.purge(limits)).to.equal(0);
    expect(await storage.purge({ ...limits, keepExceptions: { olderThan: thisHour, count: 100 } })).to.equal(
      4,
    );
    expect(await tokens()).to.deep.equal(['000005']);
    expect(await storage.purge({ ...limits, keepExceptions: { olderThan: 0, count: 0 } })).to.equal(1);
  });

  it('let only the oldest go when there are too many profiles, or too many bytes', async () => {
    const family = (hour: number): ReturnType<typeof profileOf>[] =>
      [0, 1, 2].map((i) => profileOf(hour * 16 + i, { startedAt: at(hour).startedAt + 10 - i, bytes: 1000 }));
    await storage.write([1, 2, 3, 4].flatMap(family));
    expect(await storage.purge({ ...everything, count: 7 })).to.equal(5);
    expect(await tokens()).to.deep.equal([
      '000010',
      '000011',
      '000012',
      '000020',
      '000021',
      '000022',
      '000030',
    ]);
    expect(await storage.purge({ ...everything, bytes: 4000 })).to.equal(3);
    expect(await tokens()).to.deep.equal(['000010', '000011', '000012', '000020']);
  });

  it('are counted once when their time is over, for all processes, and again when rows went', async () => {
    const family = (hour: number): ReturnType<typeof profileOf>[] =>
      [0, 1, 2].map((i) => profileOf(hour * 16 + i, { startedAt: at(hour).startedAt + 10 - i, bytes: 1000 }));
    const sizes = async (): Promise<unknown[]> => (await partitions()).slice(0, 3).map(({ size }) => size);
    await storage.write([2, 3, 4].flatMap(family));
    expect(await sizes()).to.deep.equal([undefined, undefined, undefined]);
    await storage.purge(everything);
    const whole = { requests: 3, bytes: 3000 };
    expect(await sizes()).to.deep.equal([whole, whole, whole]);
    const other = open();
    expect(await other.purge({ ...everything, count: 7 })).to.equal(2);
    expect(await sizes()).to.deep.equal([{ requests: 1, bytes: 1000 }, whole, whole]);
    expect(await storage.purge({ ...everything, count: 7, bytes: 6000 })).to.equal(1);
    expect(await tokens()).to.have.length(6);
  });

  it('never lose a pinned profile to those that came later', async () => {
    await storage.write([1, 2, 3, 4].map((n) => profileOf(n, { startedAt: at(0).startedAt + n })));
    await storage.amend('000001', 'pin', true);
    expect(await storage.purge({ ...everything, count: 2, keepExceptions })).to.equal(1);
    expect(await tokens()).to.deep.equal(['000004', '000003', '000001']);
    expect(await storage.purge({ ...everything, count: 2, bytes: 0, keepExceptions })).to.equal(2);
    expect(await tokens()).to.deep.equal(['000001']);
  });

  it('may be purged by several processes at once, while others write and search', async () => {
    const profiles = Array.from({ length: 120 }, (_, i) => profileOf(i, at(i % 12)));
    await storage.write(profiles);
    const limits = { ...everything, olderThan: thisHour - 4 * HOUR, keepExceptions };
    const others = [1, 2, 3].map(() => open());
    await Promise.all([
      ...others.map((other) => other.purge(limits)),
      ...[200, 201, 202].map((n) => storage.write([profileOf(n, at(n % 2))])),
      tokens(),
    ]);
    await storage.purge(limits);
    // Five hours are young enough, of the seven others the slowest survive.
    expect(await tokens()).to.have.length(50 + 7 + 3);
  });

  it('give an estimate where counting would cost too much, and say so', async () => {
    await knex.raw(
      `insert into ??.hindsight_profiles (token, kind, state, method, url, client_address, started_at, process, queries, findings, bytes, document)
       select lpad(to_hex(i), 6, '0'), 'request', 'final', 'GET', '/', '::1', i, 'p', 0, 0, 1, '{}' from generate_series(1, 30000) as i`,
      [schema],
    );
    await knex.raw('analyze ??.hindsight_profiles_default', [schema]);
    const { total, totalIsExact } = await storage.find({ limit: 10, offset: 0 });
    expect(totalIsExact).to.equal(false);
    expect(total).to.be.within(20_000, 40_000);
    expect(await storage.find({ limit: 10, offset: 0, until: 1500 })).to.include({
      total: 1499,
      totalIsExact: true,
    });
  });

  it('give the newest page from the newest of them, and what it lacks from the others', async () => {
    const hours = [0, 0, 1, 3, 7, 7];
    await storage.write(hours.map((hour, i) => profileOf(i, { startedAt: at(hour).startedAt - i })));
    const all = hours.map((_, i) => profileOf(i).index.token);
    const find = (query: object): ReturnType<ProfileStorage['find']> =>
      storage.find({ limit: 100, offset: 0, ...query });
    for (const [limit, offset] of [
      [2, 0],
      [3, 0],
      [5, 0],
      [2, 1],
      [2, 2],
      [4, 3],
    ] as const) {
      const { rows, total } = await find({ limit, offset });
      expect(rows.map(({ token }) => token)).to.deep.equal(all.slice(offset, offset + limit));
      expect(total).to.equal(6);
    }
    expect((await find({ until: at(1).startedAt - 100 })).rows).to.have.length(3);
    expect((await find({ from: at(5).startedAt })).rows).to.have.length(4);
    expect(await find({ limit: 2, offset: 50 })).to.deep.equal({ rows: [], total: 6, totalIsExact: true });
  });

  it('keep the URL in the row, beside the document', async () => {
    const long = (): string => randomBytes(3000).toString('hex');
    const url = `/${randomBytes(75).toString('hex')}`;
    await storage.write([1, 2].map((n) => profileOf(n, { ...at(0), url }, long())));
    const [partition] = await partitions();
    const toast = await knex.raw<{ rows: { name: string }[] }>(
      `select reltoastrelid::regclass as name from pg_class where relname = ? and relnamespace = ?::regnamespace`,
      [partition?.name ?? '', `"${schema}"`],
    );
    const { rows } = await knex.raw<{ rows: { values: number }[] }>(
      `select count(distinct chunk_id)::int as values from ${toast.rows[0]?.name ?? ''}`,
    );
    expect(rows[0]?.values).to.equal(2);
  });
});
