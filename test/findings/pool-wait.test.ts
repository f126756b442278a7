import { expect } from 'chai';
import { load } from 'cheerio';
import pg from 'pg';
import type { Kept } from '../../app/findings/shared/kept.ts';
import type { DatabaseData, DatabaseQuery } from '../../app/panels/database/data.ts';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { type Asked, withFindingsDatabase } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';
import { besideOf } from '../support/beside.ts';
import { timeOf } from '../support/time-of.ts';
import { draftsOf } from '../support/find-by-rule.ts';

const WAITED = { kind: 'connection', startMs: 0, durationMs: 60 } as const;

describe('finding pool-wait', () => {
  let pool: { numUsed(): number };
  let small: pg.Pool;
  const taken: pg.PoolClient[] = [];
  after(async () => {
    for (const client of taken) client.release(true);
    await small?.end();
  });
  const ask = withFindingsDatabase(
    (knex) => knex.raw('select 1'),
    (app, knex) => {
      ({ pool } = knex.client as { pool: typeof pool });
      const sleep = (seconds: number): Promise<unknown> => knex.raw('select pg_sleep(?)', [seconds]);
      app.get('/crowd', async (_req, res) => {
        await Promise.all([sleep(0.1), sleep(0.1), sleep(0.1)]);
        res.send('done');
      });
      app.get('/inside', async (_req, res) => {
        await knex.transaction(async (trx) => {
          await trx.raw('select 1');
          const other = sleep(0.08);
          const another = sleep(0.08);
          await trx.raw('select pg_sleep(0.12)');
          await Promise.all([other, another]);
        });
        res.send('done');
      });
      app.get('/hold', async (_req, res) => {
        await Promise.all([sleep(1), sleep(1)]);
        res.send('held');
      });
      app.get('/wait', async (_req, res) => {
        await sleep(0.001);
        res.send('waited');
      });
      small = new pg.Pool({
        ...(knex.client as { config: { connection: pg.PoolConfig } }).config.connection,
        max: 1,
        connectionTimeoutMillis: 300,
      });
      app.get('/leak', async (_req, res) => {
        const client = await small.connect();
        await client.query('select 1');
        taken.push(client);
        res.send('never released');
      });
      app.get('/refused', async (_req, res) => {
        const client = await small.connect();
        client.release();
        res.send('released');
      });
      app.get('/in-turn', async (_req, res) => {
        for (const seconds of [0.04, 0.04]) await sleep(seconds);
        res.send('done');
      });
    },
    { pool: 2 },
  );

  // Opening connections is waiting too, and nobody holds them.
  let first: Asked;
  before(async () => {
    first = await ask('/hold');
  });

  it('is silent about a connection that was opened, which nobody held', () => {
    const data = first.profile.panels.database?.data as DatabaseData;
    expect(data.queries.map(({ opened }) => opened)).to.deep.equal([true, true]);
    const wait = { ...data.queries[0]!, startMs: 200, waitMs: 120 };
    const find = (queries: DatabaseQuery[], concurrent: number) => {
      const kept = { database: { ...data, queries }, runtime: { concurrent } as Kept['runtime'] };
      return draftsOf(
        'pool-wait',
        kept,
        { durationMs: 200, status: 200 },
        besideOf([WAITED], { totalMs: 200 }),
      )[0]?.sentence;
    };
    expect(find([wait], 2)).to.equal(undefined);
    const { opened: _new, ...free } = wait;
    expect(find([free], 2), 'not full').to.equal(undefined);
    const beside = { ...free, startMs: 60, durationMs: 160, waitMs: 0, connection: 'other' };
    expect(find([free, beside], 2), 'not full, beside a statement').to.equal(undefined);
    const used = { ...free, full: true as const };
    expect(find([used], 2)).to.match(/; other requests may have held all connections$/);
    expect(find([used], 1)).to.match(/; no other request ran, so something outside requests held them/);
    const own = { ...used, startMs: 190, durationMs: 20, waitMs: 0 };
    expect(find([used, own], 1)).to.match(/; other statements of this request ran at the same time$/);
  });

  it('does not call a connection new that it has used', async () => {
    const { profile } = await ask('/wait');
    expect((profile.panels.database?.data as DatabaseData).queries[0]).not.to.have.property('opened');
  });

  it('says that ended requests did not release them, in one finding, with the line that took them', async () => {
    const leaking = await ask('/leak');
    const { findings, of, status, profile } = await ask('/refused');
    expect(status).to.equal(500);
    const found = [...of('pool-wait'), ...findings];
    const [finding] = found;
    expect(found.map(({ label }) => label)).to.deep.equal(['connection leak']);
    expect(finding?.sentence).to.match(
      new RegExp(
        `^Waited \\d+\\.\\d ms for a pool connection and got none \\(timeout .+\\); 1 connection was taken by GET /leak \\(${leaking.profile.token}\\) and not released after the response$`,
      ),
    );
    expect(finding?.place).to.match(/pool-wait\.test\.ts:\d+$/);
    expect(finding?.fix).to.contain('finally');
    const page = await ask.page(`/_profiler/${profile.token}.md`);
    expect(page).to.contain('finally { client.release(); }').and.not.contain('+-');
  });

  it('says that the request itself held the connections', async () => {
    const [finding] = (await ask('/crowd')).of('pool-wait');
    expect(finding).to.include({ label: 'pool wait', severity: 'warn', panel: 'database' });
    expect(finding?.sentence).to.match(
      /^Waited \d+\.\d+ m?s(?: \(\d+ % of the request\))? for a pool connection(?:, \d times)?; statements of this request held (?:1 connection|2 connections) during that time$/,
    );
  });

  it('says that the request’s own transaction held one', async () => {
    const [finding] = (await ask('/inside')).of('pool-wait');
    expect(finding?.sentence).to.contain('; a transaction of this request held one throughout');
  });

  it('names the requests that held them, with their lines, and links to their profiles', async () => {
    const holding = ask('/hold');
    await until(() => pool.numUsed() === 2, 'both connections are in use');
    const { of, profile } = await ask('/wait');
    const [finding] = of('pool-wait');
    expect(finding?.sentence).to.match(
      /; held by GET \/hold \(2 connections, test\/findings\/pool-wait\.test\.ts:\d+\)$/,
    );
    const holder = (await holding).profile;
    const [query] = (profile.panels.database?.data as DatabaseData).queries;
    expect(query?.heldBy?.map(({ profile: token, connections }) => [token, connections])).to.deep.equal([
      [holder.token, 2],
    ]);
    const $ = load(await ask.page(`/_profiler/${profile.token}?panel=database`));
    const holders = $(`a[href$="/_profiler/${holder.token}"]`).closest('div').text().replace(/\s+/g, ' ');
    expect(holders).to.include('All connections were in use when it requested one.').and.include('GET /hold');
  });

  it('names three of many, and no request of its own', () => {
    const data = first.profile.panels.database?.data as DatabaseData;
    const holder = (what: string, profile = 'bbbbbb') => ({ what, profile, place: null, connections: 1 });
    const { opened: _new, ...query } = data.queries[0]!;
    const find = (heldBy: NonNullable<DatabaseQuery['heldBy']>) => {
      const queries = [{ ...query, waitMs: 60, heldBy, full: true as const }];
      const kept = { database: { ...data, queries }, runtime: { concurrent: 2 } as Kept['runtime'] };
      const head = { durationMs: 100, status: 200, token: 'aaaaaa' } as ProfileHead;
      return draftsOf('pool-wait', kept, head, besideOf([WAITED], { totalMs: 100 }))[0]?.sentence;
    };
    const held = ['a', 'b', 'b', 'c', 'd'].map((name) => holder(`GET /${name}`));
    expect(find(held)).to.match(
      /; held by GET \/b \(2 connections\) and GET \/a \(1 connection\) and GET \/c \(1 connection\)$/,
    );
    // A leak stays a leak if another request with the same name is still running.
    expect(find([{ ...holder('GET /a'), ended: true }, holder('GET /a', 'cccccc')])).to.match(
      /; held by GET \/a \(1 connection, not released after its response\) and GET \/a \(1 connection\)$/,
    );
    expect(find([holder('GET /wait', 'aaaaaa')])).to.match(/; other requests may have held all connections$/);
  });

  it('reports nothing if connections were free', async () => {
    const free = await ask.when('/in-turn', ({ profile }) => timeOf(profile, 'connection') < 20);
    expect(free.of('pool-wait')).to.deep.equal([]);
  });
});
