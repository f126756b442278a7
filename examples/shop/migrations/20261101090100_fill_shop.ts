import type { Knex } from 'knex';
import { seed } from '../seed.ts';

export async function up(knex: Knex): Promise<void> {
  await seed(knex);
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['order_lines', 'orders', 'customers', 'products']) await knex(table).del();
}
