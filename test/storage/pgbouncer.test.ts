/** The profiler's SQL through pgbouncer in transaction mode, where no session outlives a transaction. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { expect } from 'chai';
import type { Knex } from 'knex';
import { createMigrationReader } from '../../app/database/migration-state.ts';
import { runOwnerMigrations, runProfilerMigrations } from '../../app/database/run-migrations.ts';
import { findProgram, skipOrFail } from '../support/parts.ts';
import { type Pgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { openKnex, type TestConnection, withPostgres } from '../support/postgres.ts';
import { describeStorageContract } from './contract.ts';
import { createTestStorage, emptyTables } from './test-storage.ts';

const SCHEMA = 'bounced';

describe('storage behind pgbouncer in transaction mode', () => {
  let bouncer: Pgbouncer;
  let connection: TestConnection;
  let knex: Knex;
  const program = findProgram(['pgbouncer']);

  before(function () {
    if (program === null) skipOrFail(this, 'pgbouncer');
  });
  const server = withPostgres();

  before(async () => {
    bouncer = await startPgbouncer(program ?? '', server().connection);
    ({ connection } = bouncer);
    knex = openKnex(connection);
    await runProfilerMigrations({ knex, schema: SCHEMA });
  });
  after(async () => {
    await knex?.destroy();
    await bouncer?.stop();
  });
  beforeEach(() => emptyTables(knex, SCHEMA));

  describeStorageContract({
    isEmptied: true,
    create: (onClash) => Promise.resolve(createTestStorage(connection, { schema: SCHEMA, onClash })),
  });

  it('leases tokens', async () => {
    const storage = createTestStorage(connection, { schema: SCHEMA });
    const starts = await Promise.all(
      Array.from({ length: 10 }, async () => (await storage.leaseTokens?.())?.start),
    );
    await storage.close();
    expect(new Set(starts).size).to.equal(10);
  });

  it('migrates once for several processes, and reads the state', async () => {
    const migrations = mkdtempSync(join(tmpdir(), 'migrations-'));
    writeFileSync(
      join(migrations, '1_a.js'),
      `export const up = (knex) => knex.raw('create table bounced.a (x int)');`,
    );
    const pools = [openKnex(connection), openKnex(connection)];
    const runs = await Promise.all(
      pools.map((pool) => runOwnerMigrations({ knex: pool, schema: SCHEMA, folder: migrations })),
    );
    expect(runs.flatMap(({ executed }) => executed)).to.deep.equal(['1_a']);
    await Promise.all(pools.map((pool) => pool.destroy()));
    const reader = createMigrationReader({
      connection: () => Promise.resolve(connection),
      schema: SCHEMA,
      table: 'knex_migrations',
      folder: migrations,
      redact: { text: (value) => value },
    });
    for (let i = 0; i < 3; i++) expect((await reader.read()).state).to.equal('ok');
    const timeouts = await knex.raw<{ rows: { statement_timeout: string }[] }>('show statement_timeout');
    expect(timeouts.rows[0]?.statement_timeout).to.equal('0');
    await reader.close();
    rmSync(migrations, { recursive: true });
  });
});
