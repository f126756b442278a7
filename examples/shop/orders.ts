/**
 * Queries for orders. `listOrders` reads the lines of each order with a separate statement: the N+1 that the profiler should
 * find. `findOrder` shows the join that replaces it.
 */
import type { Knex } from 'knex';
import { findProduct } from './catalogue.ts';
import { CheckoutError, NotFoundError, StockError } from './errors.ts';

export interface OrderLine {
  product: string;
  quantity: number;
  priceCents: number;
}

export interface Order {
  id: number;
  customer: string;
  placedAt: Date;
  lines: OrderLine[];
}

export interface Basket {
  customerId: number;
  productId: number;
  quantity: number;
}

type OrderHead = Omit<Order, 'lines'>;

function orderHeads(db: Knex): Knex.QueryBuilder {
  return db('orders')
    .join('customers', 'customers.id', 'orders.customer_id')
    .select({ id: 'orders.id', customer: 'customers.name', placedAt: 'orders.placed_at' });
}

function linesOf(db: Knex, orderId: number): Promise<OrderLine[]> {
  return db('order_lines')
    .join('products', 'products.id', 'order_lines.product_id')
    .where({ order_id: orderId })
    .select<OrderLine[]>({
      product: 'products.name',
      quantity: 'order_lines.quantity',
      priceCents: 'products.price_cents',
    })
    .orderBy('products.name');
}

export async function listOrders(db: Knex, { limit }: { limit: number }): Promise<Order[]> {
  const heads = (await orderHeads(db).orderBy('orders.id', 'desc').limit(limit)) as OrderHead[];
  const orders: Order[] = [];
  for (const head of heads) {
    orders.push({ ...head, lines: await linesOf(db, head.id) });
  }
  return orders;
}

export async function findOrder(db: Knex, id: number): Promise<Order> {
  const [head] = (await orderHeads(db).where('orders.id', id)) as OrderHead[];
  if (head === undefined) throw new NotFoundError(`order ${id}`);
  return { ...head, lines: await linesOf(db, id) };
}

/** Stores the order and reduces the stock in one transaction; `pay` runs before the commit. */
export async function placeOrder(db: Knex, basket: Basket, pay: () => Promise<void>): Promise<number> {
  return db.transaction(async (transaction) => {
    const product = await findProduct(transaction, basket.productId);
    if (product.stock < basket.quantity) {
      throw new CheckoutError('The order was not placed.', {
        status: 409,
        cause: new StockError(product.name, basket.quantity, product.stock),
      });
    }
    await transaction('products').where({ id: product.id }).decrement('stock', basket.quantity);
    const [order] = await transaction('orders')
      .insert({ customer_id: basket.customerId })
      .returning<{ id: number }[]>('id');
    if (order === undefined) throw new CheckoutError('The order has no number.');
    await transaction('order_lines').insert({
      order_id: order.id,
      product_id: product.id,
      quantity: basket.quantity,
    });
    await pay();
    return order.id;
  });
}
