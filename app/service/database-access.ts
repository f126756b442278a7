/**
 * The service's access to its database, without loading anything for it. The first response needs none of it (forty modules, Knex, the
 * driver, the embedded server), and loading it would double the time until that response.
 */
import { DatabaseUnavailableError } from './database/unavailable.ts';
import type { DatabaseAccess, DatabaseAccessOptions } from './open-database.ts';

export function createDatabaseAccess(options: DatabaseAccessOptions): DatabaseAccess {
  let loading: Promise<DatabaseAccess> | null = null;
  let loaded: DatabaseAccess | null = null;
  let closed = false;

  function load(): Promise<DatabaseAccess> {
    loading ??= import('./open-database.ts').then(
      ({ openDatabaseAccess }) => (loaded = openDatabaseAccess(options)),
    );
    return loading;
  }

  return {
    knex() {
      if (loaded !== null) return loaded.knex();
      throw new DatabaseUnavailableError(
        "The database can't be used now: it is still being opened, try again in a moment.",
      );
    },
    async open() {
      if (!closed) await (await load()).open();
    },
    connection: async () => (await load()).connection(),
    readMigrations(context) {
      loaded?.readMigrations(context);
    },
    async close() {
      closed = true;
      await (await loading)?.close();
    },
  };
}
