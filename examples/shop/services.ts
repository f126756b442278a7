/** What the shop's routers ask of the service that runs them; it hands in more. */
import type { Knex } from 'knex';

export interface ShopServices {
  /** The owner's connection pool. */
  db: () => Knex;
}
