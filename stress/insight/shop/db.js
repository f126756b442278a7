import knex from 'knex';

export const db = knex({
  client: 'pg',
  connection: {},
  pool: { min: 4, max: 4 },
  acquireConnectionTimeout: 5000,
});
