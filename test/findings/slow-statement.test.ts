import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding slow-statement', () => {
  const ask = withFindingsDatabase(
    (knex) => knex.raw('select 1'),
    (app, knex) => {
      app.get('/sleep/:ms', async (req, res) => {
        await knex.raw('select pg_sleep(?)', [Number(req.params.ms) / 1000]);
        res.send('slept');
      });
      app.get('/around', async (_req, res) => {
        await knex.raw('select pg_sleep(0.03)');
        await new Promise((done) => setTimeout(done, 120));
        res.send('slept');
      });
    },
  );

  it('tells how long it took, of how long, and what it gave', async () => {
    const [finding] = (await ask('/sleep/130')).of('slow-statement');
    expect(finding).to.include({ label: 'slow query', severity: 'warn', panel: 'database', anchor: 'q1' });
    expect(finding?.sentence).to.match(/^select took 1\d\d\.\d ms of \d+\.\d ms and gave 1 row$/);
    expect(finding?.costMs).to.be.within(130, 400);
  });

  it('writes more than a second as the pages do', async () => {
    const [finding] = (await ask('/sleep/1010')).of('slow-statement');
    expect(finding?.sentence).to.match(/^select took 1\.\d\d s of 1\.\d\d s/);
  });

  it('says nothing of a quick statement in a slow request', async () => {
    const { of, profile } = await ask('/around');
    expect(profile.durationMs).to.be.above(140);
    expect(of('slow-statement')).to.deep.equal([]);
  });
});
