/**
 * The profiler's SQL through pgbouncer in transaction mode, where no session outlives a transaction; and whether Citus would take it, of
 * which only the rules are known here.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Knex } from 'knex';
import pg from 'pg';
import { createMigrationReader } from '../../app/service/database/migration-state.ts';
import { runOwnerMigrations, runProfilerMigrations } from '../../app/database/run-migrations.ts';
import { findProgram, skipOrFail } from '../support/parts.ts';
import { type Pgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { openKnex, type TestConnection, withPostgres } from '../support/postgres.ts';
import { itemOf, NO_EXCEPTIONS, NO_LIMITS, stored } from './store-contract.ts';
import { createTestStore, emptyStore } from './test-storage.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const SCHEMA = 'bounced';

/** What Citus refuses of a table that is distributed by token, and pgbouncer in transaction mode. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'a recursive query': /\bwith recursive\b/i,
  'grouping sets': /\b(grouping sets|cube|rollup)\s*\(/i,
  tablesample: /\btablesample\b/i,
  'a temporary table': /\bcreate (temp|temporary)\b/i,
  'a row lock over several shards': /\bfor (no key )?(update|share)\b/i,
  'a subquery for another column than the token': /(?<!\btoken"?)\s+(not )?in \(\s*(select|with)\b/i,
  'a changed token': /\bupdate\b[^;]*\bset token\b/i,
  'a key without the token': /hindsight_profiles[\s\S]*\bon conflict \((?!token\b)/i,
  'a lock on a table': /\block table\b/i,
  'a lock of a session': /pg_(try_)?advisory_lock/i,
  'a setting of a session': /(^|;)\s*set (?!local\b)/i,
  'a notification': /\b(listen|notify)\b/i,
};

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

  it('sends nothing that a pooler or a cluster refuses', async () => {
    const sent: { text: string; name: string | undefined }[] = [];
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]): never {
      const [first] = given;
      const { text, name } = typeof first === 'string' ? { text: first } : (first as pg.QueryConfig);
      sent.push({ text, name });
      return Reflect.apply(query, this, given) as never;
    };
    try {
      const store = createTestStore(connection, { schema: SCHEMA });
      await stored(store, [itemOf(1), itemOf(2), itemOf(3, { kind: 'error_page', parent: '000002' })]);
      await stored(store, [itemOf(2, { process: 'other' })]);
      await store.amend('000001', 'late', '1');
      await store.label('000001', { findings: 0, mark: null, marks: [] });
      await store.keep('000001', true);
      await store.read('000001');
      await store.find({ limit: 1, offset: 0 });
      await store.find({ hasError: true, text: 'x', limit: 1, offset: 0 }, () => null);
      await store.find({ hasError: false, sort: 'url', limit: 1, offset: 0 });
      for await (const rows of store.rows(0)) expect(rows).to.not.be.empty;
      await store.setting('part-a', 'x');
      await knex.withSchema(SCHEMA).from('hindsight_settings').update({ written_at: 1 });
      await store.purge({ ...NO_LIMITS, count: 1, exceptions: NO_EXCEPTIONS });
      await store.clear();
      await store.close();
    } finally {
      pg.Client.prototype.query = query;
      await emptyStore(knex, SCHEMA);
    }
    expect(sent.length).to.be.above(20);
    expect(sent.filter(({ name }) => name !== undefined)).to.deep.equal([]);
    const refused = Object.entries(REFUSED).flatMap(([what, pattern]) =>
      sent.filter(({ text }) => pattern.test(text)).map(({ text }) => `${what}: ${text}`),
    );
    expect(refused).to.deep.equal([]);
  });

  it('migrates once for several processes, and reads the state', async () => {
    const migrations = freshFolder();
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
  });
});
