import { once, type EventEmitter } from 'node:events';
import { expect } from 'chai';
import knexLibrary from 'knex';
import mysql from 'mysql';
import mysql2 from 'mysql2';
import { mysqlPatches } from '../../app/observe/channels/mysql.ts';
import { mysqlDriver } from '../../app/observe/databases/mysql.ts';
import { withMariadb } from '../support/mariadb.ts';
import {
  expectOnceBelow,
  type ObservedRequests,
  observeRequests,
  recording,
} from '../support/observed-requests.ts';

const HERE = /^test\/observe\/mysql\.test\.ts:\d+$/;

/** What both drivers have in common. */
interface Connection {
  query(sql: object, callback: (error: Error | null, result?: unknown) => void): unknown;
  query(sql: string, values: unknown, callback?: (error: Error | null, result?: unknown) => void): unknown;
}
interface Pool extends Connection {
  getConnection(callback: (error: Error | null, connection: Connection & { release(): void }) => void): void;
  end(callback: () => void): void;
}

function ask(connection: Connection, sql: string | object, values: unknown[] = []): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, result?: unknown): void => {
      if (error === null) resolve(result);
      else reject(error);
    };
    if (typeof sql === 'string') connection.query(sql, values, done);
    else connection.query(sql, done);
  });
}

function lease(pool: Pool): Promise<Connection & { release(): void }> {
  return new Promise((resolve, reject) => {
    pool.getConnection((error, connection) => {
      if (error === null) resolve(connection);
      else reject(error);
    });
  });
}

describe('MySQL drivers as they are observed', () => {
  const server = withMariadb();
  let requests: ObservedRequests;

  before(async () => {
    const { database, ...connection } = server();
    const first = mysql2.createConnection(connection).promise();
    await first.query(`create database ${database}`);
    await first.query(`create table ${database}.things (id int primary key, name text)`);
    await first.query(`insert into ${database}.things values (1, 'a'), (2, 'b'), (3, 'c')`);
    await first.end();
  });
  beforeEach(() => {
    requests = observeRequests({ patches: mysqlPatches, listen: recording(mysqlDriver) });
  });
  afterEach(() => {
    requests.close();
  });

  for (const [name, library] of Object.entries({ mysql2, mysql }))
    describe(name, () => {
      let pool: Pool;
      before(() => {
        pool = (library as typeof mysql2).createPool({ ...server(), connectionLimit: 2 });
      });
      after((done) => {
        pool.end(() => done());
      });

      it('tells statement, values apart, rows, connection and caller', async () => {
        const queries = await requests.observed(async () => {
          await ask(pool, 'select * from `things` where id < ?', [3]);
          await ask(pool, { sql: 'update things set name = ? where id = ?', values: ['z', 1] });
          const connection = await lease(pool);
          await ask(connection, 'select 1');
          await ask(connection, 'select * from nowhere').catch(() => undefined);
          connection.release();
        });
        expect(queries.map(({ sql, bindings, rows }) => [sql, bindings, rows])).to.deep.equal([
          ['select * from `things` where id < ?', [3], 2],
          ['update things set name = ? where id = ?', ['z', 1], 1],
          ['select 1', [], 1],
          ['select * from nowhere', [], null],
        ]);
        const { host, port, database } = server();
        for (const query of queries) {
          expect(query).to.include({ system: 'mysql', transaction: null });
          expect(query.server).to.equal(`${host}:${port}/${database}`);
          expect(query.connection).to.match(/^mysql\d+$/);
          expect(query.durationMs).to.be.greaterThan(0);
          expect(query.caller).to.match(HERE);
        }
        expect(queries[3]?.error).to.contain("'test.nowhere' doesn't exist");
        expect(requests.libraries.found().map((found) => found.name)).to.include(name);
      });

      it('names the line of a statement to a cluster of pools', async () => {
        const cluster = (library as typeof mysql2).createPoolCluster();
        cluster.add('ONE', server());
        const [query] = await requests.observed(() => ask(cluster.of('*'), 'select 9'));
        await new Promise<unknown>((done) => cluster.end(done));
        expect(query?.caller).to.match(HERE);
      });

      it('ends a statement whose error nobody listens to', async () => {
        const connection = await lease(pool);
        const [query] = await requests.observed(async () => {
          const failed = once(connection as unknown as EventEmitter, 'error').catch(
            (error: unknown) => error,
          );
          connection.query('select * from nowhere', []);
          await failed;
        });
        (connection as unknown as { destroy(): void }).destroy();
        expect(query?.error).to.contain("'test.nowhere' doesn't exist");
        expect(query?.durationMs).to.be.a('number');
      });
    });

  it('is silent below a Knex that records: each statement once', async () => {
    const knex = knexLibrary({ client: 'mysql2', connection: { ...server() }, pool: { min: 0, max: 2 } });
    await expectOnceBelow(requests, knex, 'mysql');
  });

  it('sees promises, prepared statements and named placeholders of mysql2', async () => {
    const pool = mysql2.createPool({ ...server(), namedPlaceholders: true }).promise();
    const queries = await requests.observed(async () => {
      await pool.query('select * from things where id = ?', [2]);
      await pool.execute('select * from things where id < ?', [3]);
      await pool.query('select * from things where name <> :other and id = :id', { id: 1, other: 'x' });
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.execute('update things set name = ? where id = ?', ['y', 2]);
      await connection.rollback();
      connection.release();
    });
    await pool.end();
    expect(queries.map(({ sql, bindings, rows }) => [sql, bindings, rows])).to.deep.equal([
      ['select * from things where id = ?', [2], 1],
      ['select * from things where id < ?', [3], 2],
      ['select * from things where name <> :other and id = :id', ['x', 1], 1],
      ['START TRANSACTION', [], 0],
      ['update things set name = ? where id = ?', ['y', 2], 1],
      ['ROLLBACK', [], 0],
    ]);
    for (const { caller } of queries) expect(caller).to.match(HERE);
    expect(new Set(queries.slice(3).map(({ transaction }) => transaction)).size).to.equal(1);
  });

  it('sees each execution of a statement that mysql2 has prepared', async () => {
    const connection = mysql2.createConnection({ ...server() });
    const sql = 'select * from things where id < ?';
    const queries = await requests.observed(async () => {
      const prepared = await connection.promise().prepare(sql);
      for (const id of [2, 4]) await prepared.execute([id]);
      await prepared.execute([]).catch(() => undefined);
      await prepared.close();
    });
    connection.destroy();
    expect(queries.map((query) => [query.sql, query.bindings, query.rows])).to.deep.equal([
      [sql, [2], 1],
      [sql, [4], 3],
      [sql, [], null],
    ]);
    expect(queries.map(({ error }) => error !== null)).to.deep.equal([false, false, true]);
    for (const { caller } of queries) expect(caller).to.match(HERE);
  });

  it('tells what variables an earlier request left, if they say who acts, to statements with triggers', async () => {
    const connection = mysql2.createConnection({ ...server() });
    const left = async (set: string, sql: string): Promise<string | undefined> => {
      await requests.observed(() => ask(connection, set));
      const [, query] = await requests.observed(async () => {
        await ask(connection, 'select id from things');
        await ask(connection, sql);
      });
      return query?.setting?.name;
    };
    const write = "update things set name = 'a' where id = 1";
    expect(await left('set @rank = 0', write)).to.equal(undefined);
    expect(await left('set @user_id = 7', 'select name from things')).to.equal(undefined);
    expect(await left('set @user_id = 7', write)).to.equal('@user_id');
    connection.destroy();
  });
});
