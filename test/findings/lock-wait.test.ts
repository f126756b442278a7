import { expect } from 'chai';
import { load } from 'cheerio';
import type { Knex } from 'knex';
import { createLockHolders } from '../../app/observe/databases/lock-holder.ts';
import type { QueryFact } from '../../app/observe/databases/query-fact.ts';
import { Context } from '../../app/profiler/record/context.ts';
import { type Asked, withFindingsDatabase } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';
import { draftsOf } from '../support/find-by-rule.ts';

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

describe('finding lock-wait', () => {
  /** Called when the transaction has its lock. */
  let locked: () => void = () => undefined;
  /** The transaction ends with it. */
  let released: Promise<void> = Promise.resolve();
  let database: Knex;
  const ask = withFindingsDatabase(
    async (knex) => {
      database = knex;
      await knex.raw('create table orders (id int primary key, total int)');
      await knex.raw('insert into orders select n, 1 from generate_series(1, 9) n');
    },
    (app, knex) => {
      app.post('/orders/:id/ship', async (req, res) => {
        await knex.transaction(async (trx) => {
          await trx('orders')
            .where({ id: Number(req.params.id) })
            .forUpdate()
            .first();
          locked();
          await released;
        });
        res.send('shipped');
      });
      app.put('/orders/:id', async (req, res) => {
        await knex('orders')
          .where({ id: Number(req.params.id) })
          .update({ total: 7 });
        res.send('changed');
      });
      app.put('/slow', async (_req, res) => {
        await knex.raw('update orders set total = 3 where id = 9 and pg_sleep(0.2) is not null');
        res.send('changed');
      });
    },
  );

  async function isWaitedFor(): Promise<boolean> {
    const { rows } = await database.raw<{ rows: unknown[] }>(
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return rows.length > 0;
  }

  /** Ships one order, and asks for something else while that holds its lock: until it waits for the lock, or is answered. */
  async function beside(path: string, waits: boolean) {
    const isLocked = new Promise<void>((done) => (locked = done));
    let release: () => void = () => undefined;
    released = new Promise((done) => (release = done));
    const shipping = ask('/orders/3/ship', { method: 'POST' });
    await isLocked;
    const asking = ask(path, { method: 'PUT' });
    if (waits) {
      await until(isWaitedFor, 'the statement waits for the lock');
      await pause(150);
    } else await asking;
    release();
    return { ...(await asking), shipped: (await shipping).profile };
  }

  /** On a machine with other work, the end of the transaction may be seen too late to explain that of the statement. */
  async function besideAndExplained() {
    let last: Awaited<ReturnType<typeof beside>> | undefined;
    await until(async () => {
      last = await beside('/orders/3', true);
      return last.of('lock-wait').length > 0;
    }, 'the wait is explained');
    return last!;
  }

  it('names the transaction of the other request and the line of its lock, instead of a slow query', async () => {
    const { of, profile, shipped } = await besideAndExplained();
    const [finding] = of('lock-wait');
    expect(finding).to.include({ label: 'lock wait', severity: 'warn', panel: 'database', anchor: 'q1' });
    expect(finding?.sentence).to.match(
      /^update orders took \d+\.\d+ m?s \(\d+ % of the request\) and may have waited \d+\.\d+ ms of it for a lock on rows of orders that a transaction of POST \/orders\/3\/ship held \(test\/findings\/lock-wait\.test\.ts:\d+\)$/,
    );
    expect(finding?.place).to.match(/lock-wait\.test\.ts:\d+$/);
    expect(of('slow-statement')).to.deep.equal([]);
    const $ = load(await ask.page(`/_profiler/${profile.token}?panel=database`));
    const link = $(`a[href$="/_profiler/${shipped.token}"]`).first();
    expect(link.closest('.section').text()).to.contain(' for a lock on rows of orders, held by:');
  });

  it('accuses nobody of a statement about another row, or that is slow by itself', async () => {
    const other = await beside('/orders/4', false);
    expect(other.of('lock-wait')).to.deep.equal([]);
    // On a busy machine the statement may be the smaller part of its request.
    const isSlow = ({ of }: Asked): boolean => of('slow-statement').length === 1;
    const { of } = await ask.when('/slow', isSlow, { method: 'PUT' });
    expect(of('lock-wait')).to.deep.equal([]);
  });

  describe('of what is recorded', () => {
    const statement = (given: Partial<QueryFact>): QueryFact => ({
      sql: 'update orders set total = $1 where id = $2',
      bindings: [7, 3],
      startMs: 0,
      durationMs: 200,
      rows: 1,
      connection: 'a',
      transaction: null,
      waitMs: 0,
      error: null,
      caller: 'orders.ts:1',
      instance: 'default',
      ...given,
    });

    function holderOf(waiting: QueryFact, others: readonly QueryFact[], { isOver = false } = {}) {
      const context = new Context({ token: 'aaaaaa', kind: 'request' });
      const other = new Context({ token: 'bbbbbb', kind: 'request' });
      for (const fact of others) other.add('query', fact);
      // Both began at about the same time.
      const locks = createLockHolders(() => (isOver ? [context] : [context, other]));
      if (isOver) locks.ended(other);
      locks.note(context, waiting);
      return waiting.lockedBy;
    }

    const held = { connection: 'b', transaction: 't', startMs: 1, durationMs: 1 };
    const begin = statement({ ...held, sql: 'BEGIN;', bindings: [] });
    const lock = statement({
      ...held,
      sql: 'select * from "public"."orders" where "id" = $1 limit $2 for update',
      bindings: [3, 1],
    });
    const commit = (startMs: number): QueryFact =>
      statement({ ...held, sql: 'COMMIT;', bindings: [], startMs });

    it('needs the end of the transaction, before that of the statement', () => {
      expect(holderOf(statement({}), [begin, lock, commit(196)])).to.include({
        profile: 'bbbbbb',
        table: 'orders',
      });
      expect(holderOf(statement({}), [begin, lock, commit(100)])?.waitedMs).to.be.within(100, 102);
      for (const others of [
        [begin, lock],
        [begin, lock, commit(40)],
        [begin, lock, commit(230)],
      ])
        expect(holderOf(statement({}), others)).to.equal(undefined);
      expect(holderOf(statement({ durationMs: 15 }), [begin, lock, commit(13)])).to.equal(undefined);
    });

    it('may be of a request that is over by then', () => {
      const recorded = [begin, lock, commit(196)];
      expect(holderOf(statement({}), recorded, { isOver: true })).to.include({ profile: 'bbbbbb' });
    });

    it('does not need it if the database says that it gave up waiting', () => {
      const refused = statement({ error: 'canceling statement due to lock timeout' });
      expect(holderOf(refused, [begin, lock])).to.include({ profile: 'bbbbbb' });
    });

    it('is not about reads, other tables, or transactions that only read', () => {
      const end = commit(196);
      const read = statement({ sql: 'select * from orders where id = $1', bindings: [3] });
      expect(holderOf(read, [begin, lock, end])).to.equal(undefined);
      const other = statement({ sql: 'delete from only notes where id = $1', bindings: [3] });
      expect(holderOf(other, [begin, lock, end])).to.equal(undefined);
      const plain = { ...lock, sql: 'select * from orders where id = $1' };
      expect(holderOf(statement({}), [begin, plain, end])).to.equal(undefined);
    });

    it('counts from a tenth of the request on, and knows its own transactions', () => {
      const query = { ...statement({}), statement: 0, bindings: [], group: null };
      const lockedBy = {
        profile: 'aaaaaa',
        what: 'PUT /orders/3',
        place: null,
        table: 'orders',
        waitedMs: 190,
      };
      const database = {
        statements: [{ sql: '', label: 'update orders' }],
        queries: [{ ...query, lockedBy }],
      };
      const find = (durationMs: number) =>
        draftsOf('lock-wait', { database }, { durationMs, token: 'aaaaaa' });
      expect(find(400)[0]?.sentence).to.contain(
        ' for a lock on rows of orders that another transaction of this request held',
      );
      expect(find(4000)).to.deep.equal([]);
    });
  });
});
