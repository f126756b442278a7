import { expect } from 'chai';
import type { Knex } from 'knex';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding outside-transaction', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table orders (id int)');
      await knex.raw('create table audit (id int)');
      await knex.raw('create table catalog_seats (id int)');
    },
    (app, knex) => {
      app.post('/undone', async (_req, res) => {
        await knex
          .transaction(async (trx) => {
            await trx('orders').insert({ id: 1 });
            await knex('audit').insert({ id: 1 });
            throw new Error('no credit');
          })
          .catch(() => undefined);
        res.send('done');
      });
      app.post('/taken', async (_req, res) => {
        await knex
          .transaction(async (trx) => {
            await trx('orders').insert({ id: 1 });
            for (const id of [1, 2]) await knex('catalog_seats').insert({ id });
            throw new Error('no seat');
          })
          .catch(() => undefined);
        res.send('done');
      });
      app.post('/refused', async (_req, res) => {
        await knex
          .transaction(async (trx) => {
            await trx('orders').where({ id: 1 });
            await knex('catalog_seats').insert({ id: 3 });
            await knex('catalog_seats').where({ id: 3 }).update({ id: 4 });
            if ((await trx('orders').where({ id: 99 }).update({ id: 98 })) === 0) throw new Error('sold out');
          })
          .catch(() => undefined);
        res.status(409).send('sold out');
      });
      app.post('/committed', async (_req, res) => {
        await knex.transaction(async (trx) => {
          await trx('orders').insert({ id: 1 });
          await knex('audit').insert({ id: 1 });
        });
        res.send('done');
      });
      app.post('/fine', async (_req, res) => {
        await knex('audit').insert({ id: 1 });
        await knex.transaction(async (trx) => {
          await trx('orders').insert({ id: 1 });
          await knex('audit').where({ id: 1 });
          await knex('audit')
            .insert({ none: 1 })
            .catch(() => undefined);
        });
        await knex('audit').insert({ id: 1 });
        res.send('done');
      });
    },
  );

  it('names the write that a rollback did not undo', async () => {
    const [finding] = (await ask('/undone', { method: 'POST' })).of('outside-transaction');
    expect(finding).to.include({ label: 'outside transaction', severity: 'warn', broke: 'unseen' });
    expect(finding?.sentence).to.equal(
      'insert into audit ran outside the transaction, which had 1 statement and was open on another connection: the rollback did not undo it',
    );
    expect(finding?.place).to.match(/outside-transaction\.test\.ts:\d+$/);
  });

  it('is bad where rows stay that are no record of what was tried', async () => {
    const [finding] = (await ask('/taken', { method: 'POST' })).of('outside-transaction');
    expect(finding?.severity).to.equal('bad');
    expect(finding?.sentence).to.match(/: the rollback did not undo it, and 2 changed rows stay as written$/);
  });

  it('stands for what a refused request left, at whichever line', async () => {
    const { of } = await ask('/refused', { method: 'POST' });
    const [finding] = of('outside-transaction');
    expect(finding?.sentence).to.match(/^insert into catalog_seats .* 2 changed rows stay as written$/);
    expect(of('refused-but-written')).to.deep.equal([]);
  });

  it('is not said of a statement whose connection is not known', () => {
    const statements = ['begin', 'delete from addresses', 'commit'].map((sql) => ({ sql, system: 'sqlite' }));
    const queries = statements.map((_one, at) => ({
      statement: at,
      startMs: at,
      durationMs: 0.1,
      waitMs: 0,
      error: null,
      instance: '1',
      rows: 1,
      caller: 'a.js:1',
      bindings: [],
      connection: at === 1 ? null : 1,
      transaction: at === 1 ? null : 'T1',
    }));
    const kept = { database: { statements, queries, groups: [] } };
    expect(draftsOf('outside-transaction', kept)).to.deep.equal([]);
  });

  it('is for information where the transaction was committed', async () => {
    const [finding] = (await ask('/committed', { method: 'POST' })).of('outside-transaction');
    expect(finding).to.include({ severity: 'info' });
    expect(finding).not.to.have.property('broke');
  });

  it('ignores writes before and after it, reads beside it, and a write that failed', async () => {
    const { of, status } = await ask('/fine', { method: 'POST' });
    expect(status).to.equal(200);
    expect(of('outside-transaction')).to.deep.equal([]);
  });
});

