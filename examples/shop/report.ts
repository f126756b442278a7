/** Sales per product and day, with one statement for each pair and three log lines for some: a page that does much wrong. */
import type { Knex } from 'knex';

export interface ReportRow {
  product: string;
  /** Units sold, oldest day first. */
  sold: number[];
}

const DAYS = 25;

function soldOn(db: Knex, productId: number, daysAgo: number): Promise<{ sold: number | null }[]> {
  return db('order_lines')
    .join('orders', 'orders.id', 'order_lines.order_id')
    .where('order_lines.product_id', productId)
    .whereRaw(`orders.placed_at::date = date '2026-10-31' - ?::integer`, [daysAgo])
    .sum<{ sold: number | null }[]>({ sold: 'order_lines.quantity' });
}

export async function dailyReport(db: Knex): Promise<ReportRow[]> {
  const products = await db('products').select<{ id: number; name: string }[]>('id', 'name').orderBy('name');
  const rows: ReportRow[] = [];
  for (const { id, name } of products) {
    const sold: number[] = [];
    for (let daysAgo = DAYS - 1; daysAgo >= 0; daysAgo--) {
      console.debug('report: %s, %d days ago', name, daysAgo);
      const [day] = await soldOn(db, id, daysAgo);
      const pieces = Number(day?.sold ?? 0);
      sold.push(pieces);
      console.log(`report: ${name} sold ${pieces}`);
      if (pieces === 0) console.warn('report: nothing sold of %s, %d days ago', name, daysAgo);
    }
    rows.push({ product: name, sold });
  }
  return rows;
}
