import { Router } from 'express';
import { db } from './db.js';
import { addOrder, customersOf, itemsOf } from './order-data.js';

export const orders = Router();

orders.get('/', async function listOrders(req, res) {
  const rows = await db('orders').orderBy('id', 'desc').limit(20);
  const customers = await customersOf(rows);
  res.json(
    rows.map((row) => ({ id: row.id, total: row.total, customer: customers.get(row.customer_id).name })),
  );
});

orders.get('/recent', async function recentOrders(req, res) {
  const rows = await db('orders').select('id', 'total').orderBy('id', 'desc').limit(5);
  res.json(rows);
});

orders.get('/search', async function searchOrders(req, res) {
  const rows = await db('order_items')
    .where({ order_id: Number(req.query.order) })
    .limit(50);
  res.json(rows);
});

orders.get('/:id', async function showOrder(req, res) {
  const id = Number(req.params.id);
  if (!Number.isInteger(id)) {
    res.status(400).json({ error: 'id is not a number' });
    return;
  }
  const order = await db('orders').where({ id }).first();
  if (order === undefined) {
    res.status(404).json({ error: 'no such order' });
    return;
  }
  const [items, notes] = await Promise.all([itemsOf(id), db('notes').where({ order_id: id })]);
  res.json({ ...order, items, notes });
});

orders.get('/:id/notes', async function listNotes(req, res) {
  const rows = await db('notes').where({ order_id: req.params.id }).limit(50);
  res.json(rows);
});

orders.post('/', async function createOrder(req, res) {
  const { customerId, products } = req.body ?? {};
  if (!Array.isArray(products)) {
    res.status(400).json({ error: 'products is missing' });
    return;
  }
  const id = await addOrder(customerId, products);
  res.status(201).json({ id });
});

orders.put('/:id', async function updateOrder(req, res) {
  const changed = await db('orders')
    .where({ id: Number(req.params.id) })
    .update({ total: req.body.total });
  res.json({ changed });
});

orders.post('/:id/ship', async function shipOrder(req, res) {
  const id = Number(req.params.id);
  const count = await db.transaction(async (trx) => {
    const order = await trx('orders').where({ id }).forUpdate().first();
    await trx('orders').where({ id }).update({ shipped: true });
    return order === undefined ? 0 : 1;
  });
  res.json({ count });
});

orders.delete('/:id/notes', async function clearNotes(req, res) {
  await db('notes')
    .where({ order_id: Number(req.params.id) })
    .del();
  res.status(204).end();
});
