import { expect } from 'chai';
import express from 'express';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding query-never-run', () => {
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table products (id int primary key, price int)'),
    (app, knex) => {
      app.put('/forgotten', async (_req, res) => {
        await knex('products').where({ id: 1 });
        void knex('products').where({ id: 1 }).update({ price: 2 });
        res.send('done');
      });
      app.put('/saved/:id', express.json(), async (req, res) => {
        const product: unknown = await knex('products').where({ id: req.params.id }).first();
        if (req.query.how !== 'not') void knex('products').where({ id: req.params.id }).update(req.body);
        res.json(product);
      });
      app.put('/alone', (_req, res) => {
        void knex('products').delete();
        res.send('done');
      });
      app.put('/run', async (_req, res) => {
        await knex('products').insert({ id: 1, price: 1 }).onConflict('id').merge();
        await knex('products').update({ price: 2 }).clone();
        knex('products').del().toSQL();
        await knex
          .with('changed', knex('products').update({ price: 3 }).returning('*'))
          .select('*')
          .from('changed');
        await new Promise((resolve, reject) => knex('products').update({ price: 4 }).then(resolve, reject));
        void knex('products').where({ id: 1 });
        res.send('done');
      });
      app.put('/wrapped', async (_req, res) => {
        const write = async (): Promise<unknown> => knex('products').insert({ none: 1 });
        await write().catch(() => undefined);
        res.send('done');
      });
    },
  );
  const put = (path: string) => ask(path, { method: 'PUT' });

  it('names table and line of a write that nobody awaited, also where nothing else was sent', async () => {
    const [finding] = (await put('/forgotten')).of('query-never-run');
    expect(finding).to.include({ label: 'query not run', severity: 'bad', broke: 'unseen', anchor: 'u1' });
    expect(finding?.sentence).to.equal('update products was built and never run: nothing awaited it');
    expect(finding?.place).to.match(/^test\/findings\/query-never-run\.test\.ts:\d+$/);
    const [alone] = (await put('/alone')).of('query-never-run');
    expect(alone?.sentence).to.equal('delete from products was built and never run: nothing awaited it');
  });

  it('is told without what follows from it', async () => {
    const found = async (path: string): Promise<(string | undefined)[]> => {
      const headers = { 'content-type': 'application/json' };
      const { profile } = await ask(path, { method: 'PUT', headers, body: '{"price":12}' });
      return profile.findings.flatMap(({ rule = '' }) => (/lost|written|never/.test(rule) ? [rule] : []));
    };
    await put('/run');
    expect(await found('/saved/1?how=not')).to.have.members(['field-lost', 'nothing-written']);
    expect(await found('/saved/1')).to.deep.equal(['query-never-run']);
  });

  it('ignores writes that ran, were copied, were part of another query or whose SQL was read, and reads', async () => {
    expect((await put('/run')).of('query-never-run')).to.deep.equal([]);
  });

  it('knows the line of a statement that no stack leads to', async () => {
    const { of } = await put('/wrapped');
    expect(of('failed-statement')[0]?.place).to.match(/query-never-run\.test\.ts:\d+$/);
  });
});
