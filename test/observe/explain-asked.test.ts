/** Plans that somebody asks for: of PostgreSQL and MariaDB, on the pool of the application, through the profiler's own page. */
import { load } from 'cheerio';
import { expect } from 'chai';
import express from 'express';
import mysql from 'mysql2/promise';
import type { Server } from 'node:http';
import pg from 'pg';
import { createProfiler, type Profiler } from '../../app/index.ts';
import { parseMysqlPlan, parseSqlitePlan } from '../../app/observe/databases/explain-plan.ts';
import { close, listen } from '../support/listen.ts';
import { withMariadb } from '../support/mariadb.ts';
import { withPostgres } from '../support/postgres.ts';

interface Asked {
  status: number;
  text: string;
  rows: string[];
}

describe('a plan that is asked for', () => {
  const server = withPostgres();
  const mariadb = withMariadb();
  let profiler: Profiler;
  let listening: Server;
  let origin: string;
  let pool: pg.Pool;
  let mysqlPool: mysql.Pool;

  before(async () => {
    const { host, port, user, password, database } = server().connection;
    profiler = createProfiler({ explainMs: 0 });
    pool = new pg.Pool({ host, port, user, password, database, max: 3 });
    await pool.query(
      'create schema shop; create table shop.orders as select id, id % 7 as kind from generate_series(1, 3000) as id',
    );
    await pool.query('create table accounts (id int, password text)');
    const { database: name, ...where } = mariadb();
    const admin = await mysql.createConnection(where);
    await admin.query(`create database if not exists ${name}`);
    await admin.end();
    mysqlPool = mysql.createPool({ ...mariadb(), connectionLimit: 3 });
    await mysqlPool.query('create table parts (id int primary key, kind int)');
    await mysqlPool.query('insert into parts values (1, 1), (2, 1), (3, 2)');
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/orders', async (_req, res) => {
      const client = await pool.connect();
      await client.query('set search_path to shop');
      const { rowCount } = await client.query('select * from orders where kind = $1', [3]);
      await client.query('reset search_path');
      client.release();
      res.json(rowCount);
    });
    app.get('/lock', async (_req, res) => {
      await pool.query('select pg_try_advisory_xact_lock($1)', [7]);
      res.json({});
    });
    app.get('/login', async (req, res) => {
      await pool.query('select id from accounts where password = $1', [req.query.password]);
      res.json({});
    });
    app.post('/orders', async (_req, res) => {
      await pool.query('update shop.orders set kind = 3 where id = $1', [1]);
      res.json({});
    });
    app.get('/parts', async (_req, res) => {
      const [rows] = await mysqlPool.query('select * from parts where kind = ? order by id', [1]);
      res.json(rows);
    });
    ({ server: listening, origin } = await listen(app));
  });
  after(async () => {
    if (listening !== undefined) await close(listening);
    await profiler?.close();
    await pool?.end();
    await mysqlPool?.end();
  });

  async function record(path: string, init?: RequestInit): Promise<string> {
    const response = await fetch(origin + path, init);
    expect(response.status).to.equal(200);
    return response.headers.get('x-debug-token') ?? '';
  }

  /** The form of the page, with these fields beside its own. */
  async function ask(token: string, query: number, more: Record<string, string> = {}): Promise<Asked> {
    const address = `${origin}/_profiler/${token}?panel=database`;
    const $ = load(await (await fetch(address)).text());
    const csrf = $('form[action$="/-/explain"] input[name=csrf]').val();
    expect($(`form[action$="/-/explain"] option[value=${query}]`).length).to.equal(1);
    const response = await fetch(`${origin}/_profiler/-/explain`, {
      method: 'POST',
      body: new URLSearchParams({ csrf: String(csrf), token, query: String(query), ...more }),
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    const text = await response.text();
    const rows = load(text)('table.plan tbody tr')
      .toArray()
      .map((row) => load(row).text().replace(/\s+/g, ' ').trim());
    return { status: response.status, text, rows };
  }

  it('is made under the settings that the connection had', async () => {
    const { status, rows, text } = await ask(await record('/orders'), 1);
    expect([status, rows.length]).to.deep.equal([200, 1]);
    expect(rows[0]).to.contain('Seq Scan on orders').and.contain('Filter');
    expect(text).to.not.contain('Measured');
  });

  it('is measured after a question, and only for a single SELECT', async () => {
    const token = await record('/orders');
    const question = await ask(token, 1, { analyze: 'yes' });
    expect(question.status).to.equal(200);
    expect(load(question.text)('h1').text()).to.equal('Run this statement to measure it?');
    const { rows, text } = await ask(token, 1, { analyze: 'yes', sure: 'yes' });
    expect(text).to.contain('EXPLAIN ANALYZE');
    expect(rows[0]).to.match(/Seq Scan on orders.*429, \d+\.\d ms/);
    const update = await record('/orders', { method: 'POST' });
    expect((await ask(update, 0)).rows.join('\n')).to.contain('Update on orders');
    const refused = await ask(update, 0, { analyze: 'yes', sure: 'yes' });
    expect([refused.status, load(refused.text)('main').text()]).to.satisfy(
      ([code, said]: [number, string]) => code === 400 && said.includes('Only a single SELECT'),
    );
  });

  it('is not measured if it calls a function that locks', async () => {
    const { status, text } = await ask(await record('/lock'), 0, { analyze: 'yes', sure: 'yes' });
    expect(status).to.equal(400);
    expect(load(text)('main').text()).to.include('no function that locks');
  });

  it('is the generic one if values are masked', async () => {
    const { text, rows } = await ask(await record('/login?password=correct-horse-battery'), 0);
    expect(rows[0]).to.contain('Seq Scan on accounts').and.contain('[masked');
    expect(load(text)('main').text()).to.contain('This is the generic plan');
    const { rowCount } = await pool.query(
      "select 1 from pg_prepared_statements where name like 'hindsight%'",
    );
    expect(rowCount).to.equal(0);
    expect(text).to.not.contain('correct-horse');
  });

  it('is that of MariaDB, too', async () => {
    const token = await record('/parts');
    expect((await ask(token, 0)).rows.join('\n')).to.match(
      /Sort .*\n.*(?:Table scan|Index scan).* on parts|(?:Table scan|Index scan).* on parts/,
    );
    const { rows, text } = await ask(token, 0, { analyze: 'yes', sure: 'yes' });
    expect(text).to.contain('EXPLAIN ANALYZE');
    expect(rows.join('\n')).to.contain('on parts');
  });

  it('is refused over GET, without the form, and in another process', async () => {
    const token = await record('/orders');
    expect((await fetch(`${origin}/_profiler/-/explain`)).status).to.be.oneOf([404, 405]);
    const forged = await fetch(`${origin}/_profiler/-/explain`, {
      method: 'POST',
      body: new URLSearchParams({ token, query: '1' }),
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(forged.status).to.equal(403);
  });

  it('is read from the text of MySQL and SQLite', () => {
    const tree = parseMysqlPlan(
      '-> Sort: o.id  (cost=12.5 rows=30) (actual time=0.9..1.0 rows=28 loops=1)\n    -> Filter: (o.kind = 3)  (cost=10.1 rows=30) (actual time=0.1..0.8 rows=28 loops=1)\n        -> Table scan on o  (cost=10.1 rows=200) (actual time=0.05..0.6 rows=200 loops=1)\n',
      (text) => text,
    );
    expect(tree?.root).to.deep.include({
      type: 'Sort: o.id',
      rows: 30,
      cost: 12.5,
      ran: { rows: 28, loops: 1, ms: 1 },
    });
    expect(tree?.root.nodes?.[0]?.nodes?.[0]?.type).to.equal('Table scan on o');
    const rows = [
      { id: 3, parent: 0, detail: 'SCAN orders' },
      { id: 5, parent: 0, detail: 'SEARCH lines USING INDEX lines_order (order_id=?)' },
    ];
    expect(parseSqlitePlan(rows, (text) => text)?.root.nodes?.map(({ type }) => type)).to.deep.equal(
      rows.map(({ detail }) => detail),
    );
  });
});
