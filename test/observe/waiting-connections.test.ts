/** Requests that wait for a connection of a pool until their client leaves, because others did not release theirs. */
import { expect } from 'chai';
import mysql from 'mysql2/promise';
import pg from 'pg';
import type { Finding } from '../../app/index.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { withMariadb } from '../support/mariadb.ts';
import { postgresDatabase } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

describe('connections that are not released', () => {
  const leaked: { release(): void }[] = [];
  let pgPool: pg.Pool;
  let mysqlPool: mysql.Pool;
  // Before the server stops: a query that waits then runs.
  after(async () => {
    for (const client of leaked) client.release();
    await Promise.all([pgPool?.end(), mysqlPool?.end()]);
  });
  const connection = withMariadb();
  const ask = withFindingsApp((app) => {
    app.get('/pg/leak', async (_req, res) => {
      const client = await pgPool.connect();
      leaked.push(client);
      await client.query('select 1');
      res.send('x');
    });
    app.get('/pg/next', async (_req, res) => res.json((await pgPool.query('select 2')).rows));
    app.get('/mysql/leak', async (_req, res) => {
      const client = await mysqlPool.getConnection();
      leaked.push(client);
      await client.query('select 1');
      res.send('x');
    });
    app.get('/mysql/next', async (_req, res) => res.json((await mysqlPool.query('select 2'))[0]));
  });

  before(async function () {
    pgPool = new pg.Pool({ ...(await postgresDatabase(this)), max: 1 });
    const { host, port, user } = connection();
    mysqlPool = mysql.createPool({ host, port, user, connectionLimit: 1 });
  });

  for (const driver of ['pg', 'mysql'])
    it(`names the request that took them, though the wait never ends: ${driver}`, async () => {
      await ask(`/${driver}/leak`);
      const client = new AbortController();
      const asked = fetch(`${ask.origin()}/${driver}/next`, { signal: client.signal }).catch(() => null);
      const find = async (state: string) => {
        const list = JSON.parse(await ask.page(`/_profiler/search.json?url=/${driver}/next`)) as {
          profiles: { token: string; state: string; startedAt: number }[];
        };
        return list.profiles.find((one) => one.state === state);
      };
      await until(
        async () => Date.now() - ((await find('running'))?.startedAt ?? Infinity) > 200,
        'the request waits',
      );
      client.abort();
      await asked;
      await until(async () => (await find('final')) !== undefined, 'the request is over');
      const page = await ask.page(`/_profiler/${(await find('final'))?.token ?? ''}.json`);
      const { findings } = (JSON.parse(page) as { profile: { findings: Finding[] } }).profile;
      const leak = findings.find(({ rule }) => rule === 'pool-wait');
      expect(leak?.label).to.equal('connection leak');
      expect(leak?.sentence).to.match(
        new RegExp(
          `^Waited .+ for a pool connection and got none; 1 connection was taken by GET /${driver}/leak \\([\\da-f]{6}\\) and not released after the response$`,
        ),
      );
      expect(leak?.place).to.match(/waiting-connections\.test\.ts:\d+$/);
      expect(findings.map(({ rule }) => rule)).not.to.include('slow-statement');
    });
});
