import { Router } from 'express';
import { db } from './db.js';

export const reports = Router();

export function scoreOf(rows) {
  return rows.reduce((sum, row) => sum + row.total * 1.19, 0);
}

reports.get('/revenue', async function revenue(req, res) {
  const rows = await db('orders').select('total').orderBy('id', 'desc').limit(200);
  res.json({ score: scoreOf(rows) });
});

reports.get('/customer', async function customerReport(req, res) {
  const [customer] = await db('customers').where({ email: req.query.email });
  const orders = await db('orders').where({ customer_id: customer.id }).limit(20);
  res.json({ customer: customer.name, orders: orders.length });
});

reports.get('/dashboard', async function dashboard(req, res) {
  const [orders, customers, products] = await Promise.all([
    db('orders').max('id as last').first(),
    db('customers').max('id as last').first(),
    db('products').max('id as last').first(),
  ]);
  res.json({ orders, customers, products });
});

reports.get('/audit', async function audit(req, res) {
  const rows = await db('audit').orderBy('id', 'desc').limit(50);
  res.json(rows);
});
