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
