/** The embedded PostgreSQL as the service starts it by default, through the service itself. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createService, readConfig } from '../../app/service.ts';
import type { TestConnection } from '../../test/support/postgres.ts';

export interface Embedded {
  connection: TestConnection;
  stop: () => Promise<void>;
}

/** A fresh folder for VAR_DIR, open to the server's user as a project's is. */
export function freshVarDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-bench-'));
  chmodSync(folder, 0o755);
  return folder;
}

export async function startEmbedded(): Promise<Embedded> {
  const varDir = freshVarDir();
  const config = readConfig({ VAR_DIR: varDir, APP_ENV: 'dev', PORT: '0' });
  const service = createService({ config, routes: [], log: () => undefined });
  await service.openDatabase();
  const { host, port, user, database, password } = await service.databaseSettings();
  return {
    connection: { host, port, user, database, ...(password === undefined ? {} : { password }) },
    async stop() {
      await service.close();
      rmSync(varDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    },
  };
}
