/** Where the service stores: Debian's PostgreSQL with fsync on, or the embedded one of a fresh folder. */
import { rmSync } from 'node:fs';
import type { Knex } from 'knex';
import { createService, readConfig } from '../../app/service.ts';
import { openKnex } from '../../test/support/postgres.ts';
import { startDatabase } from '../harness/database.ts';
import { freshVarDir } from '../harness/embedded.ts';

export const SCHEMA = 'localhost';

export interface Place {
  name: string;
  env: Record<string, string>;
  /** A pool of this process's own, for looking what is stored. */
  look<T>(work: (knex: Knex) => Promise<T>): Promise<T>;
  /** The database is away for so many milliseconds, as after a crash; rejects where that can't be done. */
  crash(forMs: number): Promise<void>;
  close(): Promise<void>;
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
}

async function onPostgres(): Promise<Place> {
  const server = await startDatabase();
  const varDir = freshVarDir();
  const { host, port, user, database } = server.connection;
  return {
    name: 'PostgreSQL, fsync on',
    env: { VAR_DIR: varDir, DB_HOST: host, DB_PORT: String(port), DB_USER: user, DB_NAME: database },
    look: (work) => work(server.knex),
    crash: (forMs) => server.crash(forMs),
    async close() {
      await server.stop();
      removeFolder(varDir);
    },
  };
}

function onEmbedded(): Place {
  const varDir = freshVarDir();
  return {
    name: 'embedded PostgreSQL',
    env: { VAR_DIR: varDir },
    /** Joins the server only as long as it looks, so that the service starts and ends it as it would without. */
    async look(work) {
      const config = readConfig({ VAR_DIR: varDir, PORT: '0' });
      const service = createService({ config, routes: [], log: () => undefined });
      await service.openDatabase();
      const { host, port, user, database } = await service.databaseSettings();
      const knex = openKnex({ host, port, user, database });
      try {
        return await work(knex);
      } finally {
        await knex.destroy();
        await service.close();
      }
    },
    crash: () => Promise.reject(new Error('--database-restarts needs --database=postgresql.')),
    close() {
      removeFolder(varDir);
      return Promise.resolve();
    },
  };
}

export async function openPlace(name: string): Promise<Place> {
  if (name === 'postgresql') return onPostgres();
  if (name === 'embedded') return onEmbedded();
  throw new Error(`--database=${name}: postgresql or embedded.`);
}
