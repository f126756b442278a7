/** Applications without a fault: what is found in them is noise. Findings about time are left out, because the machine may be busy. */
import { expect } from 'chai';
import express, { type Express, type Router } from 'express';
import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { DataTypes, Sequelize } from 'sequelize';
import { createProfiler, type Profiler } from '../../app/index.ts';
import { express4 } from '../support/express-versions.ts';
import { steadyIn } from '../support/steady-findings.ts';
import { finalProfile } from '../support/final-profile.ts';
import { close, listen } from '../support/listen.ts';
import { withMariadb } from '../support/mariadb.ts';
import { sessionOf, sessions } from '../support/sessions.ts';
import { withQuietConsole } from '../support/quiet-console.ts';
import { withPostgres } from '../support/postgres.ts';

interface Item {
  id: number;
  name: string;
  price: number;
  active: boolean;
}

/** What the routes ask of a database. */
interface Items {
  list(search: string, limit: number, offset: number): Promise<object[]>;
  after(id: number, limit: number): Promise<Item[]>;
  count(): Promise<number>;
  one(id: number): Promise<object | null>;
  add(item: Omit<Item, 'id'>): Promise<object>;
  change(id: number, item: Partial<Item>): Promise<boolean>;
  remove(id: number): Promise<boolean>;
  buy(id: number): Promise<boolean>;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

function shop(make: typeof express, app: Express, items: Items): void {
  const users = new Map([['ann', hashOf('correct horse')]]);
  app.use('/assets', make.static('test/support/fixtures-of-none', { maxAge: '1h' }));
  app.use(sessions({ saveUninitialized: false }));
  app.use(make.json(), make.urlencoded({ extended: false }));
  const routes: Router = make.Router();
  routes.get('/', async (req, res) => {
    const page = Math.max(1, Number(req.query.page ?? 1));
    const search = typeof req.query.q === 'string' ? req.query.q : '';
    const [rows, total] = [await items.list(search, 10, (page - 1) * 10), await items.count()];
    res.json({ page, total, rows });
  });
  routes.get('/export.csv', async (_req, res) => {
    res.type('csv');
    let last = 0;
    for (;;) {
      const page = await items.after(last, 20);
      for (const { id, name } of page) res.write(`${id},${name}\n`);
      if (page.length < 20) break;
      last = page.at(-1)!.id;
    }
    res.end();
  });
  routes.get('/:id', async (req, res) => {
    const item = await items.one(Number(req.params.id));
    if (item === null) res.status(404).json({ error: 'not found' });
    else res.json(item);
  });
  routes.post('/', async (req, res) => {
    const { name, price, active } = req.body as {
      name?: string;
      price?: string | number;
      active?: string | boolean;
    };
    if (name === undefined || name.trim() === '') {
      res.status(422).json({ error: 'name' });
      return;
    }
    const item = await items.add({
      name: name.trim(),
      price: Number(price ?? 0),
      active: active === true || active === 'true' || active === 'on',
    });
    res.status(201).location('/items/1').json(item);
  });
  routes.patch('/:id', async (req, res) => {
    const { name } = req.body as { name: string };
    if (!(await items.change(Number(req.params.id), { name }))) res.sendStatus(404);
    else res.json(await items.one(Number(req.params.id)));
  });
  routes.delete('/:id', async (req, res) => {
    await items.remove(Number(req.params.id));
    res.sendStatus(204);
  });
  routes.post('/:id/buy', async (req, res) => {
    res.status((await items.buy(Number(req.params.id))) ? 200 : 409).json({ ok: true });
  });
  app.use('/items', routes);
  app.post('/login', (req, res) => {
    const { name, password } = req.body as { name: string; password: string };
    if (users.get(name) !== hashOf(password)) {
      res.status(401).json({ error: 'wrong' });
      return;
    }
    sessionOf(req).user = name;
    res.redirect(303, '/me');
  });
  app.get('/me', (req, res) => {
    const { user } = sessionOf(req) as { user?: string };
    if (user === undefined) res.redirect('/login');
    else res.set('Cache-Control', 'private, no-cache').send(`<!doctype html><p>Hello ${user}</p>`);
  });
  app.get('/login', (_req, res) => {
    res.send('<!doctype html><form method="post"><code>undefined</code></form>');
  });
  app.get('/robots.txt', (_req, res) => {
    res.type('text').set('Cache-Control', 'public, max-age=3600').send('User-agent: *\nDisallow:\n');
  });
  app.get('/events', (_req, res) => {
    res.type('text/event-stream').write('data: 1\n\n');
    res.end();
  });
}

const asJson = (method: string, body: unknown): RequestInit => ({
  method,
  body: typeof body === 'string' ? body : JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

/** Twice, because the first request of a kind opens connections and compiles. */
const VISITS: readonly (readonly [path: string, init?: RequestInit])[] = [
  ['/items'], ['/items?page=2&q=item'], ['/items?q=null'], ['/items/3'], ['/items/99999'], ['/items/export.csv'],
  ['/items', asJson('POST', { name: ' Lamp ', price: '12.50', active: true })],
  ['/items', asJson('POST', { price: 3 })],
  ['/items', asJson('POST', '{"name": ')],
  ['/items', { method: 'POST', body: new URLSearchParams({ name: 'Desk', price: '100', active: 'on' }) }],
  ['/items/3', asJson('PATCH', { name: 'Chair' })],
  ['/items/99999', asJson('PATCH', { name: 'Chair' })],
  ['/items/4/buy', { method: 'POST' }],
  ['/items/5', { method: 'DELETE' }],
  ['/login'], ['/me'],
  ['/login', asJson('POST', { name: 'ann', password: 'correct horse' })],
  ['/login', asJson('POST', { name: 'ann', password: 'wrong' })],
  ['/robots.txt'], ['/favicon.ico'], ['/events'], ['/assets/app.js'],
]; // prettier-ignore

describe('applications without a fault', () => {
  withQuietConsole();
  const server = withPostgres();
  const mariadb = withMariadb();
  const closing: (() => Promise<unknown>)[] = [];
  after(async () => {
    for (const end of closing.reverse()) await end();
  });

  async function findingsIn(make: typeof express, items: Items): Promise<string[]> {
    const profiler: Profiler = createProfiler({ warn: () => undefined });
    const app = make();
    app.use(profiler.watch, profiler.pages);
    shop(make, app, items);
    app.use(
      (
        error: Error & { status?: number },
        _req: express.Request,
        res: express.Response,
        next: express.NextFunction,
      ) => {
        if ((error.status ?? 500) >= 500) {
          next(error);
          return;
        }
        console.error(error.message);
        res.status(error.status ?? 400).json({ error: 'refused' });
      },
    );
    app.use(profiler.errors);
    const { server: listening, origin }: { server: Server; origin: string } = await listen(app);
    closing.push(async () => {
      await close(listening);
      await profiler.close();
    });
    const found: string[] = [];
    for (const [path, init] of [...VISITS, ...VISITS]) {
      const response = await fetch(origin + path, { redirect: 'manual', ...init });
      for (const { label, sentence } of steadyIn(await finalProfile(profiler, response)))
        found.push(`${init?.method ?? 'GET'} ${path}: ${label}: ${sentence}`);
    }
    return [...new Set(found)];
  }

  /** Said once of malformed JSON, although the application logs it, too. */
  const REFUSED = ': body refused: ';

  it('with pg on Express 5', async () => {
    const pool = new pg.Pool({ ...server().connection, max: 4 });
    closing.push(() => pool.end());
    await pool.query(
      'create table items (id serial primary key, name text, price numeric, active boolean, stock int default 5)',
    );
    await pool.query(
      "insert into items (name, price, active) select 'item ' || i, i, true from generate_series(1, 70) i",
    );
    const found = await findingsIn(express, {
      list: async (search, limit, offset) =>
        (
          await pool.query<Item>(
            'select id, name, price::float from items where name ilike $1 order by id limit $2 offset $3',
            [`%${search}%`, limit, offset],
          )
        ).rows,
      after: async (id, limit) =>
        (await pool.query<Item>('select id, name from items where id > $1 order by id limit $2', [id, limit]))
          .rows,
      count: async () => (await pool.query<{ n: number }>('select count(*)::int as n from items')).rows[0]!.n,
      one: async (id) =>
        (await pool.query<Item>('select *, price::float from items where id = $1', [id])).rows[0] ?? null,
      add: async ({ name, price, active }) =>
        (
          await pool.query<Item>(
            'insert into items (name, price, active) values ($1, $2, $3) returning id, name, price::float, active',
            [name, price, active],
          )
        ).rows[0]!,
      change: async (id, { name }) =>
        ((await pool.query('update items set name = $1 where id = $2', [name, id])).rowCount ?? 0) > 0,
      remove: async (id) => ((await pool.query('delete from items where id = $1', [id])).rowCount ?? 0) > 0,
      async buy(id) {
        const client = await pool.connect();
        try {
          await client.query('begin');
          const { rows } = await client.query<{ stock: number }>(
            'select stock from items where id = $1 for update',
            [id],
          );
          await client.query('update items set stock = $1 where id = $2', [rows[0]!.stock - 1, id]);
          await client.query('commit');
          return true;
        } finally {
          client.release();
        }
      },
    });
    expect(found.filter((one) => !one.includes(REFUSED))).to.deep.equal([]);
    expect(found).to.have.length(1);
  });

  it('with mysql2 on Express 4', async () => {
    const { database: name, ...where } = mariadb();
    const admin = await mysql.createConnection(where);
    await admin.query(`create database if not exists ${name}`);
    await admin.end();
    const pool = mysql.createPool({ ...mariadb(), connectionLimit: 4 });
    closing.push(() => pool.end());
    await pool.query(
      'create table items (id int primary key auto_increment, name varchar(80), price double, active boolean, stock int default 5)',
    );
    await pool.query('insert into items (name, price, active) values ?', [
      Array.from({ length: 70 }, (_, i) => [`item ${i + 1}`, i + 1, true]),
    ]);
    const rowsOf = async <T>(sql: string, values: unknown[] = []): Promise<T[]> =>
      (await pool.query(sql, values))[0] as T[];
    const changed = async (sql: string, values: unknown[]): Promise<number> =>
      ((await pool.query(sql, values))[0] as mysql.ResultSetHeader).affectedRows;
    const found = await findingsIn(express4, {
      list: (search, limit, offset) =>
        rowsOf('select id, name, price from items where name like ? order by id limit ? offset ?', [
          `%${search}%`,
          limit,
          offset,
        ]),
      after: (id, limit) =>
        rowsOf<Item>('select id, name from items where id > ? order by id limit ?', [id, limit]),
      count: async () => (await rowsOf<{ n: number }>('select count(*) as n from items'))[0]!.n,
      one: async (id) => (await rowsOf<Item>('select * from items where id = ?', [id]))[0] ?? null,
      async add(item) {
        const [{ insertId }] = await pool.query<mysql.ResultSetHeader>('insert into items set ?', [item]);
        return { id: insertId, ...item };
      },
      change: async (id, { name: changedName }) =>
        (await changed('update items set name = ? where id = ?', [changedName, id])) > 0,
      remove: async (id) => (await changed('delete from items where id = ?', [id])) > 0,
      buy: async (id) =>
        (await changed('update items set stock = stock - 1 where id = ? and stock > 0', [id])) > 0,
    });
    expect(found.filter((one) => !one.includes(REFUSED))).to.deep.equal([]);
    expect(found).to.have.length(1);
  });

  it('with Sequelize on Express 5', async () => {
    const { host, port, user, password, database } = server().connection;
    const sequelize = new Sequelize(database, user, password ?? '', {
      host,
      port,
      dialect: 'postgres',
      logging: false,
    });
    closing.push(() => sequelize.close());
    const Items = sequelize.define('Thing', {
      name: DataTypes.STRING,
      price: DataTypes.DOUBLE,
      active: DataTypes.BOOLEAN,
      stock: { type: DataTypes.INTEGER, defaultValue: 5 },
    });
    await Items.sync();
    await Items.bulkCreate(
      Array.from({ length: 70 }, (_, i) => ({ name: `item ${i + 1}`, price: i, active: true })),
    );
    const { Op } = await import('sequelize');
    const found = await findingsIn(express, {
      list: (search, limit, offset) =>
        Items.findAll({ where: { name: { [Op.iLike]: `%${search}%` } }, order: ['id'], limit, offset }),
      after: async (id, limit) =>
        (await Items.findAll({
          where: { id: { [Op.gt]: id } },
          order: ['id'],
          limit,
          raw: true,
        })) as unknown as Item[],
      count: () => Items.count(),
      one: (id) => Items.findByPk(id),
      add: (item) => Items.create(item),
      change: async (id, values) => (await Items.update(values, { where: { id } }))[0] > 0,
      remove: async (id) => (await Items.destroy({ where: { id } })) > 0,
      async buy(id) {
        const item = await Items.findByPk(id);
        await item?.decrement('stock');
        return true;
      },
    });
    expect(found.filter((one) => !one.includes(REFUSED))).to.deep.equal([]);
    expect(found).to.have.length(1);
  });
});
