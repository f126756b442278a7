import { Router } from 'express';
import { db } from './db.js';

export const products = Router();

let popular = [];

export async function refreshPopular() {
  popular = await db('products').orderBy('sold', 'desc').limit(10);
}

products.get('/', async function listProducts(req, res) {
  const { search = '' } = req.query;
  const rows = await db('products').select('id', 'name', 'price').whereLike('name', `${search}%`).limit(20);
  res.json(rows);
});

products.get('/popular', async function showPopular(req, res) {
  if (popular.length === 0) await refreshPopular();
  res.json(popular.map(({ id, name, price }) => ({ id, name, price })));
});

products.get('/:id', async function showProduct(req, res) {
  const product = await db('products')
    .where({ id: Number(req.params.id) })
    .first();
  if (product === undefined) {
    res.status(404).json({ error: 'no such product' });
    return;
  }
  const { id, name, price, sku } = product;
  res.set('cache-control', 'private, no-cache').json({ id, name, price, sku });
});

products.put('/:id/price', async function setPrice(req, res) {
  const id = Number(req.params.id);
  await db('products')
    .where({ id })
    .update({ price: Number(req.body.price) });
  const product = await db('products').where({ id }).first();
  res.json({ id, price: product.price });
});

products.post('/import', async function importProducts(req, res) {
  const rows = req.body.rows.map(({ sku, name }) => ({ sku, name, price: 100 }));
  await db('products').insert(rows).onConflict('sku').merge();
  res.json({ imported: rows.length });
});
