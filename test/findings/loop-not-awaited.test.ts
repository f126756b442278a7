import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding loop-not-awaited', () => {
  const ask = withFindingsDatabase(
    (knex) =>
      knex.raw(
        'create table seeds (sku text, grams int check (grams > 0)); create table imports (seeds int)',
      ),
    (app, knex) => {
      const add = (grams: number) => knex.raw('insert into seeds (grams) values (?)', [grams]);
      app.get('/forEach', async (_req, res) => {
        let seeds = 0;
        [1, 2, 0].forEach(async (grams) => {
          await add(grams).catch(() => null);
          seeds++;
        });
        await knex.raw('insert into imports values (?)', [seeds]);
        res.json({ seeds });
      });
      app.get('/all', async (_req, res) => {
        await Promise.all([1, 2, 3].map(add));
        await knex.raw('insert into imports values (?)', [3]);
        res.json({ seeds: 3 });
      });
    },
  );

  it('names the forEach and what did not wait for it, instead of its failure', async () => {
    const { of } = await ask('/forEach');
    const [finding] = of('loop-not-awaited');
    expect(finding?.sentence).to.match(
      /^insert into imports was sent while 3 × insert into seeds still ran: forEach does not wait/,
    );
    expect(finding?.place).to.equal('test/findings/loop-not-awaited.test.ts:14');
    expect(of('failed-statement')).to.deep.equal([]);
    expect(of('write-loop')).to.deep.equal([]);
    expect((await ask('/all')).of('loop-not-awaited')).to.deep.equal([]);
  });
});
