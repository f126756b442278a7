import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type pg from 'pg';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';

describe('finding others-transaction', () => {
  let isBegun = false;
  let isWritten = false;
  let shared: pg.Client;
  let release = (): unknown => undefined;
  // Before the database is closed.
  after(() => release());

  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table notices (text text)');
    },
    (app, knex) => {
      app.use(async (_req, _res, next) => {
        const pool = knex.client as {
          acquireConnection(): Promise<pg.Client>;
          releaseConnection(of: object): unknown;
        };
        shared ??= await pool.acquireConnection();
        release = () => pool.releaseConnection(shared);
        next();
      });
      app.post('/orders/:end', async ({ params: { end } }, res) => {
        await shared.query('begin');
        isBegun = true;
        await until(() => isWritten, 'another request wrote');
        await shared.query(end);
        res.status(409).send('sold out');
      });
      app.post('/notices', async (_req, res) => {
        await until(() => isBegun, 'another request has begun');
        await shared.query("insert into notices values ('bread')");
        isWritten = true;
        // It ends last, so that the other one is stored.
        await pause(100);
        res.status(201).send('published');
      });
    },
  );

  async function foundWith(end: string) {
    isBegun = false;
    isWritten = false;
    const [, { of, profile }] = await Promise.all([
      ask(`/orders/${end}`, { method: 'POST' }),
      ask('/notices', { method: 'POST' }),
    ]);
    return { found: of('others-transaction'), profile };
  }

  it('names the request that began it, and that it undid the write', async () => {
    const [finding] = (await foundWith('rollback')).found;
    expect(finding?.sentence).to.match(
      /^insert into notices ran in the transaction that POST \/orders\/:end \([0-9a-f]{6}\) had begun on the same connection at test\/findings\/others-transaction\.test\.ts:\d+, and was rolled back with it$/,
    );
    expect(finding).to.include({ severity: 'bad', broke: 'unseen', anchor: 'q1' });
    expect((await foundWith('commit')).found[0]).to.include({ severity: 'warn' });
  });

  it('ignores statements of its own transaction, and those after the end of another one', async () => {
    const { of } = await ask('/orders/commit', { method: 'POST' });
    expect(of('others-transaction')).to.deep.equal([]);
    isBegun = true;
    expect((await ask('/notices', { method: 'POST' })).of('others-transaction')).to.deep.equal([]);
  });
});
