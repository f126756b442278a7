import { expect } from 'chai';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { withFindingsApp } from '../support/findings-app.ts';
import { withMariadb } from '../support/mariadb.ts';
import { postgresDatabase } from '../support/postgres.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding begin-through-pool', () => {
  const connection = withMariadb();
  let pgPool: pg.Pool;
  let mysqlPool: mysql.Pool;
  const ask = withFindingsApp((app) => {
    app.get('/pg/pool', async (_req, res) => {
      await pgPool.query('BEGIN');
      await pgPool.query('select 1');
      await pgPool.query('COMMIT');
      res.send('done');
    });
    app.get('/mysql/pool', async (_req, res) => {
      await mysqlPool.query('START TRANSACTION');
      await mysqlPool.query('select 1');
      await mysqlPool.query('COMMIT');
      res.send('done');
    });
    app.get('/client', async (_req, res) => {
      const client = await pgPool.connect();
      await client.query('BEGIN');
      await client.query('select 1');
      await client.query('COMMIT');
      client.release();
      res.send('done');
    });
  });
  before(async function () {
    pgPool = new pg.Pool({ ...(await postgresDatabase(this)), max: 3 });
    const { host, port, user } = connection();
    mysqlPool = mysql.createPool({ host, port, user, connectionLimit: 3 });
  });
  after(() => Promise.all([pgPool?.end(), mysqlPool?.end()]));

  for (const driver of ['pg', 'mysql'])
    it(`is named while it has not hurt yet: ${driver}`, async () => {
      const { of } = await ask(`/${driver}/pool`);
      const [finding] = of('begin-through-pool');
      expect(finding).to.include({ label: 'BEGIN through a pool', severity: 'bad', anchor: 'q1' });
      expect(finding?.sentence).to.match(/this time all statements got the same connection$/);
      expect(finding?.place).to.match(/^test\/findings\/begin-through-pool\.test\.ts:\d+$/);
    });

  it('is silent about one client for all', async () => {
    expect((await ask('/client')).of('begin-through-pool')).to.deep.equal([]);
  });

  it('counts what ran elsewhere, also of a library whose pool is not seen', () => {
    const statements = ['begin', 'update carts set id = 2', 'commit'].map((sql) => ({ sql }));
    const query = { bindings: [], instance: 'a', group: null, error: null, caller: 'a.ts:3' };
    const queries = [
      { ...query, statement: 0, connection: 'a1', transaction: 't1' },
      { ...query, statement: 1, connection: 'a2', transaction: null },
      { ...query, statement: 2, connection: 'a2', transaction: null },
    ];
    const kept = { database: { statements, queries } };
    const [finding] = draftsOf('begin-through-pool', kept);
    expect(finding?.sentence).to.contain(
      '2 of the 2 statements after it ran on another connection, COMMIT too, so the transaction stayed open',
    );
  });
});
