import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('products', (table) => {
    table.increments('id');
    table.text('name').notNullable().unique();
    table.integer('price_cents').notNullable();
    table.integer('stock').notNullable();
  });
  await knex.schema.createTable('customers', (table) => {
    table.increments('id');
    table.text('name').notNullable();
    table.text('email').notNullable().unique();
  });
  await knex.schema.createTable('orders', (table) => {
    table.increments('id');
    table.integer('customer_id').notNullable().references('customers.id').index();
    table.timestamp('placed_at').notNullable().defaultTo(knex.fn.now());
  });
  await knex.schema.createTable('order_lines', (table) => {
    table.integer('order_id').notNullable().references('orders.id').onDelete('CASCADE');
    table.integer('product_id').notNullable().references('products.id');
    table.integer('quantity').notNullable();
    table.primary(['order_id', 'product_id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['order_lines', 'orders', 'customers', 'products']) {
    await knex.schema.dropTable(table);
  }
}
