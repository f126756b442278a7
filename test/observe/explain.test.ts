import { expect } from 'chai';
import type { Knex } from 'knex';
import pg from 'pg';
import { createExplainer, type Explainer } from '../../app/observe/databases/explain.ts';
import { pgPatch } from '../../app/observe/channels/pg.ts';
import { observeKnex } from '../../app/observe/databases/knex.ts';
import { watchLibraries } from '../../app/observe/libraries.ts';
import { observeDriver } from '../../app/observe/databases/drivers.ts';
import { pgDriver } from '../../app/observe/databases/pg.ts';
import { createQueryRecorder } from '../../app/observe/databases/queries.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import type { KeptPlans, MissingPlan, QueryPlan } from '../../app/profiler/read/query-plan.ts';
import {
  openKnex,
  type TestServer,
  withDebianPostgres,
  withEmbeddedPostgres,
  withPostgres,
} from '../support/postgres.ts';

let number = 0;

function newContext(): Context {
  return new Context({ token: (++number).toString(16).padStart(6, '0'), kind: 'request' });
}

/** Resolves with the plans of a request, or with null where none came in time. */
interface Kept {
  of(token: string, withinMs?: number): Promise<KeptPlans | null>;
}

function createKept(): Kept & {
  keep: (token: string, plans: KeptPlans) => Promise<void>;
  forget: (token: string) => void;
} {
  const plans = new Map<string, KeptPlans>();
  return {
    keep(token, given) {
      plans.set(token, given);
      return Promise.resolve();
    },
    forget: (token) => void plans.delete(token),
    async of(token, withinMs = 3000) {
      const until = performance.now() + withinMs;
      while (!plans.has(token) && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 20));
      return plans.get(token) ?? null;
    },
  };
}

function first(plans: KeptPlans | null): QueryPlan {
  const plan = plans?.plans[0];
  if (plan === undefined || 'problem' in plan) throw new Error(`There is no plan: ${JSON.stringify(plans)}`);
  return plan;
}

