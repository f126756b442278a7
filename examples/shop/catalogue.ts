/** Queries for products and customers; only this file names their tables. */
import type { Knex } from 'knex';
import { NotFoundError } from './errors.ts';

export interface Product {
  id: number;
  name: string;
  priceCents: number;
  stock: number;
}

const COLUMNS = { id: 'id', name: 'name', priceCents: 'price_cents', stock: 'stock' };

export function listProducts(db: Knex, { limit }: { limit: number }): Promise<Product[]> {
  return db('products').select<Product[]>(COLUMNS).orderBy('name').limit(limit);
}

export async function findProduct(db: Knex, id: number): Promise<Product> {
  const product = await db('products').select<Product[]>(COLUMNS).where({ id }).first();
  if (product === undefined) throw new NotFoundError(`product ${id}`);
  return product;
}

export async function findCustomer(db: Knex, email: string): Promise<{ id: number; name: string } | null> {
  const customer = await db('customers')
    .select<{ id: number; name: string }[]>('id', 'name')
    .where({ email })
    .first();
  return customer ?? null;
}
