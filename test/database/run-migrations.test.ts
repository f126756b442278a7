import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Knex } from 'knex';
import {
  createMigrationSource,
  listMigrations,
  ownerMigrationsFolder,
} from '../../app/database/migration-source.ts';
import {
  MigrationError,
  runOwnerMigrations,
  runProfilerMigrations,
} from '../../app/database/run-migrations.ts';
import { openKnex, withPostgres } from '../support/postgres.ts';
import { freshFolder } from '../support/fresh-folder.ts';

/** Names of the profiler's migrations, by the files that there are. */
async function profilerMigrations(): Promise<string[]> {
  return (await listMigrations('migrations/profiler')).map(({ name }) => name);
}

function migration(body: string, more = ''): string {
  return `export async function up(knex) { ${body} }\nexport async function down() {}\n${more}`;
}

describe('migrations', () => {
  const server = withPostgres();
  let knex: Knex;
  let folder: string;
  let number = 0;
  let schema: string;

  before(() => {
    knex = openKnex(server().connection);
  });
  after(() => knex?.destroy());
  beforeEach(() => {
    folder = freshFolder();
    schema = `app ${++number}`;
  });

  function write(file: string, text: string): void {
    writeFileSync(join(folder, file), text);
  }

  async function executed(table = 'knex_migrations'): Promise<string[]> {
    return knex.withSchema(schema).from(table).orderBy('id').pluck('name');
  }

  async function failure(promise: Promise<unknown>): Promise<Error> {
    const error: unknown = await promise.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(MigrationError);
    return error as Error;
  }

  it('are named without their ending and listed in order', async () => {
    for (const file of ['2_b.js', '1_a.mjs', '3_c.ts', '3_c.d.ts', '3_c.js.map', 'README.md', '.hidden'])
      write(file, '');
    expect((await listMigrations(folder)).map(({ name }) => name)).to.deep.equal(['1_a', '2_b', '3_c']);
    expect(createMigrationSource({ folder }).getMigrationName({ name: '1_a', file: '' })).to.equal('1_a');
  });

  it('are none where the folder is missing or empty', async () => {
    expect(await listMigrations(join(folder, 'nowhere'))).to.deep.equal([]);
    expect(await listMigrations(folder)).to.deep.equal([]);
    expect((await runOwnerMigrations({ knex, schema, folder })).executed).to.deep.equal([]);
    expect(await executed()).to.deep.equal([]);
  });

  it('may not be there twice under one name', async () => {
    write('1_a.js', '');
    write('1_a.ts', '');
    expect(await listMigrations(folder).catch((error: unknown) => String(error))).to.match(
      /"1_a" exists twice/,
    );
  });

  it('of the profiler lie beside the code, apart from those of the owner', async () => {
    const names = await profilerMigrations();
    expect(names).to.include('20261127000000_profiles');
    expect((await listMigrations(ownerMigrationsFolder())).map(({ name }) => name)).to.not.include.members(
      names,
    );
  });

  it('of the profiler go on where a newer release has been', async () => {
    await runProfilerMigrations({ knex, schema });
    await knex.withSchema(schema).from('hindsight_migrations').insert({ name: '2999_new', batch: 2 });
    expect((await runProfilerMigrations({ knex, schema })).executed).to.deep.equal([]);
  });

  it('run once when several processes start at the same time', async () => {
    write(
      '1_a.js',
      migration(`await knex.schema.withSchema('${schema}').createTable('a', (t) => t.integer('x'));`),
    );
    const pools = Array.from({ length: 4 }, () => openKnex(server().connection));
    const runs = await Promise.all(
      pools.flatMap((pool) => [
        runOwnerMigrations({ knex: pool, schema, folder }),
        runProfilerMigrations({ knex: pool, schema }),
      ]),
    );
    await Promise.all(pools.map((pool) => pool.destroy()));
    const names = runs.flatMap((run) => run.executed).sort();
    expect(names).to.deep.equal(['1_a', ...(await profilerMigrations())]);
  });

  it('may run outside of a transaction', async () => {
    write(
      '1_a.js',
      migration(`await knex.schema.withSchema('${schema}').createTable('a', (t) => t.integer('x'));`),
    );
    write(
      '2_b.js',
      migration(
        `await knex.raw('create index concurrently on "${schema}".a (x)');`,
        'export const config = { transaction: false };',
      ),
    );
    expect((await runOwnerMigrations({ knex, schema, folder })).executed).to.deep.equal(['1_a', '2_b']);
  });

  it('use the search path of the owner', async () => {
    write('1_a.js', migration(`await knex.schema.createTable('found', (t) => t.integer('x'));`));
    const own = openKnex(server().connection, { searchPath: [schema, 'public'] });
    await runOwnerMigrations({ knex: own, schema, folder });
    await own.destroy();
    expect(await knex.schema.withSchema(schema).hasTable('found')).to.equal(true);
  });

  it('take CommonJS files', async () => {
    write('1_a.cjs', `exports.up = (knex) => knex.raw('select 1');`);
    expect((await runOwnerMigrations({ knex, schema, folder })).executed).to.deep.equal(['1_a']);
  });

  it('leave nothing behind when one fails, and say which and why', async () => {
    write(
      '1_a.js',
      migration(`await knex.schema.withSchema('${schema}').createTable('a', (t) => t.integer('x'));`),
    );
    write('2_b.js', migration(`await knex.raw('select * from nowhere');`));
    const error = await failure(runOwnerMigrations({ knex, schema, folder }));
    expect(error.message).to.match(/A migration failed .*relation "nowhere" does not exist/);
    expect(await executed()).to.deep.equal([]);
    expect(await knex.schema.withSchema(schema).hasTable('a')).to.equal(false);
  });

  it('name a file that exports nothing to run', async () => {
    write('1_a.js', 'export const x = 1;');
    expect((await failure(runOwnerMigrations({ knex, schema, folder }))).message).to.match(
      /"1_a" exports no function up/,
    );
  });

  it('are refused where the table names some that the code does not have', async () => {
    write('2_b.js', migration(''));
    await runOwnerMigrations({ knex, schema, folder });
    rmSync(join(folder, '2_b.js'));
    expect((await failure(runOwnerMigrations({ knex, schema, folder }))).message).to.match(/2_b/);
  });

  it('report a lock that a killed command left', async () => {
    await runOwnerMigrations({ knex, schema, folder });
    await knex.withSchema(schema).from('knex_migrations_lock').update({ is_locked: 1 });
    write('1_a.js', migration(''));
    const error = await failure(runOwnerMigrations({ knex, schema, folder }));
    expect(error.message).to.match(/are locked \(knex_migrations_lock\).*knex -- migrate:unlock/);
  });

  describe('of a role with few rights', () => {
    let restricted: Knex;

    before(async () => {
      await knex.raw('create role restricted login');
      restricted = openKnex({ ...server().connection, user: 'restricted' });
    });
    after(() => restricted?.destroy());

    it('say what an administrator has to run where it may not create the schema', async () => {
      const error = await failure(runProfilerMigrations({ knex: restricted, schema }));
      expect(error.message).to.match(
        /The role "restricted" may not create the schema "app \d+" in the database "test_[0-9a-f]+"/,
      );
      expect(error.message).to.contain(`create schema "${schema}" authorization "restricted"`);
    });

    it('need no more than a schema of its own', async () => {
      await knex.raw('create schema ?? authorization restricted', [schema]);
      expect((await runProfilerMigrations({ knex: restricted, schema })).executed).to.deep.equal(
        await profilerMigrations(),
      );
      expect((await runOwnerMigrations({ knex: restricted, schema, folder })).executed).to.deep.equal([]);
    });

    it('say so where the schema is not its own', async () => {
      await knex.raw('create schema ??', [schema]);
      const error = await failure(runProfilerMigrations({ knex: restricted, schema }));
      expect(error.message)
        .to.match(/permission denied for schema/)
        .and.not.match(/create table/);
    });
  });
});
