import express from 'express';
import { expect } from 'chai';
import { mysqlDriver } from '../../app/observe/databases/mysql.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { countIds } from '../../app/observe/databases/statement.ts';
import { draftsOf } from '../support/find-by-rule.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

describe('findings from the text of statements', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw(
        'create table products as select id, 10 as stock, 1 as version from generate_series(1, 12000) as id',
      );
      await knex.raw('create index on products (id)');
      await knex.raw('create table orders as select id, 1 as customer_id from generate_series(1, 30) as id');
      await knex.raw(
        'create table lines as select o as order_id, l as id from generate_series(1, 3) as o, generate_series(1, 20) as l',
      );
      await knex.raw(
        "create table labels as select id, 'label ' || id as name from generate_series(1, 9) as id",
      );
      await knex.raw('create table payments (key text, cents int)');
      await knex.raw('create table notes as select order_id, id from lines');
    },
    (app, knex) => {
      app.use(express.json());
      app.patch('/products/:id', async (req, res) => {
        await knex('products')
          .where({ id: req.params.id })
          .update(req.body as object);
        res.json({ ok: true });
      });
      app.patch('/checked/:id', async (req, res) => {
        const changed = await knex('products').where({ id: req.params.id }).update({ version: 2 });
        res.status(changed === 0 ? 404 : 200).json({});
      });
      app.delete('/products/:id', async (req, res) => {
        const { id } = req.params;
        await knex('products').where({ id }).whereNull('stock').update({ stock: null });
        res.sendStatus(204);
      });
      app.patch('/versioned/:id', async (req, res) => {
        const { id } = req.params;
        const { version, isRetried = false } = req.body as { version: number; isRetried?: boolean };
        const changed = await knex('products').where({ id, version }).update({ stock: 7 });
        if (isRetried && changed === 0) await knex('products').where({ id }).update({ stock: 7 });
        await knex('payments').insert({ key: id, cents: 1 });
        res.json({ ok: true });
      });
      app.put('/upserted/:id', async (req, res) => {
        const { id } = req.params;
        if ((await knex('products').where({ id }).update({ version: 3 })) === 0)
          await knex('products').insert({ id, stock: 1, version: 1 });
        res.json({ ok: true });
      });
      app.patch('/orders/:id', async (_req, res) => {
        await knex('orders').update({ customer_id: 1 });
        res.json({ ok: true });
      });
      app.get('/products/:id', async (req, res) => {
        res.json((await knex('products').where({ id: req.params.id }).first()) ?? null);
      });
      app.get('/customers/:customer/orders', async (_req, res) => {
        res.json(await knex('orders').select());
      });
      app.get('/mine/:customer/orders', async (req, res) => {
        res.json(await knex('orders').where({ customer_id: req.params.customer }));
      });
      app.get('/joined', async (_req, res) => {
        const rows: { line: number; note: number }[] = await knex('lines')
          .join('notes', 'notes.order_id', 'lines.order_id')
          .join('orders', 'orders.id', 'lines.order_id')
          .where('orders.id', 1)
          .select({ line: 'lines.id', note: 'notes.id' });
        res.json({
          lines: [...new Set(rows.map(({ line }) => line))],
          notes: [...new Set(rows.map(({ note }) => note))],
        });
      });
      app.get('/page/:page', async (req, res) => {
        res.json(
          await knex('products')
            .orderBy('id')
            .limit(5)
            .offset(Number(req.params.page) * 1000),
        );
      });
      app.delete('/notes', async (req, res) => {
        const { order } = req.query as { order?: string };
        await knex('notes')
          .modify((query) => (order === undefined ? query : query.where({ order_id: order })))
          .whereRaw(order === undefined ? 'true' : 'false')
          .delete();
        res.json({});
      });
      app.delete('/lines', async (_req, res) => {
        await knex.transaction(async (trx) => {
          await trx.raw('delete from lines');
          await trx.rollback();
        });
        res.json({});
      });
      app.get('/search', async (req, res) => {
        const { q = '' } = req.query as { q?: string };
        const text = q.replace(req.query.escaped === undefined ? /^$/ : /[%_]/g, '\\$&');
        res.json(await knex('labels').whereLike('name', `%${text}%`).select('id'));
      });
      app.get('/orders-with-lines', async (req, res) => {
        const rows: { id: number; line: number }[] = await knex('orders')
          .join('lines', 'lines.order_id', 'orders.id')
          .where('lines.id', '<', 5)
          .orderBy('orders.id')
          .select({ id: 'orders.id', line: 'lines.id' })
          .limit(req.query.all === undefined ? 8 : 1000);
        const ids = [...new Set(rows.map(({ id }) => id))];
        const linesOf = (own: number) => rows.flatMap(({ id, line }) => (id === own ? [line] : []));
        res.json(ids.map((id) => ({ id, lines: linesOf(id) })));
      });
      app.get('/first/:by', async (req, res) => {
        const page = Number(req.query.page ?? 1);
        const offset = 5 * (page - (req.params.by === 'one' ? 1 : 0));
        res.json(await knex('products').orderBy('id').limit(5).offset(offset).select('id'));
      });
      app.post('/pay', async (req, res) => {
        const key = req.get('idempotency-key') ?? '';
        if ((await knex('payments').where({ key })).length === 0)
          await knex('payments').insert({ key: req.query.lost === undefined ? key : 'x', cents: 5 });
        res.json({});
      });
      app.post('/buy/:id', async (req, res) => {
        const { id } = req.params;
        const { stock } = (await knex('products').where({ id }).first()) as { stock: number };
        await knex('products')
          .where({ id })
          .update({ stock: stock - 1 });
        res.json({ ok: true });
      });
      app.post('/buy-locked/:id', async (req, res) => {
        const { id } = req.params;
        await knex.transaction(async (trx) => {
          const { stock } = (await trx('products').where({ id }).forUpdate().first()) as { stock: number };
          await trx('products')
            .where({ id })
            .update({ stock: stock - 1 });
        });
        res.json({ ok: true });
      });
      app.post('/buy-in-place/:id', async (req, res) => {
        const { id } = req.params;
        await knex('products').where({ id }).first();
        await knex('products').where({ id }).decrement('stock', 1);
        res.json({ ok: true });
      });
      app.post('/stock/:id', async (req, res) => {
        const { id } = req.params;
        await knex('products').where({ id }).first();
        await knex('products')
          .where({ id })
          .update(req.body as object);
        res.json({ ok: true });
      });
    },
  );

  const json = (method: string, body: object) => ({
    method,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });

  it('an update that changed no row and was answered 200', async () => {
    const { of } = await ask('/products/99999', json('PATCH', { version: 2 }));
    expect(of('no-row-changed')[0]).to.include({
      severity: 'warn',
      sentence: 'update products changed 0 rows, but this request answered 200',
    });
    expect(of('no-row-changed')[0]?.place).to.match(/statements\.test\.ts:\d+$/);
    for (const [path, method] of [
      ['/products/1', 'PATCH'],
      ['/checked/99999', 'PATCH'],
      ['/upserted/99999', 'PUT'],
      ['/products/99999', 'DELETE'],
    ] as const)
      expect((await ask(path, json(method, { version: 2 }))).findings, path).to.deep.equal([]);
  });

  it('an update that the version of the row kept from it, although something else was written', async () => {
    const version = (await ask('/versioned/1', json('PATCH', { version: 77 }))).of('no-row-changed')[0];
    expect(version).to.include({
      severity: 'bad',
      sentence:
        'update products changed 0 rows (its condition also asks for version), but this request answered 200, after insert into payments',
    });
    await ask('/products/1', json('PATCH', { version: 5 }));
    for (const body of [{ version: 5 }, { version: 77, isRetried: true }])
      expect((await ask('/versioned/1', json('PATCH', body))).of('no-row-changed')).to.deep.equal([]);
  });

  it('a delete without WHERE although a parameter was sent', async () => {
    const { of } = await ask('/lines?order=1', { method: 'DELETE' });
    expect(of('all-rows-changed')[0]?.sentence).to.equal(
      'delete from lines has no WHERE and changed 60 rows, and no statement has the parameter order',
    );
    expect((await ask('/lines', { method: 'DELETE' })).of('all-rows-changed')).to.deep.equal([]);
    expect((await ask('/notes?order=1', { method: 'DELETE' })).of('all-rows-changed')).to.deep.equal([]);
  });

  it('a pattern with the wildcards of the client', async () => {
    expect((await ask('/search?q=%25')).of('wildcard-received')[0]?.sentence).to.equal(
      'select … from labels found 9 rows by a pattern in which the wildcards of q are not escaped: they match any name',
    );
    for (const path of ['/search?q=label', '/search?q=%25&escaped=1'])
      expect((await ask(path)).of('wildcard-received'), path).to.deep.equal([]);
  });

  it('a limit of joined rows', async () => {
    expect((await ask('/orders-with-lines')).of('limit-of-joined')[0]?.sentence).to.equal(
      'select … from orders has LIMIT 8, but the response has 2 entries: the limit counts the joined rows',
    );
    expect((await ask('/orders-with-lines?all=1')).of('limit-of-joined')).to.deep.equal([]);
  });

  it('a first page that is skipped, unless pages count from 0', async () => {
    expect((await ask('/first/nought')).of('first-page-skipped')[0]?.sentence).to.equal(
      'select … from products skips the first 5 rows (OFFSET 5) although no page was asked for',
    );
    expect((await ask('/first/nought?page=1')).of('first-page-skipped')[0]?.sentence).to.match(
      /\(OFFSET 5\) for page 1, and none of 1 earlier request read them: pages seem to be counted/,
    );
    await ask('/first/nought?page=0');
    expect((await ask('/first/nought?page=1')).of('first-page-skipped')).to.deep.equal([]);
    for (const path of ['/first/one', '/first/one?page=1', '/first/one?page=2'])
      expect((await ask(path)).of('first-page-skipped'), path).to.deep.equal([]);
  });

  it('an idempotency key that is not stored', async () => {
    const pay = { method: 'POST', headers: { 'idempotency-key': 'pay-1' } };
    expect((await ask('/pay?lost=1', pay)).of('idempotency-key-lost')[0]?.sentence).to.equal(
      'select … from payments asked for the Idempotency-Key, but insert into payments does not store it: a repetition of this request does the work again',
    );
    expect((await ask('/pay', pay)).of('idempotency-key-lost')).to.deep.equal([]);
  });

  it('a row that MySQL wrote with a warning', () => {
    const found = (sql: string, result: object, text = 'a') =>
      draftsOf('written-with-warning', {
        database: {
          statements: [{ sql, system: 'mysql' }],
          queries: [
            {
              ...mysqlDriver.outcome({ result } as never),
              error: null,
              statement: 0,
              bindings: [{ name: 'text', value: text }],
            },
          ],
        },
      });
    const insert = 'insert into notes (text) values (?)';
    expect(found(insert, { affectedRows: 1, warningStatus: 1 })?.[0]?.sentence).to.equal(
      'insert into notes succeeded with 1 warning of the database: it may have cut off or converted a value',
    );
    expect(found(insert, { affectedRows: 1, warningStatus: 0 })).to.deep.equal([]);
    expect(found(insert, { affectedRows: 1, warningStatus: 1 }, 'Sun \u{1f31e}')?.[0]?.sentence).to.equal(
      'insert into notes succeeded with 1 warning of the database: text has a character of four bytes, such as an emoji, at which a column of utf8mb3 cuts off or replaces the text',
    );
    const ignoring = 'insert ignore into notes (text) values (?)';
    expect(found(ignoring, { affectedRows: 0, warningStatus: 1 })).to.deep.equal([]);
    expect(found(ignoring, { affectedRows: 1, warningStatus: 1 })).to.have.length(1);
  });

  it('a number that MySQL compares with texts', () => {
    const kept = (code: number | string) => ({
      request: { body: { fields: null, parsed: { code } } },
      database: {
        statements: [{ sql: 'select * from vouchers where code = ?', system: 'mysql' }],
        queries: [
          { statement: 0, rows: 1, error: null, caller: 'a.js:6', bindings: [{ name: 'code', value: code }] },
        ],
      },
    });
    const found = (code: number | string, before: number | string) =>
      draftsOf('compared-as-number', kept(code), {}, { earlier: [{ head: {}, kept: kept(before) }] });
    expect(found(0, 'SPRING')?.[0]?.sentence).to.match(
      /^select … from vouchers compares code with a number, and with a text in 1 earlier request: MySQL/,
    );
    expect(found('SPRING', 'NONE')).to.deep.equal([]);
    expect(found(1, 2)).to.deep.equal([]);
    expect(found('[masked 1, number]', '[masked 1, string]')).to.have.length(1);
    expect(found('[masked 1, string]', '[masked 1, string]')).to.deep.equal([]);
  });

  it('an update without WHERE in a route that names one', async () => {
    const { of } = await ask('/orders/3', json('PATCH', {}));
    expect(of('all-rows-changed')[0]).to.include({
      severity: 'bad',
      sentence: 'update orders has no WHERE and changed 30 rows, although the address names one',
    });
  });

  it('a 200 for a row that is not there', async () => {
    const { of } = await ask('/products/77777');
    expect(of('found-nothing')[0]?.sentence).to.equal(
      'select … from products found no row for id, but this request answered 200 without a value',
    );
    expect((await ask('/products/1')).findings).to.deep.equal([]);
  });

  it('a list that is not filtered by whose it is', async () => {
    const { of } = await ask('/customers/1/orders');
    expect(of('more-than-wanted')[0]?.sentence).to.equal(
      'select … from orders has no WHERE and returned 30 rows; no statement has the parameter customer',
    );
    expect((await ask('/mine/1/orders')).findings).to.deep.equal([]);
  });

  it('joined lists that multiply each other', async () => {
    const { of } = await ask('/joined');
    expect(of('more-than-wanted')[0]?.sentence).to.equal(
      'select … from lines with 2 joins returned 400 rows for 40 entries of the response: joined lists multiply each other',
    );
  });

  it('joined lists of one thing, with the product that they make', () => {
    const sql = 'select * from a left join b on b.a = a.id left join c on c.a = a.id where a.id = 1';
    const of = (ids: Readonly<Record<string, number>>) => {
      const database = keptQueries({ sql, rows: 117_600, ids });
      const request = { ...keptRequest(), response: { text: '<p>', contentType: 'text/html' } };
      return draftsOf('more-than-wanted', { database, request, routing: { route: null } })[0];
    };
    expect(of({ id: 1, 'b.id': 420, 'c.id': 280 })?.sentence).to.match(
      /^select … from a with 2 joins returned 117,600 rows in 1\.0 ms.*: joined lists multiply each other, 420 b\.id × 280 c\.id, which two statements would read as 700 rows$/,
    );
    expect(of({ id: 1, 'b.id': 420, 'c.id': 280, 'd.id': 117_600 }), 'a matrix').to.equal(undefined);
    expect(of({ 'b.id': 420, 'c.id': 280 }), 'not of one thing').to.equal(undefined);
    expect(of({ id: 1, 'b.id': 420, 'c.id': 281 })).to.equal(undefined);
  });

  it('counts ids in large results of two joins, whatever a row is', () => {
    const rows = Array.from({ length: 1000 }, (_, at) => ({ id: 1, 'b.id': at % 20, name: at }));
    const sql = 'select * from a join b on true join c on true';
    expect(countIds([...rows, null], sql)).to.deep.equal({ id: 2, 'b.id': 21 });
    expect(countIds(rows, sql)).to.deep.equal({ id: 1, 'b.id': 20 });
    expect(countIds(rows.slice(1), sql)).to.equal(null);
    expect(countIds(rows, 'select * from a join b on true')).to.equal(null);
  });

  it('a deep OFFSET, with the page by key', async () => {
    const { profile, of } = await ask('/page/11');
    expect(of('deep-offset')[0]?.sentence).to.match(
      /^select … from products skips 11,000 rows \(OFFSET\) to return 5: /,
    );
    const page = await ask.page(`/_profiler/${profile.token}.md`);
    expect(page).to.contain('where id > $1 order by');
    expect((await ask('/page/0')).findings).to.deep.equal([]);
  });

  it('a number computed from a row that was not locked', async () => {
    const { of } = await ask('/buy/7', json('POST', {}));
    expect(of('unlocked-update')[0]?.sentence).to.equal(
      'update products sets stock to a number computed from select … from products, which did not lock the row: of two requests at once, one is lost',
    );
    for (const path of ['/buy-locked/7', '/buy-in-place/7', '/stock/7'])
      expect((await ask(path, json('POST', { stock: 4 }))).findings, path).to.deep.equal([]);
  });
});
