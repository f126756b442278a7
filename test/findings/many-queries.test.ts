import { expect } from 'chai';
import { once } from 'node:events';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';

interface Page {
  profile: { findings: { rule: string }[]; panels: { database: { data: { queries: unknown[] } } } };
}

describe('finding many-queries', () => {
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table things as select id from generate_series(1, 200) as id'),
    (app, knex) => {
      app.get('/apart/:count', async (req, res) => {
        for (let at = 0; at < Number(req.params.count); at++)
          await knex.raw(`select ${'id, '.repeat(at % 25)} id from things where id = ?`, [at]);
        res.send('done');
      });
      app.get('/after', async (_req, res) => {
        res.end('done');
        await once(res, 'close');
        for (let at = 0; at < 110; at++)
          await knex.raw(`select ${'id, '.repeat(at % 25)} id from things where id = ?`, [at]);
      });
      app.get('/loop', async (_req, res) => {
        for (let id = 0; id < 110; id++) await knex('things').where({ id });
        res.send('done');
      });
    },
  );

  it('says how many statements ran, and how many were distinct', async () => {
    const [finding] = (await ask('/apart/120')).of('many-queries');
    expect(finding).to.include({ label: 'many queries', severity: 'warn', panel: 'database' });
    expect(finding?.sentence).to.match(
      /^120 statements, 25 distinct, took \d+\.\d+ m?s \(<?\d+ % of the request\)$/,
    );
  });

  it('ignores statements after the response', async () => {
    const { profile } = await ask('/after');
    const read = async () => (JSON.parse(await ask.page(`/_profiler/${profile.token}.json`)) as Page).profile;
    await until(
      async () => (await read()).panels.database.data.queries.length === 110,
      'all statements are stored',
    );
    const rules = (await read()).findings.map(({ rule }) => rule);
    expect(rules).to.include('work-after-response').and.not.include('many-queries');
  });

  it('ignores fewer statements, and a loop, which has its own rule', async () => {
    expect((await ask('/apart/99')).of('many-queries')).to.deep.equal([]);
    const loop = await ask('/loop');
    expect(loop.of('many-queries')).to.deep.equal([]);
    expect(loop.of('n-plus-one')).to.have.length(1);
  });
});
