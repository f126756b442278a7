/** The profiler's SQL through pgbouncer in transaction mode, where no session outlives a transaction. */
import { spawn, type ChildProcess } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { expect } from 'chai';
import type { Knex } from 'knex';
import { createMigrationReader } from '../../app/database/migration-state.ts';
import { runOwnerMigrations, runProfilerMigrations } from '../../app/database/run-migrations.ts';
import { createPostgresStorage } from '../../app/storage/postgres-profile-storage.ts';
import { findProgram, skipOrFail } from '../support/parts.ts';
import {
  openKnex,
  serverFolder,
  serverUser,
  withDebianPostgres,
  type TestConnection,
} from '../support/postgres.ts';
import { describeStorageContract } from './contract.ts';

const SCHEMA = 'bounced';

describe('storage behind pgbouncer in transaction mode', function () {
  this.timeout(20_000);
  let folder: string;
  let bouncer: ChildProcess | undefined;
  let connection: TestConnection;
  let knex: Knex;
  const program = findProgram(['pgbouncer']);

  before(function () {
    if (program === null) skipOrFail(this, 'pgbouncer');
  });
  const server = withDebianPostgres();

  before(async () => {
    folder = serverFolder('bouncer-');
    const { host, port } = server().connection;
    const config = join(folder, 'pgbouncer.ini');
    writeFileSync(
      config,
      `[databases]\n* = host=${host} port=${port} user=postgres\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\n` +
        `unix_socket_dir = ${folder}\nauth_type = any\npool_mode = transaction\n` +
        `default_pool_size = 4\nlogfile = ${folder}/log\n`,
    );
    const user = serverUser();
    if (user !== undefined) chownSync(config, user.uid, user.gid);
    bouncer = spawn(program ?? '', [config], { ...user, cwd: '/', stdio: 'ignore' });
    connection = { host: folder, port: 6432, user: 'postgres', database: 'postgres' };
    knex = openKnex(connection);
    for (let tries = 0; tries < 100; tries++) {
      const up = await knex.raw('select 1').then(
        () => true,
        () => false,
      );
      if (up) break;
      await sleep(50);
    }
    await runProfilerMigrations({ knex, schema: SCHEMA });
  });
  after(async () => {
    await knex?.destroy();
    bouncer?.kill('SIGKILL');
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() =>
    knex.raw('truncate ??.hindsight_profiles, ??.hindsight_amendments, ??.hindsight_shared', [
      SCHEMA,
      SCHEMA,
      SCHEMA,
    ]),
  );

  describeStorageContract({
    create: (onClash) =>
      Promise.resolve(
        createPostgresStorage({
          knex: () => knex,
          schema: SCHEMA,
          ...(onClash === undefined ? {} : { onClash }),
        }),
      ),
  });

  it('leases tokens', async () => {
    const storage = createPostgresStorage({ knex: () => knex, schema: SCHEMA });
    const starts = await Promise.all(
      Array.from({ length: 10 }, async () => (await storage.leaseTokens?.())?.start),
    );
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
