/** Products, customers and a few weeks of orders, the same on every machine, so that figures can be compared. */
import type { Knex } from 'knex';

const PRODUCTS: readonly [name: string, priceCents: number, stock: number][] = [
  ['Clay teapot', 4800, 12],
  ['Brass kettle', 7900, 3],
  ['Linen towel', 1450, 140],
  ['Oak board', 3300, 26],
  ['Paring knife', 2600, 41],
  ['Salt cellar', 1900, 0],
  ['Walnut bowl', 5400, 9],
  ['Wool blanket', 11900, 5],
];

const CUSTOMERS: readonly [name: string, email: string][] = [
  ['Ada Byron', 'ada@shop.example'],
  ['Émile Borel', 'emile@shop.example'],
  ['Sofja Kowalewskaja', 'sofja@shop.example'],
  ['Srinivasa Ramanujan', 'srinivasa@shop.example'],
];

const ORDERS = 24;
const DAY_MS = 86_400_000;
const NEWEST = Date.UTC(2026, 9, 31, 18, 30);

export async function seed(db: Knex): Promise<void> {
  const products = await db('products')
    .insert(PRODUCTS.map(([name, price, stock]) => ({ name, price_cents: price, stock })))
    .returning<{ id: number }[]>('id');
  const customers = await db('customers')
    .insert(CUSTOMERS.map(([name, email]) => ({ name, email })))
    .returning<{ id: number }[]>('id');
  const orders = await db('orders')
    .insert(
      Array.from({ length: ORDERS }, (_item, number) => ({
        customer_id: customers[number % customers.length]?.id,
        placed_at: new Date(NEWEST - (ORDERS - number) * DAY_MS),
      })),
    )
    .returning<{ id: number }[]>('id');
  const lines = orders.flatMap(({ id }, number) =>
    Array.from({ length: 1 + (number % 3) }, (_item, line) => ({
      order_id: id,
      product_id: products[(number + line * 3) % products.length]?.id,
      quantity: 1 + ((number + line) % 4),
    })),
  );
  await db('order_lines').insert(lines);
}
