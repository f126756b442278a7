import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding outside-transaction', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table orders (id int)');
      await knex.raw('create table audit (id int)');
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
      'insert into audit ran outside the transaction (1 statement) that was open on another connection: the rollback did not undo it',
    );
    expect(finding?.place).to.match(/outside-transaction\.test\.ts:\d+$/);
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
