/** Where the service of a ledger stores: Debian's PostgreSQL with fsync on. */
import { rmSync } from 'node:fs';
import { environmentOf, freshVarDir } from '../../test/support/postgres.ts';
import { type Database, startDatabase } from '../../bench/harness/database.ts';

export const SCHEMA = 'localhost';

export interface Place extends Pick<Database, 'knex' | 'crash'> {
  env: Record<string, string>;
  close(): Promise<void>;
}

export async function openPlace(): Promise<Place> {
  const database = await startDatabase();
  const varDir = freshVarDir();
  return {
    env: { VAR_DIR: varDir, ...environmentOf(database.connection) },
    knex: database.knex,
    crash: (forMs) => database.crash(forMs),
    async close() {
      await database.stop();
      rmSync(varDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    },
  };
}
