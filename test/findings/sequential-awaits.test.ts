import { expect } from 'chai';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import { timeOf } from '../support/time-of.ts';
import { type Asked, withFindingsDatabase } from '../support/findings-app.ts';

const databaseOf = ({ profile }: Asked): DatabaseData => profile.panels.database?.data as DatabaseData;

/** Whether each statement was sent when the one before had just ended: a busy machine lets them wait. */
function followAtOnce(asked: Asked): boolean {
  const { queries } = databaseOf(asked);
  return queries.every(({ startMs }, index) => {
    const before = queries[index - 1];
    const gapMs = before === undefined ? 0 : startMs - before.startMs - (before.durationMs ?? 0);
    return gapMs >= 0 && gapMs <= 5;
  });
}

describe('finding sequential-awaits', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create view slow_users as select 1 as id, 7 as team, pg_sleep(0.03)::text');
      await knex.raw('create view slow_orders as select 1 as user_id, 7 as team, pg_sleep(0.03)::text');
      await knex.raw('create view slow_news as select 1 as id, pg_sleep(0.03)::text');
    },
    (app, knex) => {
      app.get('/users/:id', async (req, res) => {
        const user: unknown = await knex('slow_users').where({ id: req.params.id }).first();
        const orders: unknown = await knex('slow_orders').where({ user_id: req.params.id });
        const news: unknown = await knex('slow_news').select('id').limit(3);
        res.json([user, orders, news]);
      });
      app.get('/together/:id', async (req, res) => {
        const { id } = req.params;
        const all: unknown[] = await Promise.all([
          knex('slow_users').where({ id }).first(),
          knex('slow_orders').where({ user_id: id }),
          knex('slow_news').select('id'),
        ]);
        res.json(all);
      });
      app.get('/depends/:id', async (req, res) => {
        const user = await knex<{ team: number }>('slow_users').where('id', req.params.id).first();
        const orders: unknown = await knex('slow_orders').where({ team: user?.team ?? 0 });
        res.json([user, orders]);
      });
      app.get('/transaction/:id', async (req, res) => {
        await knex.transaction(async (trx) => {
          await trx('slow_users').where({ id: req.params.id }).first();
          await trx('slow_orders').where({ user_id: req.params.id });
        });
        res.send('done');
      });
      app.get('/quick/:id', async (req, res) => {
        await knex.raw('select 1 as one where 1 = ?', [Number(req.params.id)]);
        await knex.raw('select 2 as two where 1 = ?', [Number(req.params.id)]);
        res.send('done');
      });
    },
    { pool: 6 },
  );

  before(() => ask('/together/1'));

  it('says that reads whose values were known before may be independent, and what running them together saves', async () => {
    const isFound = (asked: Asked): boolean =>
      followAtOnce(asked) && asked.of('sequential-awaits').length > 0;
    const [finding] = (await ask.when('/users/1', isFound)).of('sequential-awaits');
    expect(finding).to.include({
      label: 'sequential awaits',
      severity: 'info',
      panel: 'database',
      anchor: 'q1',
    });
    expect(finding?.sentence).to.match(
      /^3 reads, from select … from slow_users to select … from slow_news, ran one after the other but may be independent: \d+\.\d+ m?s in total, longest \d+\.\d+ m?s$/,
    );
    expect(finding?.costMs).to.be.above(55);
    expect(finding?.place).to.match(/sequential-awaits\.test\.ts:\d+$/);
  });

  const anyhow = (): boolean => true;
  for (const [path, what, ran] of [
    ['/together/1', 'ran together', (asked: Asked) => !followAtOnce(asked)],
    ['/depends/1', 'need a value of the one before', followAtOnce],
    ['/transaction/1', 'share the connection of a transaction', anyhow],
    ['/quick/1', 'are too quick to matter', ({ profile }: Asked) => timeOf(profile, 'db') < 10],
  ] as const)
    it(`ignores reads that ${what}`, async () => {
      expect((await ask.when(path, ran)).of('sequential-awaits')).to.deep.equal([]);
    });
});
