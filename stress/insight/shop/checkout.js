import { Router } from 'express';
import { db } from './db.js';
import { ask, rateOf, shippingOf, stockOf, taxOf } from './partners.js';

export const checkout = Router();

checkout.get('/quote', async function quote(req, res) {
  const { currency = 'EUR', country = 'DE' } = req.query;
  const [rate, shipping, tax] = await Promise.all([rateOf(currency), shippingOf(country), taxOf(country)]);
  res.json({ rate: rate.rate, shipping: shipping.price, tax: tax.percent });
});

checkout.get('/stock', async function showStock(req, res) {
  const products = await db('products').select('id', 'name').orderBy('id').limit(12);
  const stock = await stockOf(products.map(({ id }) => id));
  res.json(products.map((product) => ({ ...product, left: stock[product.id] })));
});

checkout.get('/rate/:currency', async function showRate(req, res) {
  const { rate } = await rateOf(req.params.currency);
  res.json({ currency: req.params.currency, rate });
});

checkout.post('/pay', async function pay(req, res) {
  const { orderId, amount } = req.body;
  const { receipt } = await ask('/pay', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ orderId, amount }),
  });
  await db.transaction(async (trx) => {
    await trx('payments').insert({ order_id: orderId, amount, receipt });
    await trx('orders').where({ id: orderId }).update({ paid: true });
  });
  res.status(201).json({ receipt });
});
