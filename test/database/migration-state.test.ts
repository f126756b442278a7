import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Knex } from 'knex';
import { createMigrationReader, type MigrationReader } from '../../app/service/database/migration-state.ts';
import { runOwnerMigrations } from '../../app/database/run-migrations.ts';
import { openKnex, startPostgres, withPostgres, type TestConnection } from '../support/postgres.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const UP = 'export const up = async () => {};\nexport const down = async () => {};\n';
const redact = { text: (value: string) => value.replaceAll('hunter2', '***') };

describe('state of the migrations', () => {
  const server = withPostgres();
  let knex: Knex;
  let folder: string;
  let number = 0;
  let schema: string;
  let reader: MigrationReader;

  function createReader(connection: () => Promise<TestConnection>, timeoutMs = 500): MigrationReader {
    return createMigrationReader({ connection, schema, table: 'knex_migrations', folder, redact, timeoutMs });
  }

  before(() => {
    knex = openKnex(server().connection);
  });
  after(() => knex?.destroy());
  beforeEach(() => {
    folder = freshFolder();
    schema = `state "${++number}"`;
    reader = createReader(() => Promise.resolve(server().connection));
  });
  afterEach(async () => {
    await reader.close();
  });

  it('tells what ran, when, and in which batch', async () => {
    const before = Date.now();
    writeFileSync(join(folder, '1_a.js'), UP);
    await runOwnerMigrations({ knex, schema, folder });
    const fact = await reader.read();
    expect(fact).to.include({ state: 'ok', schema, table: 'knex_migrations', message: null });
    expect(fact.executed.map(({ name, batch }) => [name, batch])).to.deep.equal([['1_a', 1]]);
    expect(fact.executed[0]?.at).to.be.within(before, Date.now());
    expect(fact.durationMs).to.be.above(0);
  });

  it('is well where there is no migration at all', async () => {
    await runOwnerMigrations({ knex, schema, folder });
    expect(await reader.read()).to.deep.include({ state: 'ok', executed: [], pending: [], unknown: [] });
  });

  it('tells what is pending, also what came while it runs', async () => {
    await runOwnerMigrations({ knex, schema, folder });
    await reader.read();
    writeFileSync(join(folder, '1_a.js'), UP);
    await sleep(1100);
    expect(await reader.read()).to.deep.include({
      state: 'behind',
      pending: ['1_a'],
      message: 'Migrations: 1 pending.',
    });
  });

  it('tells what the code does not have', async () => {
    writeFileSync(join(folder, '1_a.js'), UP);
    await runOwnerMigrations({ knex, schema, folder });
    rmSync(join(folder, '1_a.js'));
    writeFileSync(join(folder, '2_b.js'), UP);
    expect(await reader.read()).to.deep.include({ state: 'ahead', pending: ['2_b'], unknown: ['1_a'] });
  });

  it('tells that the table is missing', async () => {
    writeFileSync(join(folder, '1_a.js'), UP);
    const fact = await reader.read();
    expect(fact).to.deep.include({ state: 'missing', pending: ['1_a'], executed: [] });
    expect(fact.message).to.match(/does not exist/);
  });

  it('tells that the table is locked, in time, and reads again on the same connection', async () => {
    await runOwnerMigrations({ knex, schema, folder });
    const patient = createReader(() => Promise.resolve(server().connection), 3000);
    await patient.read();
    await knex.transaction(async (trx) => {
      await trx.raw('lock table ??.knex_migrations in access exclusive mode', [schema]);
      const fact = await patient.read();
      expect(fact.state).to.equal('locked');
      expect(fact.durationMs).to.be.at.least(1500);
    });
    expect((await patient.read()).state).to.equal('ok');
    await patient.close();
  });

  it('is read once for all who ask meanwhile', async () => {
    await runOwnerMigrations({ knex, schema, folder });
    const [first, second] = await Promise.all([reader.read(), reader.read()]);
    expect(second).to.equal(first);
    expect(await reader.read()).to.not.equal(first);
  });

  it('keeps one connection, apart from any pool', async () => {
    await runOwnerMigrations({ knex, schema, folder });
    for (let i = 0; i < 5; i++) await reader.read();
    const rows = await knex('pg_stat_activity')
      .where({ application_name: 'express-hindsight' })
      .whereRaw('datname = current_database()');
    expect(rows.length).to.equal(1);
  });

  it('comes back after the server went away', async () => {
    const own = await startPostgres();
    const other = createReader(() => Promise.resolve(own.connection));
    try {
      expect((await other.read()).state).to.equal('missing');
      await own.halt();
      expect((await other.read()).state).to.equal('unavailable');
      await own.resume();
      await sleep(1100);
      expect((await other.read()).state).to.equal('missing');
    } finally {
      await other.close();
      await own.stop();
    }
  });

  it('gives up a server that does not answer', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const other = createReader(
      () => Promise.resolve({ host: '127.0.0.1', port, user: 'a', database: 'b' }),
      200,
    );
    const fact = await other.read();
    expect(fact.state).to.equal('unavailable');
    expect(fact.durationMs).to.be.at.least(150);
    expect(fact.message).to.contain('no response within 200 ms');
    // For a second it is not even asked.
    const asked = sockets.size;
    expect((await other.read()).state).to.equal('unavailable');
    expect(sockets.size).to.equal(asked);
    await other.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('keeps no connection that it had given up', async () => {
    let settings: (connection: TestConnection) => void = () => undefined;
    const late = new Promise<TestConnection>((resolve) => (settings = resolve));
    const other = createReader(() => late, 50);
    expect((await other.read()).state).to.equal('unavailable');
    settings(server().connection);
    const open = () =>
      knex('pg_stat_activity')
        .where('application_name', 'express-hindsight')
        .whereRaw('datname = current_database()')
        .select('pid');
    // Neither at once nor later: it connects, and leaves.
    for (let look = 0; look < 10; look++) await sleep(30);
    expect(await open()).to.deep.equal([]);
    await other.close();
  });

  it('keeps secrets out of its message', async () => {
    const other = createReader(() => Promise.reject(new Error('no way with hunter2')));
    expect((await other.read()).message).to.contain('no way with ***');
    await other.close();
  });
});
