/**
 * What every storage must do, on a real Citus in each documented layout: `CITUS_URL=postgres://… npx mocha test/storage/citus.test.ts`.
 * No registry that the tests may use has Citus, so without the variable there is nothing here; distributed.test.ts checks by rules.
 */
import knexLibrary, { type Knex } from 'knex';
import { runProfilerMigrations } from '../../app/database/run-migrations.ts';
import type { ProfileStorage } from '../../app/profiler/storage.ts';
import { citusLayouts } from '../support/citus-layouts.ts';
import type { TestConnection } from '../support/postgres.ts';
import { describeStorageContract } from './contract.ts';
import { createStorageInProcess } from './in-process.ts';

function connectionOf(text: string): TestConnection {
  const { hostname: host, port, username: user, password, pathname } = new URL(text);
  return { host, port: Number(port), user, password, database: pathname.slice(1) };
}

function describeLayout(connection: TestConnection, layout: keyof typeof citusLayouts): void {
  const schema = `hindsight_${layout}`;
  let knex: Knex;
  const opened: ProfileStorage[] = [];

  before(async () => {
    // One session: the number of shards is a setting of it.
    knex = knexLibrary({ client: 'pg', connection: { ...connection }, pool: { min: 1, max: 1 } });
    await knex.raw('drop schema if exists ?? cascade', [schema]);
    await runProfilerMigrations({ knex, schema });
    for (const sql of citusLayouts[layout](schema)) await knex.raw(sql);
  });
  after(async () => {
    await knex.raw('drop schema ?? cascade', [schema]);
    await knex.destroy();
  });
  beforeEach(() =>
    knex.raw('truncate ??.hindsight_profiles, ??.hindsight_amendments, ??.hindsight_shared', [
      schema,
      schema,
      schema,
    ]),
  );
  afterEach(() => Promise.all(opened.splice(0).map((storage) => storage.close())));

  describeStorageContract({
    create(onClash) {
      const storage = createStorageInProcess(connection, { schema, onClash });
      opened.push(storage);
      return Promise.resolve(storage);
    },
  });
}

const { CITUS_URL } = process.env;
if (CITUS_URL !== undefined)
  for (const layout of ['coordinator', 'schema', 'rows'] as const)
    describe(`storage on Citus, ${layout}`, () => {
      describeLayout(connectionOf(CITUS_URL), layout);
    });
