import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding n-plus-one', () => {
  const ask = withFindingsDatabase(
    (knex) =>
      knex.raw('create table products as select id, id * 10 as price from generate_series(1, 40) as id'),
    (app, knex) => {
      app.get('/loop/:count', async (req, res) => {
        const products: unknown[] = [];
        for (let id = 1; id <= Number(req.params.count); id++)
          products.push(await knex('products').where({ id }).first());
        res.json(products);
      });
      app.get('/one', async (_req, res) => {
        const ids = Array.from({ length: 12 }, (_, index) => index + 1);
        res.json(await knex('products').whereIn('id', ids));
      });
      app.get('/apart', async (_req, res) => {
        const first: unknown = await knex('products').where({ id: 1 }).first();
        const second: unknown = await knex('products').where({ id: 2 }).first();
        const third: unknown = await knex('products').where({ id: 3 }).first();
        res.json([first, second, third]);
      });
    },
  );

  it('names the line that loops, how often it ran and what it cost', async () => {
    const { of } = await ask('/loop/12');
    const [finding] = of('n-plus-one');
    expect(finding).to.include({ label: 'N+1', severity: 'bad', panel: 'database', anchor: 'g1' });
    expect(finding?.sentence).to.match(
      /^12 × select … from products in a loop: \d+\.\d+ m?s \(<?\d+ % of the request\)$/,
    );
    expect(finding?.place).to.match(/^test\/findings\/n-plus-one\.test\.ts:\d+$/);
  });

  it('ignores one statement for all rows, two reads, and three reads on different lines', async () => {
    for (const path of ['/one', '/loop/2', '/apart']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.database?.summary?.count, path).to.be.above(0);
      expect(of('n-plus-one'), path).to.deep.equal([]);
    }
  });
});
