/**
 * The profiler's tables and SQL against what Citus refuses of a table that is distributed by token, as docs/scaling.md lays it out. The
 * statements are those that the server got, by pg_stat_statements.
 */
import { expect } from 'chai';
import type { Knex } from 'knex';
import pg from 'pg';
import { runProfilerMigrations } from '../../app/database/run-migrations.ts';
import type { ProfileStorage } from '../../app/profiler/storage.ts';
import { type Client, createPool, type Pool } from '../../app/storage/pool.ts';
import { findProfiles } from '../../app/storage/postgres-find.ts';
import type { StorageSettings } from '../../app/storage/postgres-profile-storage.ts';
import { createReader } from '../../app/storage/postgres-read.ts';
import { citusLayouts } from '../support/citus-layouts.ts';
import { needPostgres, type PostgresServer, openKnex, startPostgres } from '../support/postgres.ts';
import { describeStorageContract, profileOf } from './contract.ts';
import { createStorageInProcess, emptyTables } from './in-process.ts';

const SCHEMA = 'spread';
const ROLE = 'profiler';
const HOUR = 3_600_000;
const everything = { olderThan: 0, count: 1e6, bytes: 1e12, profilerCount: 1e6 };

/** Each was seen to fail, or is on Citus' list of what it does not support. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'a recursive query': /\bwith recursive\b/i,
  'grouping sets': /\b(grouping sets|cube|rollup)\s*\(/i,
  tablesample: /\btablesample\b/i,
  'a temporary table': /\bcreate (temp|temporary)\b/i,
  // The shared parts have one shard.
  'a row lock over several shards': /^(?![\s\S]*hindsight_shared)[\s\S]*\bfor (no key )?(update|share)\b/i,
  'a subquery for another column than the token': /(?<!\b(token|id)"?)\s+(not )?in \(\s*(select|with)\b/i,
  'a changed token': /\bupdate\b[\s\S]*\bset token\b/i,
  'a key without the token': /hindsight_(profiles|amendments)[\s\S]*\bon conflict \((?!token\b)/i,
  'a lock on a distributed table': /\block table\b/i,
};

interface Ran {
  query: string;
}

describe('tables distributed by token', () => {
  let server: PostgresServer;
  let knex: Knex;
  const opened: ProfileStorage[] = [];

  before(async function () {
    await needPostgres(this);
    server = await startPostgres(['shared_preload_libraries=pg_stat_statements']);
    knex = openKnex(server.connection);
    await knex.raw('create extension pg_stat_statements');
    await knex.raw(`create role ${ROLE} superuser login`);
    await runProfilerMigrations({ knex, schema: SCHEMA });
  });
  after(async () => {
    await knex?.destroy();
    await server?.stop();
  });
  beforeEach(() => emptyTables(knex, SCHEMA));
  afterEach(() => Promise.all(opened.splice(0).map((storage) => storage.close())));

  function create(settings: Partial<StorageSettings> = {}): ProfileStorage {
    return createStorageInProcess({ ...server.connection, user: ROLE }, { schema: SCHEMA, ...settings });
  }
  function open(): ProfileStorage {
    const storage = create();
    opened.push(storage);
    return storage;
  }

  it('are those that the documentation names, each with the column by which it is distributed', async () => {
    const statements = citusLayouts.rows(SCHEMA).join('\n');
    const distributed = Array.from(
      statements.matchAll(/create_distributed_table\('(\w+)\.(\w+)', '(\w+)'/g),
      ([, schema, table, column]) => ({ schema, table, column }),
    );
    expect(distributed.map(({ table }) => table)).to.deep.equal([
      'hindsight_profiles',
      'hindsight_amendments',
    ]);
    for (const { schema, table, column } of distributed) {
      const columns = await knex('information_schema.columns')
        .where({ table_schema: schema, table_name: table })
        .select<{ column_name: string; column_default: string | null }[]>('column_name', 'column_default');
      expect(columns.map(({ column_name }) => column_name)).to.include(column);
      expect(columns.filter(({ column_default }) => column_default !== null)).to.deep.equal([]);
    }
    expect(statements).to.include(`create_reference_table('${SCHEMA}.hindsight_shared')`);
  });

  it('have no key without the token, no foreign key, no trigger and no rule', async () => {
    const keys = await knex('pg_indexes')
      .where({ schemaname: SCHEMA })
      .whereRaw(`tablename ~ '^hindsight_(profiles|amendments)' and indexdef ~ 'UNIQUE'`)
      .pluck<string[]>('indexdef');
    expect(keys).to.not.be.empty;
    expect(keys.filter((definition) => !/\(token\b/.test(definition))).to.deep.equal([]);
    const constraints = await knex('pg_constraint')
      .whereRaw(`connamespace = '${SCHEMA}'::regnamespace and contype not in ('p', 'u', 'n')`)
      .pluck('conname');
    const triggers = await knex('pg_trigger')
      .join('pg_class', 'pg_class.oid', 'tgrelid')
      .whereRaw(`relnamespace = '${SCHEMA}'::regnamespace and not tgisinternal`)
      .pluck('tgname');
    const rules = await knex('pg_rules').where({ schemaname: SCHEMA }).pluck('rulename');
    expect([constraints, triggers, rules]).to.deep.equal([[], [], []]);
  });

  describe('and their statements', () => {
    describeStorageContract({ isEmptied: true, create: (onClash) => Promise.resolve(create({ onClash })) });

    it('include those of partitions, which come and go', async () => {
      const storage = open();
      const now = Date.now();
      await storage.write([profileOf(1, { startedAt: now }), profileOf(2, { startedAt: now - 9 * HOUR })]);
      const keepExceptions = { olderThan: 0, count: 10 };
      const limits = { ...everything, olderThan: now - 4 * HOUR };
      await storage.amend('000001', 'pin', true);
      expect(await storage.purge({ ...limits, keepExceptions })).to.equal(0);
      expect(await storage.purge(limits)).to.equal(1);
      expect(await storage.leasedUntil?.()).to.be.a('number');
      expect(await storage.leaseTokens?.()).to.include({ count: 256 });
    });

    it('hold nothing that Citus refuses', async () => {
      const { rows } = await knex.raw<{ rows: Ran[] }>(
        `select query from pg_stat_statements where userid = '${ROLE}'::regrole`,
      );
      const statements = rows.map(({ query }) => query);
      for (const expected of [
        /^copy .*hindsight_profiles/i,
        /detach partition/i,
        /attach partition/i,
        /nextval/,
        /skip locked/,
      ])
        expect(
          statements.some((query) => expected.test(query)),
          String(expected),
        ).to.equal(true);
      const refused = Object.entries(REFUSED).flatMap(([what, pattern]) =>
        statements.filter((query) => pattern.test(query)).map((query) => `${what}: ${query}`),
      );
      expect(refused).to.deep.equal([]);
    });
  });

  describe('on a server that behaves like Citus', () => {
    let pool: Pool;
    const asked: string[] = [];

    /** Refuses what is correlated by another column than the token, and has no estimate. */
    function distributing(client: Client): void {
      const query = client.query.bind(client) as (...given: unknown[]) => unknown;
      const refusing = (text: unknown, ...given: unknown[]): unknown => {
        asked.push(String(text));
        const sql = String(text);
        if (sql.includes('row_to_json(found)'))
          return query(
            `do $$ begin raise exception 'complex joins' using errcode = '0A000'; end $$`,
            given.at(-1),
          );
        if (sql.startsWith('explain'))
          return Promise.resolve({
            rows: [{ 'QUERY PLAN': [{ Plan: { 'Node Type': 'Custom Scan', 'Plan Rows': 100_000 } }] }],
          });
        return query(text, ...given);
      };
      client.query = refusing as typeof client.query;
    }

    before(() => {
      pool = createPool(pg.Pool, { ...server.connection });
      pool.on('connect', distributing);
    });
    after(() => pool.end());
    beforeEach(async () => {
      await open().write([1, 2, 3, 4].map((number) => profileOf(number)));
    });

    it('a profile is read with the usual times of its route, which take a statement of their own', async () => {
      const read = createReader(SCHEMA);
      const usual = await open().read('000003', { routePercentiles: true });
      expect(usual?.routePercentiles).to.include({ count: 2 });
      for (let times = 0; times < 2; times++)
        expect(await read(pool, '000003', { routePercentiles: true })).to.deep.equal(usual);
      expect(asked.filter((sql) => sql.includes('row_to_json'))).to.have.lengthOf(1);
      expect(await read(pool, '00000f', { routePercentiles: true })).to.equal(null);
    });

    it('a total is counted, not estimated', async () => {
      const options = { schema: SCHEMA, timeoutMs: 5000, partitionMs: HOUR };
      const { total, totalIsExact } = await findProfiles(pool, options, { limit: 3, offset: 0 });
      expect({ total, totalIsExact }).to.deep.equal({ total: 4, totalIsExact: true });
    });
  });
});
