import { expect } from 'chai';
import type { Knex } from 'knex';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { pgPatch } from '../../app/observe/channels/pg.ts';
import { observeDriver } from '../../app/observe/databases/drivers.ts';
import { observeKnex } from '../../app/observe/databases/knex.ts';
import { watchLibraries } from '../../app/observe/libraries.ts';
import { pgDriver } from '../../app/observe/databases/pg.ts';
import { createQueryRecorder } from '../../app/observe/databases/queries.ts';
import type { QueryFact } from '../../app/observe/databases/query-fact.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { openKnex, withPostgres } from '../support/postgres.ts';

const HERE = /^test\/observe\/knex\.test\.ts:\d+$/;

function newContext(id = 0): Context {
  return new Context({ token: id.toString(16).padStart(6, '0'), kind: 'request' });
}

/** Recorded by its driver, or if that is not observed, as in a bundle, by the observer of Knex. */
for (const hasDriver of [true, false])
  describe(`queries of Knex ${hasDriver ? 'with' : 'without'} its driver`, () => {
    const server = withPostgres();
    const tracker = new ContextTracker();
    const findCaller = createCallerFinder();
    const queries = createQueryRecorder({ tracker, findCaller });
    let driver: { close(): void }[] = [];
    let knex: Knex;
    let observation: { close(): void };
    /** Of the prototype that all instances share, before we observe: another file of this process may have left its own. */
    let methodsBefore: string[];

    before(async () => {
      if (hasDriver) driver = [watchLibraries([pgPatch]), observeDriver(pgDriver, { tracker, queries })];
      knex = openKnex(server().connection, { pool: { min: 0, max: 3 } });
      await knex.raw('create table things (id int primary key, name text)');
      await knex('things').insert([1, 2, 3].map((id) => ({ id, name: `thing ${id}` })));
    });
    after(() => {
      for (const one of driver) one.close();
      return knex?.destroy();
    });
    beforeEach(() => {
      methodsBefore = Object.getOwnPropertyNames(Object.getPrototypeOf(knex.client));
      observation = observeKnex(knex, { tracker, queries, findCaller });
    });
    afterEach(() => {
      observation.close();
    });

    async function observed(work: () => PromiseLike<unknown>): Promise<readonly QueryFact[]> {
      const context = newContext();
      // A builder does nothing before it is awaited: that has to happen inside.
      await tracker.run(context, async () => {
        await work();
      });
      return context.all('query');
    }

    it('tells the error of the database without the values of the statement', async () => {
      const [query] = await observed(() =>
        knex('things')
          .insert({ id: 1, name: 'hunter2-secret' })
          .catch(() => undefined),
      );
      expect(query?.error).to.contain('duplicate key value violates unique constraint');
      expect(query?.error).not.to.contain('hunter2');
      expect(query?.durationMs).to.be.greaterThan(0);
    });

    it('shows transactions with begin, savepoint and commit under one name', async () => {
      const queries = await observed(() =>
        knex.transaction(async (trx) => {
          await trx('things').first();
          await trx.transaction(async (inner) => {
            await inner('things').first();
          });
        }),
      );
      expect(queries.map(({ sql }) => sql.split(' ')[0])).to.deep.equal([
        'BEGIN;',
        'select',
        'SAVEPOINT',
        'select',
        'RELEASE',
        'COMMIT;',
      ]);
      expect(new Set(queries.map(({ transaction }) => transaction)).size).to.equal(1);
      expect(queries[0]?.transaction).to.match(/^trx/);
      for (const { durationMs } of queries) expect(durationMs).to.be.a('number');
      expect(await observed(() => knex.raw('select 1'))).to.have.nested.property('[0].transaction', null);
    });

    it('follows copies made for user parameters, and their transactions', async () => {
      const copy = knex.withUserParams({ tenant: 'a' });
      const queries = await observed(async () => {
        await copy('things').first();
        await copy.transaction((trx) => trx('things').first());
      });
      expect(queries).to.have.length(4);
    });

    it('records a pool that has no connection to give', async () => {
      const small = openKnex(server().connection, { pool: { min: 0, max: 1 }, acquireConnectionTimeout: 60 });
      const watching = observeKnex(small, { tracker, queries, findCaller, instance: 'small' });
      (small.client as { logger: { warn: () => void } }).logger.warn = () => undefined;
      try {
        const queries = await observed(() =>
          Promise.allSettled([small.raw('select pg_sleep(0.2)'), small.raw('select 2')]),
        );
        const refused = queries.find(({ error }) => error !== null);
        expect(refused).to.include({ sql: '', instance: 'small' });
        expect(refused?.caller).to.match(HERE);
        expect(refused?.error).to.contain('Timeout acquiring a connection');
        expect(refused?.waitMs).to.be.greaterThan(40);
      } finally {
        watching.close();
        await small.destroy();
      }
    });

    it('leaves other instances, code outside of requests, and everything after close alone', async () => {
      const other = openKnex(server().connection);
      const prototype = Object.getPrototypeOf(knex.client) as object;
      expect(Object.getOwnPropertyNames(prototype)).to.include('runner');
      try {
        const byDriver = hasDriver ? ['select 1'] : [];
        const selected = async (one: Knex): Promise<string[]> => {
          const all = await observed(() => one.raw('select 1'));
          return all.map(({ sql }) => sql).filter((sql) => sql === 'select 1');
        };
        expect(await selected(other)).to.deep.equal(byDriver);
        await knex.raw('select 1');
        expect(await observed(() => tracker.unobserved(() => knex('things').first().then()))).to.have.length(
          0,
        );
        observation.close();
        expect(await selected(knex)).to.deep.equal(byDriver);
        expect(Object.getOwnPropertyNames(prototype)).to.have.members(methodsBefore);
      } finally {
        await other.destroy();
      }
    });
  });
