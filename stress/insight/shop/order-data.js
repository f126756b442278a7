import { db } from './db.js';

export async function customersOf(orders) {
  const ids = [...new Set(orders.map((order) => order.customer_id))];
  const rows = await db('customers').whereIn('id', ids);
  return new Map(rows.map((row) => [row.id, row]));
}

export function itemsOf(orderId) {
  return db('order_items').where({ order_id: orderId });
}

export async function priceOf(productIds) {
  const rows = await db('products').whereIn('id', productIds);
  return rows.reduce((sum, row) => sum + row.price, 0);
}

export async function addOrder(customerId, productIds) {
  const total = await priceOf(productIds);
  return db.transaction(async (trx) => {
    const [order] = await trx('orders').insert({ customer_id: customerId, total }).returning('id');
    const lines = productIds.map((id) => ({ order_id: order.id, product_id: id, quantity: 1 }));
    await trx('order_items').insert(lines);
    await trx('audit').insert({ kind: 'order', ref: order.id });
    return order.id;
  });
}
