import { expect } from 'chai';
import type { DatabaseData } from '../../app/panels/database/data.ts';
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
      app.get('/together', async (_req, res) => {
        const sleep = (seconds: number): Promise<unknown> =>
          knex.raw('select ?::float, pg_sleep(0.1)', [seconds]);
        res.json(await Promise.all([1, 2, 3].map(sleep)));
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

  it('counts time once where the reads ran side by side', async () => {
    // Opening connections would set them apart.
    await ask('/together');
    const { of, profile } = await ask('/together');
    const [finding] = of('n-plus-one');
    const { queries } = profile.panels.database?.data as DatabaseData;
    const from = Math.min(...queries.map(({ startMs }) => startMs));
    const to = Math.max(...queries.map(({ startMs, durationMs }) => startMs + (durationMs ?? 0)));
    expect(finding?.costMs).to.be.within(99, to - from + 0.01);
  });

  it('ignores one statement for all rows, two reads, and three reads on different lines', async () => {
    for (const path of ['/one', '/loop/2', '/apart']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.database?.summary?.count, path).to.be.above(0);
      expect(of('n-plus-one'), path).to.deep.equal([]);
    }
  });
});
