import { expect } from 'chai';
import pg from 'pg';
import type { Kept } from '../../app/findings/shared/kept.ts';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding connection-per-request', () => {
  const pools: pg.Pool[] = [];
  // Before the database goes: a pool whose connection is ended by the server has an error.
  after(() => Promise.all(pools.map((pool) => pool.end())));
  const ask = withFindingsDatabase(
    (knex) => knex.raw('select 1'),
    (app, knex) => {
      const { connection } = (knex.client as { config: { connection: pg.PoolConfig } }).config;
      const pool = new pg.Pool({ ...connection, max: 1 });
      pools.push(pool);
      app.get('/own', async (_req, res) => {
        const client = new pg.Client(connection);
        await client.connect();
        const { rows } = await client.query('select 2 as two');
        await client.end();
        res.json(rows);
      });
      app.get('/pool', async (_req, res) => {
        res.json((await pool.query('select 3 as three')).rows);
      });
    },
  );

  it('is found from the third request in a row on, and names the line', async () => {
    for (const found of [0, 0, 1, 1])
      expect((await ask('/own')).of('connection-per-request')).to.have.length(found);
    const [finding] = (await ask('/own')).of('connection-per-request');
    expect(finding).to.include({ label: 'connection per request', severity: 'warn', anchor: 'q1' });
    expect(finding?.sentence).to.equal(
      'select ran on a connection opened for it, as in the last 5 requests from this line',
    );
    expect(finding?.place).to.match(/connection-per-request\.test\.ts:\d+$/);
  });

  it('ignores the connections of a pool', async () => {
    for (let times = 0; times < 4; times++)
      expect((await ask('/pool')).of('connection-per-request')).to.deep.equal([]);
  });

  const query = (given: object) => ({ statement: 0, error: null, group: null, connection: 'c1', ...given });
  const ran = (...queries: object[]) => ({
    head: { startedAt: 0 } as ProfileHead,
    kept: { database: { statements: [{ sql: 'select 1', label: 'select' }], queries } } as unknown as Pick<
      Kept,
      'database'
    >,
  });
  const find = (now: ReturnType<typeof ran>, earlier: ReturnType<typeof ran>[]) =>
    draftsOf('connection-per-request', now.kept, now.head, { earlier });

  it('names the line that caused what a query builder sends by itself on a new connection', () => {
    const one = ran(
      query({ caller: 'node_modules/knex/lib/client.js:1', first: true }),
      query({ caller: 'a.ts:1' }),
    );
    expect(find(one, [one, one]).map(({ place, anchor }) => [place, anchor])).to.deep.equal([
      ['a.ts:1', 'q2'],
    ]);
  });

  it('counts no connection that a pool may have closed, because nobody used it for 10 s', () => {
    const { kept } = ran(query({ caller: 'a.ts:1', first: true }));
    const at = (startedAt: number) => ({ head: { startedAt } as ProfileHead, kept });
    expect(find(at(40_000), [at(28_000), at(15_000)])).to.have.length(0);
    expect(find(at(40_000), [at(32_000), at(25_000)])).to.have.length(1);
  });

  it('counts within one process: the first request of each opens a connection', () => {
    const { kept } = ran(query({ caller: 'a.ts:1', first: true }));
    const by = (process: string) => ({ head: { startedAt: 0, process } as ProfileHead, kept });
    expect(find(by('web.1 3'), [by('web.1 2'), by('web.1 1')])).to.have.length(0);
    expect(find(by('web.1 3'), [by('web.1 3'), by('web.1 3')])).to.have.length(1);
  });

  it('counts back to the last request whose line used a connection again', () => {
    const opened = ran(query({ caller: 'a.ts:1', first: true }));
    const used = ran(query({ caller: 'a.ts:1' }));
    const other = ran(query({ caller: 'b.ts:1' }));
    expect(find(opened, [opened, used, opened])).to.have.length(0);
    expect(find(used, [opened, opened])).to.have.length(0);
    expect(find(opened, [opened, other, opened, used])).to.have.length(1);
  });
});