function describeExplain(name: string, withServer: () => () => TestServer): void {
  describe(`plans of slow statements, on ${name}`, () => {
    const server = withServer();
    const tracker = new ContextTracker();
    let knex: Knex;
    let explainer: Explainer;
    let kept: ReturnType<typeof createKept>;
    let observation: { close(): void };

    before(async () => {
      knex = openKnex(server().connection, { pool: { min: 0, max: 4 } });
      await knex.raw('create table explained (id int primary key, owner int, name text, price numeric)');
      await knex.raw(
        `insert into explained select i, i % 900, 'name ' || i, i from generate_series(1, 20000) as i`,
      );
      await knex.raw('analyze explained');
    });
    after(() => knex?.destroy());
    function observe(overMs: number): void {
      kept = createKept();
      explainer = createExplainer({
        overMs,
        mask: (_context, plans) => plans,
        store: kept.keep,
        unobserved: (work) => tracker.unobserved(work),
      });
      observation = observeKnex(knex, {
        tracker,
        queries: createQueryRecorder({ tracker, explainer }),
        explainer,
      });
    }
    function close(): void {
      explainer.close();
      observation.close();
    }
    beforeEach(() => observe(0.000_1));
    afterEach(close);

    async function ran(work: () => PromiseLike<unknown>): Promise<Context> {
      const context = newContext();
      await tracker.run(context, async () => {
        await work();
      });
      context.end();
      context.onStored?.(context);
      return context;
    }

    it('plans what the application ran, and tells the size of the table', async () => {
      const context = await ran(() => knex('explained').where({ owner: 17 }).select('id'));
      const plan = first(await kept.of(context.token));
      expect(plan.query).to.equal(0);
      expect(plan.root).to.include({ type: 'Seq Scan', relation: 'public.explained' });
      expect(plan.root.terms?.Filter).to.equal('(owner = $1)');
      expect(plan.tables['public.explained']).to.equal(20_000);
      expect(plan.root.rows).to.be.within(1, 200);
    });

    it('plans no statement that was quicker than the limit', async () => {
      close();
      observe(60_000);
      const context = await ran(() => knex('explained').where({ owner: 17 }).select('id'));
      expect(await kept.of(context.token, 200)).to.equal(null);
    });

    it('keeps no value of the statement, whatever its type', async () => {
      const moment = new Date('2026-11-20T18:06:29Z');
      const context = await ran(() =>
        knex.raw(
          `select * from explained where name = ? and price > ? and owner = any(?) and now() > ?::timestamptz and name <> 'own literal' and name like ?`,
          ['secret-value-1', 12.5, [311, 312], moment, 'secret%'],
        ),
      );
      const plan = first(await kept.of(context.token));
      // The moment it was planned at is a number of many digits.
      const text = JSON.stringify({ ...plan, plannedAt: 0 });
      for (const value of ['secret', '12.5', '311', '2026-11', '18:06']) expect(text).not.to.contain(value);
      expect(text).to.contain('(name = $1::text)');
      expect(text).to.contain("'own literal'");
    });

    it('changes nothing, and is not recorded as a query of the application', async () => {
      const context = await ran(() => knex('explained').where({ id: 3 }).update({ name: 'changed' }));
      await ran(() => knex('explained').where({ id: 4 }).delete());
      const plan = first(await kept.of(context.token));
      expect(plan.root.type).to.equal('Update');
      expect(context.all('query')).to.have.length(1);
      const rows: unknown = await knex('explained').whereIn('id', [3, 4]).orderBy('id').pluck('name');
      expect(rows).to.deep.equal(['changed']);
      await knex('explained').insert({ id: 4, owner: 4, name: 'name 4', price: 4 });
    });

    it('leaves several statements in one text alone', async () => {
      await knex.raw('create table if not exists side_effects (n int)');
      const text = 'select count(*) from explained; commit; insert into side_effects values (1)';
      const context = await ran(() => knex.raw(text));
      const plans = await kept.of(context.token);
      expect((plans?.plans[0] as MissingPlan).problem).to.match(/may contain several statements/);
      expect(await knex('side_effects').count('* as n').first()).to.deep.equal({ n: '1' });
    });

    it('runs nothing of what it plans: writes below a read, functions, verbs behind comments', async () => {
      await knex.raw('create table if not exists ran_once (n int)');
      await knex.raw('create sequence if not exists ran_sequence');
      await knex.raw(`create or replace function note_run() returns int volatile language sql
        as 'insert into ran_once values (1) returning n'`);
      const texts = [
        'with gone as (insert into ran_once values (2) returning n) select * from gone',
        'select note_run()',
        "select nextval('ran_sequence')",
        '/* select */ -- select\n insert into ran_once values (3)',
        "select pg_advisory_lock(7), set_config('application_name', 'planned', false)",
        '/* a /* b */ select 1 */ insert into ran_once values (4)',
        'select 5 as n into ran_into',
      ];
      for (const text of texts) {
        const context = await ran(() => knex.raw(text));
        await kept.of(context.token, 1500);
      }
      expect(await knex('ran_once').orderBy('n').pluck('n')).to.deep.equal([1, 2, 3, 4]);
      const { rows } = await knex.raw<{ rows: unknown[] }>('select last_value::int as n from ran_sequence');
      expect(rows).to.deep.equal([{ n: 1 }]);
      const left = await knex.raw<{ rows: unknown[] }>(
        "select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = 7",
      );
      expect(left.rows).to.deep.equal([{ n: 1 }]);
      await knex.raw('drop table ran_into');
    });

    it('plans at most three texts of a request, the slowest', async () => {
      const context = await ran(async () => {
        for (let n = 1; n <= 6; n++) await knex.raw(`select ${n} from explained limit ${n}`);
        await knex.raw('select pg_sleep(0.05)');
      });
      const plans = await kept.of(context.token);
      expect(plans?.plans).to.have.length(3);
      expect(plans?.plans.map(({ query }) => query)).to.include(6);
    });

    it('remembers the plan of a text, whoever runs it again', async () => {
      const text = 'select * from explained where owner = ?';
      const one = await ran(() => knex.raw(text, [1]));
      const { plannedAt } = first(await kept.of(one.token));
      await new Promise((resolve) => setTimeout(resolve, 30));
      const two = await ran(() => knex.raw(text, [2]));
      expect(first(await kept.of(two.token)).plannedAt).to.equal(plannedAt);
    });

    it('waits for a transaction that is open when the request ends', async () => {
      const context = newContext();
      const trx = await tracker.run(context, () => knex.transaction());
      await tracker.run(context, async () => {
        await trx('explained').first();
      });
      context.end();
      context.onStored?.(context);
      expect(await kept.of(context.token, 300)).to.equal(null);
      await tracker.run(context, () => trx.commit());
      context.onStored?.(context);
      expect(first(await kept.of(context.token)).root.type).to.equal('Limit');
    });

    it('adds plans of work after the answer to those of before', async () => {
      const context = await ran(() => knex.raw('select 21 from explained'));
      await kept.of(context.token);
      await tracker.run(context, async () => {
        await knex.raw('select 22 from explained');
      });
      kept.forget(context.token);
      context.onStored?.(context);
      const plans = await kept.of(context.token);
      expect(plans?.plans.map(({ query }) => query)).to.deep.equal([0, 1]);
    });

    it('never makes the application wait for the pool', async () => {
      const held = await Promise.all([1, 2, 3].map(() => knex.transaction()));
      const context = await ran(() => knex.raw('select 17 from explained'));
      // One of four is free and no other can be had: the application may want it.
      const plans = await kept.of(context.token, 6000);
      expect((plans?.plans[0] as MissingPlan).problem).to.match(/^No pool connection was idle/);
      await Promise.all(held.map((trx) => trx.rollback()));
    });

    it('gives up on a lock, and says so', async () => {
      const context = await ran(() => knex.raw('select 18 from explained'));
      await kept.of(context.token);
      const holder = await knex.transaction();
      const locked = newContext();
      await tracker.run(locked, async () => {
        await knex.raw('select 19 from explained');
      });
      await holder.raw('lock table explained in access exclusive mode');
      locked.end();
      locked.onStored?.(locked);
      const plans = await kept.of(locked.token);
      await holder.rollback();
      expect((plans?.plans[0] as MissingPlan).problem).to.match(/^EXPLAIN failed: .*lock timeout/);
      expect(await knex('explained').count('* as n').first()).to.deep.equal({ n: '20000' });
    });

    it('plans nothing but reads and changes of rows', async () => {
      const context = await ran(async () => {
        await knex.raw('set application_name = ?'.replace('?', "'x'"));
        await knex.raw('vacuum explained');
        await knex.raw('explain select 1');
      });
      expect(await kept.of(context.token, 200)).to.equal(null);
    });
  });
}

