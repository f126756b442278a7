/** The example shop as a running service, as `npm run example` starts it. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { createService, readConfig, type Service } from '../../app/service.ts';
import { createRoutes } from '../../examples/shop/routes/index.ts';
import { environmentOf, freshDatabase, freshVarDir } from './postgres.ts';

export const WEBHOOK_SECRET = 'a secret of the shop and its payer';

export interface RunningShop {
  service: Service;
  origin: string;
  port: number;
  /** Lines that the service wrote. */
  lines: string[];
  close(): Promise<void>;
}

/**
 * `environment` adds to an otherwise empty one; the database is an empty one on the run's embedded server, unless it names another, or a
 * VAR_DIR for a server of its own. Resolves when the database is migrated and filled.
 */
export async function startShop(environment: Record<string, string> = {}): Promise<RunningShop> {
  const folder = environment.VAR_DIR ?? freshVarDir();
  const isElsewhere = ['VAR_DIR', 'DATABASE_URL', 'DB_HOST'].some((name) => name in environment);
  const database = isElsewhere ? {} : environmentOf(await freshDatabase('embeddedPostgres'));
  const lines: string[] = [];
  const service = createService({
    // A busy machine blocks the event loop of any request; to sample the next one costs as much as a page.
    config: readConfig({ VAR_DIR: folder, PORT: '0', PROFILER_CPU: 'ask', ...database, ...environment }),
    routes: createRoutes({ webhookSecret: WEBHOOK_SECRET }),
    viewFolders: [resolve('examples/shop/views')],
    migrationsFolder: resolve('examples/shop/migrations'),
    log: (line) => lines.push(line),
    writeAccess: () => undefined,
  });
  service.server.listen(0, '127.0.0.1');
  await once(service.server, 'listening');
  await service.openDatabase();
  const { port } = service.server.address() as AddressInfo;
  return {
    service,
    origin: service.address(),
    port,
    lines,
    async close() {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
