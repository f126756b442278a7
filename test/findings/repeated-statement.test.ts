import { expect } from 'chai';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import { draftsOf } from '../support/find-by-rule.ts';
import { keptQueries } from '../support/kept-queries.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding repeated-statement', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create sequence ids');
      await knex.raw('create table users (id int, name text)');
      await knex.raw(`insert into users values (1, 'Ada'), (2, 'Bob')`);
    },
    (app, knex) => {
      const user = (id: number): Promise<unknown> => knex('users').where({ id }).first();
      app.get('/twice', async (_req, res) => {
        const seen = [await knex('users').where({ id: 1 }).first()];
        seen.push(await knex('users').where({ id: 1 }).first());
        res.json(seen);
      });
      app.get('/events', async (_req, res) => {
        res.set('content-type', 'text/event-stream');
        res.write(`data: ${JSON.stringify(await user(1))}\n\n`);
        res.end(`data: ${JSON.stringify(await user(1))}\n\n`);
      });
      app.get('/together', async (_req, res) => {
        res.json(await Promise.all([user(1), user(1), user(1), user(1)]));
      });
      app.get('/slow-together', async (_req, res) => {
        const slow = (): Promise<unknown> =>
          knex.raw('select count(*) from generate_series(1, 200000) as row (id) where md5(id::text) > ?', [
            '7',
          ]);
        res.json(await Promise.all([slow(), slow(), slow()]));
      });
      app.get('/until', async (_req, res) => {
        for (let times = 0; times < 3; times++) {
          await user(1);
          await new Promise((done) => setTimeout(done, 60));
        }
        res.send('x');
      });
      app.get('/changed', async (_req, res) => {
        const before: unknown = await user(1);
        await knex('users').where({ id: 1 }).update({ name: 'Ada L.' });
        res.json([before, await user(1)]);
      });
      app.get('/decides', async (_req, res) => {
        await user(1);
        const check = user(1);
        await knex('users').where({ id: 2 }).update({ name: 'Bob' });
        res.json(await check);
      });
      app.get('/volatile', async (_req, res) => {
        for (const sql of [`select nextval('ids')`, `select nextval('ids')`]) await knex.raw(sql);
        const rename = knex.raw(`with changed as (update users set name = 'A' where id = 2 returning id) select * from changed`); // prettier-ignore
        const before: unknown = await user(2);
        await rename;
        res.json([before, await user(2)]);
      });
      app.get('/others', async (_req, res) => {
        res.json([await user(1), await user(2)]);
      });
    },
  );

  it('reports a repeated read, from whichever place', async () => {
    // A repeat that costs much is a warning.
    const { of } = await ask.when('/twice', ({ profile: { panels } }) =>
      (panels.database?.data as DatabaseData).queries.every(({ durationMs }) => (durationMs ?? 0) < 10),
    );
    const [finding] = of('repeated-statement');
    expect(finding).to.include({ label: 'duplicate', severity: 'info', panel: 'database' });
    expect(finding?.sentence).to.match(
      /^select … from users ran 2 times with the same values from 2 places \(\S+\.ts:\d+, \S+\.ts:\d+\); the repeats took /,
    );
    expect(finding?.place).to.match(/repeated-statement\.test\.ts:\d+$/);
  });

  it('says if the reads ran at the same time', async () => {
    // A busy machine may give the first its connection back before the last has one.
    const { of } = await ask.when('/together', ({ profile: { panels } }) => {
      const { queries } = panels.database?.data as DatabaseData;
      const ends = queries.map(({ startMs, durationMs }) => startMs + (durationMs ?? 0));
      return queries.every(({ startMs }) => startMs < Math.min(...ends));
    });
    expect(of('repeated-statement')[0]?.sentence).to.contain(
      'ran 4 times with the same values at the same time',
    );
  });

  it('counts the time of repeats that ran side by side once', async () => {
    const { of, profile } = await ask('/slow-together');
    const { queries } = profile.panels.database?.data as DatabaseData;
    const from = Math.min(...queries.map(({ startMs }) => startMs));
    const to = Math.max(...queries.map(({ startMs, durationMs }) => startMs + (durationMs ?? 0)));
    expect(of('repeated-statement')[0]?.costMs).to.be.within(0.1, to - from + 0.01);
  });

  it('ignores reads after a pause, which wait for a change', async () => {
    expect((await ask('/until')).of('repeated-statement')).to.deep.equal([]);
  });

  it('reports nothing if there was a write in between, or the values or results differ', async () => {
    for (const path of ['/changed', '/decides', '/volatile', '/others']) expect((await ask(path)).of('repeated-statement'), path).to.deep.equal([]); // prettier-ignore
  });

  it('is one for the statements of one call of an ORM that ran twice', () => {
    const find = (...aboves: readonly string[]) => {
      const asked = aboves.flatMap((above) => [
        { above, sql: 'select distinct id from users where name = $1', bindings: { name: 'Ada' } },
        { above, sql: 'select * from users where name = $1 and id in (1)', bindings: { name: 'Ada' } },
      ]);
      const { statements, queries } = keptQueries(...asked);
      const sent = queries.map((query, at) => ({ ...query, statement: at % 2, waitMs: 0, group: null, instance: 0 })); // prettier-ignore
      const of = aboves[0] === '' ? [{ sql: 'select 1', system: 'postgresql' }, statements[1]] : statements;
      return draftsOf('repeated-statement', { database: { statements: of.slice(0, 2), queries: sent, groups: [] } }, { durationMs: 100 }, { time: { queuedMs: 0, ownedMs: () => 0 } }); // prettier-ignore
    };
    const [first, ...others] = find('User.findOne', 'User.findOne');
    expect(others).to.deep.equal([]);
    expect(first?.sentence).to.equal('User.findOne: select … from users ran 2 times with the same values; the repeats took 2.0 ms (2 % of the request)'); // prettier-ignore
    expect(find('', ''), 'of two tables').to.have.length(2);
  });

  it('ignores an event stream, which asks what has changed', async () => {
    expect((await ask('/events')).of('repeated-statement')).to.deep.equal([]);
  });
});