describeExplain('PostgreSQL of Debian', withDebianPostgres);
describeExplain('the embedded PostgreSQL', withEmbeddedPostgres);

describe('plans of slow statements that pg sent', () => {
  const server = withPostgres();
  const tracker = new ContextTracker();
  const kept = createKept();
  let pool: pg.Pool;
  let closing: { close(): void }[] = [];

  before(async () => {
    pool = new pg.Pool({ ...server().connection, max: 2 });
    await pool.query('create table planned (id int primary key, name text)');
    await pool.query("insert into planned select i, 'name ' || i from generate_series(1, 5000) as i");
    await pool.query('analyze planned');
    const explainer = createExplainer({
      overMs: 0.000_1,
      mask: (_context, plans) => plans,
      store: kept.keep,
      unobserved: (work) => tracker.unobserved(work),
    });
    const queries = createQueryRecorder({ tracker, explainer });
    const observer = observeDriver(pgDriver, { tracker, queries, explainer });
    closing = [watchLibraries([pgPatch]), observer, explainer];
  });
  after(() => {
    for (const one of closing) one.close();
    return pool?.end();
  });

  async function ran(work: () => Promise<unknown>): Promise<Context> {
    const context = newContext();
    await tracker.run(context, async () => {
      await work();
    });
    context.end();
    context.onStored?.(context);
    return context;
  }

  it('are made on its pool, with the values as placeholders, and recorded nowhere', async () => {
    const context = await ran(() => pool.query('select id from planned where name = $1', ['secret name']));
    const plan = first(await kept.of(context.token));
    expect(plan.root).to.include({ type: 'Seq Scan', relation: 'public.planned' });
    expect(plan.root.terms?.Filter).to.equal('(name = $1::text)');
    expect(plan.tables['public.planned']).to.equal(5000);
    expect(context.all('query')).to.have.length(1);
    expect([pool.totalCount, pool.idleCount]).to.deep.equal([1, 1]);
  });

  it('are made for statements of a transaction once it has ended, and change nothing', async () => {
    const context = await ran(async () => {
      const client = await pool.connect();
      await client.query('begin');
      await client.query({ text: 'update planned set name = $1 where id = 3', values: ['changed'] });
      await client.query('end');
      client.release();
    });
    const plan = first(await kept.of(context.token));
    expect(plan.query).to.equal(1);
    expect(plan.root).to.include({ type: 'Update' });
    const { rows } = await pool.query('select name from planned where id = 3');
    expect(rows).to.deep.equal([{ name: 'changed' }]);
  });

  it('do not take the last connection of the pool', async () => {
    const held = await pool.connect();
    const context = await ran(() => pool.query('select count(*) from planned'));
    const plans = await kept.of(context.token, 6000);
    held.release();
    expect((plans?.plans[0] as MissingPlan).problem).to.match(/^No pool connection was idle/);
  });

  it('are not made for a client without a pool', async () => {
    const client = new pg.Client(server().connection);
    await client.connect();
    const context = await ran(() => client.query('select id from planned'));
    await client.end();
    expect(context.onStored).to.equal(null);
    expect(context.all('query')).to.have.length(1);
  });
});
