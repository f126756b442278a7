/** The services of the application's routers, and the entries that list them. */
import type { RequestHandler } from 'express';
import type { Knex } from 'knex';
import type { Config } from '../config.ts';
import type { Dump } from '../observe/logs/dump.ts';

export interface Services {
  readonly config: Config;
  /** The connection pool; throws a 503 while the database is not ready. */
  db(): Knex;
  /** Shows a value in the profile of the running request; returns it. Does nothing where debug is off. */
  dump: Dump;
}

export interface RouteEntry {
  /** Path the router is mounted at, such as `/orders`. */
  mount: string;
  router: (services: Services) => RequestHandler;
  /** `before`: the router reads the body itself. `after`: it finds `req.body` and `req.files`. */
  parsers: 'before' | 'after';
}
