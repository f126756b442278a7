import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding write-loop', () => {
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table items (id serial, sku text)'),
    (app, knex) => {
      app.get('/loop', async (_req, res) => {
        for (const sku of 'abcdefghij') await knex('items').insert({ sku });
        res.send('written');
      });
      app.get('/chunks', async (_req, res) => {
        for (const sku of 'abcdefghij') await knex('items').insert([{ sku }, { sku: `${sku}2` }]);
        res.send('written');
      });
      app.get('/few', async (_req, res) => {
        for (const sku of 'abc') await knex('items').insert({ sku });
        await knex.raw('select pg_sleep(0.3)');
        res.send('written');
      });
      app.get('/savepoints', async (_req, res) => {
        await knex.transaction(async (all) => {
          for (const sku of 'abcdefghij') await all.transaction(async (one) => one('items').insert({ sku }));
        });
        res.send('written');
      });
      app.get('/job', async (_req, res) => {
        for (const sku of ['a', 'b', 'c', 'd'])
          await knex.transaction(async (trx) => trx('items').insert({ sku }));
        res.send('written');
      });
      app.get('/settings', async (_req, res) => {
        for (const zone of ['UTC', 'CET', 'EET']) await knex.raw(`set time zone '${zone}'`);
        res.send('set');
      });
      app.get('/one', async (_req, res) => {
        await knex('items').insert(['a', 'b', 'c', 'd'].map((sku) => ({ sku })));
        await knex('items').where({ sku: 'a' }).update({ sku: 'e' });
        await knex('items').where({ sku: 'b' }).delete();
        res.send('written');
      });
    },
  );

  it('names the line that writes in a loop', async () => {
    const { of } = await ask('/loop');
    const [finding] = of('write-loop');
    expect(finding).to.include({ label: 'writes in a loop', severity: 'warn', panel: 'database' });
    expect(finding?.sentence).to.match(/^10 × insert into items in a loop: /);
    expect(finding?.place).to.match(/^test\/findings\/write-loop\.test\.ts:\d+$/);
  });

  it('ignores a few that cost nothing', async () => {
    await ask.when('/few', ({ of }) => of('write-loop').length === 0);
  });

  it('ignores statements that write many rows each', async () => {
    expect((await ask('/chunks')).of('write-loop')).to.deep.equal([]);
  });

  it('ignores writes that each have a transaction or savepoint of their own', async () => {
    expect((await ask('/job')).of('write-loop')).to.deep.equal([]);
    expect((await ask('/savepoints')).of('write-loop')).to.deep.equal([]);
  });

  it('ignores settings of the connection, which are no queries', async () => {
    const { of, profile } = await ask('/settings');
    expect(of('write-loop')).to.deep.equal([]);
    expect(profile.panels.database?.summary?.count).to.equal(0);
  });

  it('ignores one insert of four rows, and writes that differ', async () => {
    const { of, profile } = await ask('/one');
    expect(profile.panels.database?.summary?.count).to.equal(3);
    expect(of('write-loop')).to.deep.equal([]);
  });
});
