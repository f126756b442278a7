/**
 * For `npm run knex -- migrate:make|latest|rollback|list …` (plain `npx knex …` from Node.js 22.18 on): the owner's migrations on the database that the service uses,
 * the embedded one included (it is joined, or started for as long as the command runs). Its schema is made where it is missing.
 */
import type { Knex } from 'knex';
import { readConfig } from './app/config.ts';
import { settingsOf } from './app/database/connection-settings.ts';
import { startEmbeddedPostgres } from './app/service/database/embedded-postgres/index.ts';
import { createMigrationSource, ownerMigrationsFolder } from './app/database/migration-source.ts';
import { ensureSchemaAt, OWNER_VERSION_TABLE } from './app/database/run-migrations.ts';

/** Read when Knex asks for it. */
export default async function knexConfig(): Promise<Knex.Config> {
  const config = readConfig();
  const folder = ownerMigrationsFolder();
  const connection =
    config.database === null
      ? (await startEmbeddedPostgres({ varDir: config.varDir, log: console.error })).connection
      : settingsOf(config.database);
  await ensureSchemaAt(connection, config.schema);
  return {
    client: 'pg',
    connection: { ...connection },
    searchPath: [config.schema, 'public'],
    migrations: {
      migrationSource: createMigrationSource({ folder }),
      tableName: OWNER_VERSION_TABLE,
      schemaName: config.schema,
      extension: 'ts',
    },
  };
}