describe('finding read-outside-transaction', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table lines (order_id int, cents int)');
      await knex.raw('create table prices (id int, cents int)');
    },
    (app, knex) => {
      app.post('/:how/:id', async (req, res) => {
        const { how, id } = req.params;
        const total = await knex.transaction(async (trx) => {
          await trx.raw('insert into lines select ?::int, 100', [Number(id)]);
          const by = how === 'inside' ? trx : knex;
          const [table, column] = how === 'prices' ? ['prices', 'id'] : ['lines', 'order_id'];
          const of = how === 'other' ? 99 : Number(id);
          const rows = await by(table).where(column, of).sum('cents as total');
          await trx('prices').insert({ id: 1, cents: 2 });
          return rows;
        });
        res.json(total);
      });
    },
  );

  it('names the read, and the write that it does not see', async () => {
    const { of, body } = await ask('/outside/7', { method: 'POST' });
    expect(body).to.equal('[{"total":null}]');
    const [finding] = of('read-outside-transaction');
    expect(finding).to.include({ label: 'read outside', severity: 'bad', panel: 'database' });
    expect(finding?.sentence).to.match(
      /^select … from lines ran on another connection while the transaction that had written lines \(\S*outside-transaction\.test\.ts:\d+\) was open: it does not see what is not committed yet$/,
    );
    expect(finding?.place).to.match(/outside-transaction\.test\.ts:\d+$/);
  });

  it('ignores reads of the transaction, of another table and of other rows', async () => {
    for (const how of ['inside', 'prices', 'other'])
      expect((await ask(`/${how}/7`, { method: 'POST' })).of('read-outside-transaction'), how).to.deep.equal(
        [],
      );
  });
});

describe('finding lock-outside-transaction', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table seats (id int primary key, remaining int)');
      await knex.raw('create table notes (id int)');
      await knex.raw('insert into seats values (1, 80)');
    },
    (app, knex) => {
      const lock = (by: Knex, clause: string) => by.raw(`select remaining from seats where id = 1 ${clause}`);
      app.post('/:how', async (req, res) => {
        const { how } = req.params;
        if (how === 'before') await lock(knex, 'for update');
        await knex.transaction(async (trx) => {
          if (how === 'inside') await lock(trx, 'for update');
          if (how === 'other') await knex.transaction((other) => lock(other, 'for update'));
          if (how === 'plain') await lock(knex, 'limit 1');
          if (how === 'none') await knex.raw('select remaining from seats where id = 9 for update');
          if (how === 'queue')
            await knex.raw(
              'update seats set remaining = remaining where id = (select id from seats limit 1 for update skip locked)',
            );
          if (how === 'outside') await lock(knex, 'for no key update');
          if (how === 'shared') await lock(knex, 'for share');
          if (how === 'shared') await trx.raw('insert into notes values (1)');
          else await trx.raw('insert into seats select 2, 1 where false');
        });
        res.send('done');
      });
    },
  );
  const found = async (how: string) =>
    (await ask(`/${how}`, { method: 'POST' })).of('lock-outside-transaction');

  it('names a lock that ends with its statement, and the write of the transaction', async () => {
    const [finding] = await found('outside');
    expect(finding).to.include({ label: 'lock outside', severity: 'bad', broke: 'unseen' });
    expect(finding?.sentence).to.match(
      /^select … from seats locked 1 row in no transaction, while the transaction with insert into seats \(\S+:\d+\) was open on another connection: the lock ended with the statement and protects nothing$/,
    );
    expect(finding?.place).to.match(/outside-transaction\.test\.ts:\d+$/);
    const [shared] = await found('shared');
    expect(shared?.severity).to.equal('warn');
    expect(shared?.sentence).to.contain('while a transaction (1 statement) was open');
  });

  it('ignores a lock of a transaction, before it, of no row, and within one statement', async () => {
    for (const how of ['inside', 'other', 'before', 'plain', 'none', 'queue'])
      expect(await found(how), how).to.deep.equal([]);
  });
});
