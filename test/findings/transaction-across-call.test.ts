import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('finding transaction-across-call', () => {
  const upstream = withUpstream((_req, res) => setTimeout(() => res.end('{}'), 40));
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table orders (id int)'),
    (app, knex) => {
      const pay = async (): Promise<string> => (await fetch(`${upstream()}/pay`, { method: 'POST' })).text();
      app.get('/inside', async (_req, res) => {
        await knex.transaction(async (trx) => {
          await trx('orders').insert({ id: 1 });
          await pay();
          await trx('orders').where({ id: 1 }).delete();
        });
        res.send('paid');
      });
      app.get('/before', async (_req, res) => {
        await pay();
        await knex.transaction(async (trx) => {
          await trx('orders').insert({ id: 2 });
        });
        await pay();
        res.send('paid');
      });
      app.get('/beside', async (_req, res) => {
        await knex('orders').insert({ id: 3 });
        await pay();
        await knex('orders').where({ id: 3 }).delete();
        res.send('paid');
      });
    },
  );

  it('says how long the transaction was open, and how long the call took', async () => {
    const [finding] = (await ask('/inside')).of('transaction-across-call');
    expect(finding).to.include({ label: 'call in transaction', severity: 'warn', panel: 'http_client', anchor: 'c1' }); // prettier-ignore
    expect(finding?.sentence).to.match(
      /^A transaction \(2 statements, \d+\.\d+ m?s\) stayed open during the call to POST 127\.0\.0\.1:\d+\/pay \(\d+\.\d+ m?s\)$/,
    );
  });

  it('ignores a call before, after or without a transaction', async () => {
    for (const path of ['/before', '/beside']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.http_client?.summary?.count).to.be.above(0);
      expect(of('transaction-across-call'), path).to.deep.equal([]);
    }
  });
});
