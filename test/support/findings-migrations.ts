/** An application beside whose requests the version table of its migrations is read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { createMigrationReader } from '../../app/service/database/migration-state.ts';
import { appendMigrations, migrationRules, migrationsPanel } from '../../app/service/migrations-panel.ts';
import { type Asked, withFindingsDatabase } from './findings-app.ts';
import type { TestConnection } from './postgres.ts';

const MIGRATION = 'export const up = async () => {};\nexport const down = async () => {};\n';

/** Asks with these files in the folder and these names in the version table. */
export function withMigrations(): (state: { files: string[]; executed: string[] }) => Promise<Asked> {
  let knex: Knex | undefined;
  let folder = '';
  const ask = withFindingsDatabase(
    (opened) => {
      knex = opened;
      return opened.raw(
        'create table knex_migrations (id serial, name text, batch int, migration_time timestamptz)',
      );
    },
    (app) => {
      app.get('/', (_req, res) => void res.send('fine'));
    },
    {
      panels: [migrationsPanel],
      findings: migrationRules,
      onRequest: [
        (context) => {
          const { connection } = (knex?.client as { config: { connection: TestConnection } }).config;
          const reader = createMigrationReader({
            connection: () => Promise.resolve(connection),
            schema: 'public',
            table: 'knex_migrations',
            folder,
            redact: { text: (text) => text },
          });
          appendMigrations(context, {
            read: async () => {
              const fact = await reader.read();
              await reader.close();
              return fact;
            },
          });
        },
      ],
    },
  );
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return async ({ files, executed }) => {
    folder = mkdtempSync(join(tmpdir(), 'migrations-'));
    for (const name of files) writeFileSync(join(folder, `${name}.js`), MIGRATION);
    await knex?.('knex_migrations').delete();
    for (const name of executed)
      await knex?.('knex_migrations').insert({ name, batch: 1, migration_time: new Date() });
    // The first read of a process loads its driver, for longer than a profile waits.
    await ask('/');
    return ask('/');
  };
}
