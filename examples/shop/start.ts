/** Runs the shop as a service. Outside this repository, import from 'express-hindsight/service'. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createService, readConfig } from '../../app/service.ts';
import { createRoutes } from './routes/index.ts';

function folder(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

// A schema of its own: `npm start` has another list of migrations, and uses the same embedded database.
const config = readConfig({ DB_SCHEMA: 'shop', ...process.env });
const webhookSecret = process.env.WEBHOOK_SECRET ?? randomBytes(16).toString('hex');
const service = createService({
  config,
  routes: createRoutes({ webhookSecret }),
  viewFolders: [folder('views')],
  migrationsFolder: folder('migrations'),
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    void service.close().then(() => process.exit(0));
  });
}
service.server.listen(config.port, config.host, () => {
  // Each page reads the database.
  service.openDatabase().then(
    () => {
      console.log(`The shop is open: ${service.address()}/`);
    },
    (error: unknown) => {
      console.error(service.describe(error));
      process.exit(1);
    },
  );
});
