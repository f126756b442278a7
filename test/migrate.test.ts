import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from 'chai';
import { readConfig, type Config } from '../app/config.ts';
import { migrate } from '../app/migrate.ts';
import { packageRoot } from '../app/paths.ts';
import { clusterVarDir, endEmbedded, openKnex, withPostgres } from './support/postgres.ts';
import { freshFolder } from './support/fresh-folder.ts';

describe('the release process', () => {
  const server = withPostgres();
  let folder: string;

  beforeEach(() => {
    folder = freshFolder();
    writeFileSync(
      join(folder, '1_a.js'),
      `export const up = (knex) => knex.schema.createTable('a', (t) => t.integer('x'));`,
    );
  });

  function configOf(env: Record<string, string> = {}): Config {
    const { host, port, user, database } = server().connection;
    return readConfig({ DB_HOST: host, DB_PORT: String(port), DB_USER: user, DB_NAME: database, ...env });
  }

  async function run(config: Config): Promise<{ code: number; lines: string[] }> {
    const lines: string[] = [];
    const code = await migrate({ config, folder, waitMs: 500, log: (line) => lines.push(line) });
    return { code, lines };
  }

  it('migrates the application and the profiler, and once', async () => {
    const config = configOf({ APP_DOMAIN: 'first.example.com' });
    const first = await run(config);
    expect(first.code).to.equal(0);
    expect(first.lines.join()).to.match(
      /Migrated the schema "first_example_com" .*_profiles, (\d+_\w+, )*1_a\./,
    );
    const second = await run(config);
    expect(second).to.deep.include({ code: 0 });
    expect(second.lines.join()).to.match(/is up to date/);
  });

  it('leaves the profiler out where debug is off', async () => {
    expect((await run(configOf({ APP_ENV: 'prod', DB_SCHEMA: 'without' }))).code).to.equal(0);
    const knex = openKnex(server().connection);
    const tables = await knex('pg_tables').where({ schemaname: 'without' }).pluck<string[]>('tablename');
    await knex.destroy();
    expect(tables.sort()).to.deep.equal(['a', 'knex_migrations', 'knex_migrations_lock']);
  });

  it('says what is wrong and exits 1', async () => {
    writeFileSync(join(folder, '2_b.js'), `export const up = (knex) => knex.raw('select nonsense');`);
    const failed = await run(configOf({ DB_SCHEMA: 'failing' }));
    expect(failed.code).to.equal(1);
    expect(failed.lines.join()).to.match(/could not be migrated: .*column "nonsense" does not exist\.$/);
  });

  it('gives up a database that is not there, without its password', async () => {
    const config = readConfig({ DATABASE_URL: 'postgres://u:hunter2-hunter2@127.0.0.1:1/shop' });
    const failed = await run(config);
    expect(failed.code).to.equal(1);
    expect(failed.lines.join())
      .to.match(/127\.0\.0\.1:1\/shop\) could not be migrated: .*ECONNREFUSED/)
      .and.not.contain('hunter2');
  });

  it('does not wait for a database that refuses', async () => {
    const lines: string[] = [];
    const config = configOf({ DB_NAME: 'nowhere' });
    expect(await migrate({ config, folder, waitMs: 3_600_000, log: (line) => lines.push(line) })).to.equal(1);
    expect(lines.join()).to.match(/database "nowhere" does not exist/);
  });

  it('has nothing to do without a database and without debug', async () => {
    const result = await run(readConfig({ APP_ENV: 'prod' }));
    expect(result.code).to.equal(0);
    expect(result.lines.join()).to.match(/nothing to migrate/);
  });
});

describe("Knex's command line", () => {
  it('works on the embedded server, which ends with it', async () => {
    const varDir = await clusterVarDir();
    const knex = createRequire(import.meta.url).resolve('knex/bin/cli.js');
    const child = spawn(process.execPath, ['--import', 'tsx', knex, 'migrate:status'], {
      cwd: packageRoot(),
      env: { PATH: process.env.PATH, VAR_DIR: varDir },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    expect(`${code} ${output}`).to.match(/^0 .*(No migrations|Found|Database status|none)/is);
    const { startEmbeddedPostgres } = await import('../app/service/database/embedded-postgres/index.ts');
    const server = await startEmbeddedPostgres({ varDir, log: () => undefined, linger: 0 });
    await endEmbedded(server);
    rmSync(varDir, { recursive: true, force: true });
  });
});
