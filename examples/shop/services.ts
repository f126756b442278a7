/** What the shop's routers need of the service, which passes in more. */
import type { Knex } from 'knex';

export interface ShopServices {
  /** The owner's connection pool. */
  db: () => Knex;
}
