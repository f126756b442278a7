import express from 'express';
import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

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
    ] as const)
      expect((await ask(path, json(method, { version: 2 }))).steady, path).to.deep.equal([]);
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
    expect((await ask('/products/1')).steady).to.deep.equal([]);
  });

  it('a list that is not filtered by whose it is', async () => {
    const { of } = await ask('/customers/1/orders');
    expect(of('more-than-wanted')[0]?.sentence).to.equal(
      'select … from orders has no WHERE and returned 30 rows; no statement has the parameter customer',
    );
    expect((await ask('/mine/1/orders')).steady).to.deep.equal([]);
  });

  it('joined lists that multiply each other', async () => {
    const { of } = await ask('/joined');
    expect(of('more-than-wanted')[0]?.sentence).to.equal(
      'select … from lines with 2 joins returned 400 rows for 40 entries of the response: joined lists multiply each other',
    );
  });

  it('a deep OFFSET, with the page by key', async () => {
    const { profile, of } = await ask('/page/11');
    expect(of('deep-offset')[0]?.sentence).to.match(
      /^select … from products skips 11,000 rows \(OFFSET\) to return 5: /,
    );
    const page = await ask.page(`/_profiler/${profile.token}.md`);
    expect(page).to.contain('where id > $1 order by');
    expect((await ask('/page/0')).steady).to.deep.equal([]);
  });

  it('a number computed from a row that was not locked', async () => {
    const { of } = await ask('/buy/7', json('POST', {}));
    expect(of('unlocked-update')[0]?.sentence).to.equal(
      'update products sets stock to a number computed from select … from products, which did not lock the row: of two requests at once, one is lost',
    );
    for (const path of ['/buy-locked/7', '/buy-in-place/7', '/stock/7'])
      expect((await ask(path, json('POST', { stock: 4 }))).steady, path).to.deep.equal([]);
  });
});
