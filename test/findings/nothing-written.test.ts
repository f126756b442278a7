import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding nothing-written', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table products (id int, price int)');
      await knex.raw('insert into products values (1, 10)');
    },
    (app, knex) => {
      app.patch('/forgotten/:id', async (req, res) => {
        const product = (await knex('products').where({ id: req.params.id }).first()) as object;
        res.json(Object.assign(product, { price: 12 }));
      });
      app.patch('/written/:id', async (req, res) => {
        const product: unknown = await knex('products').where({ id: req.params.id }).first();
        await knex('products').where({ id: req.params.id }).update({ price: 12 });
        res.json(product);
      });
      app.patch('/absent/:id', async (req, res) => {
        res.json((await knex('products').where({ id: req.params.id }).first()) ?? null);
      });
      app.post('/search/:id', async (req, res) => {
        res.json(await knex('products').where({ id: req.params.id }));
      });
    },
  );

  it('names a change that was not saved', async () => {
    const [finding] = (await ask('/forgotten/1', { method: 'PATCH' })).of('nothing-written');
    expect(finding?.sentence).to.equal(
      'PATCH answered 200, but no statement wrote anything: only reads ran, such as select … from products',
    );
    expect(finding?.place).to.match(/nothing-written\.test\.ts:11$/);
  });

  it('ignores a change that was written, a row that is not there, and a search', async () => {
    for (const [method, path] of [
      ['PATCH', '/written/1'],
      ['PATCH', '/absent/7'],
      ['POST', '/search/1'],
    ] as const) {
      const { of, status } = await ask(path, { method });
      expect(status).to.equal(200);
      expect(of('nothing-written')).to.deep.equal([]);
    }
  });
});
