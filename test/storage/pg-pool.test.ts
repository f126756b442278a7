/** The pool that pages are read on where a host has no Knex, and chores are done on in the writer's thread. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { createPgPool, numbered, type PgPool } from '../../app/storage/pg-pool.ts';
import type { Statements } from '../../app/storage/pool.ts';
import { withDebianPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

const idleHost = `
import pg from 'pg';
import { createPgPool } from './app/storage/pg-pool.ts';
const pool = createPgPool({ load: () => pg.Pool, settings: () => JSON.parse(process.env.SETTINGS) });
const { rows } = await pool.raw('select 1 as one');
process.stdout.write(String(rows[0].one));
`;

/** A promise that is resolved from outside. */
function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('statements as Knex has them', () => {
  it('have their values by number and their names quoted', () => {
    expect(numbered('select a \\? ? from ??.?? where b = ?', [1, 'odd "one"', 't', ['x']])).to.deep.equal({
      sql: 'select a ? $1 from "odd ""one"""."t" where b = $2',
      values: [1, ['x']],
    });
  });
});

describe('a pool of pg', () => {
  const server = withDebianPostgres();
  let settings: Record<string, unknown>;
  let pool: PgPool;
  let refused: number;

  beforeEach(async () => {
    settings = { ...server().connection };
    refused = 0;
    pool = createPgPool({
      load: () => pg.Pool,
      settings: () => settings,
      onRefused: () => refused++,
    });
    await pool.raw('drop table if exists numbers; create table numbers (n int)');
  });
  afterEach(() => pool.end());

  /** What a connection is told to be called, seen by the database. */
  async function nameOf(asked: Statements): Promise<string | undefined> {
    const { rows } = await asked.raw<{ rows: { name: string }[] }>(
      `select current_setting('application_name') as name`,
    );
    return rows[0]?.name;
  }

  async function sum(): Promise<number> {
    const { rows } = await pool.raw<{ rows: { sum: string | null }[] }>('select sum(n) as sum from numbers');
    return Number(rows[0]?.sum ?? 0);
  }

  it('keeps what a transaction did, or nothing of it', async () => {
    await pool.transaction((trx) => trx.raw('insert into numbers select ?::int', [2]));
    const failed = await pool
      .transaction(async (trx) => {
        await trx.raw('insert into numbers select ?::int', [40]);
        throw new Error('no more');
      })
      .catch((error: unknown) => (error as Error).message);
    expect(failed).to.equal('no more');
    expect(await sum()).to.equal(2);
  });

  it('goes on after a statement that fails, with its code', async () => {
    const failed: unknown = await pool.raw('select * from nowhere').catch((error: unknown) => error);
    expect(failed).to.include({ code: '42P01' });
    for (let round = 0; round < 5; round++)
      await pool.session((session) => session.query('nonsense')).catch(() => undefined);
    expect(await sum()).to.equal(0);
  });

  it('goes elsewhere where the settings say so, while what has begun goes on', async () => {
    const { promise, resolve } = withResolvers();
    const begun = pool.transaction(async (trx) => {
      await promise;
      return nameOf(trx);
    });
    const queued = ['a', 'b', 'c'].map(() =>
      pool.session((session) => session.query('select pg_sleep(0.1)')),
    );
    await sleep(50);
    settings = { ...settings, application_name: 'other' };
    expect(await nameOf(pool)).to.equal('other');
    resolve();
    expect(await begun).to.equal('');
    expect(await Promise.all(queued)).to.have.length(3);
  });

  it('tells who gave the settings that they let nobody in, and takes the next ones', async () => {
    await nameOf(pool);
    const good = settings;
    settings = { ...good, port: 1 };
    const failed: unknown = await nameOf(pool).catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(Error);
    expect(refused).to.equal(1);
    settings = good;
    await pool.raw('nonsense').catch(() => undefined);
    expect(await sum()).to.equal(0);
    expect(refused).to.equal(1);
  });

  it('says why a connection ended between two statements, and goes on with another', async () => {
    const failed: unknown = await pool
      .session(async (session) => {
        const { rows } = await session.query('select pg_backend_pid() as pid');
        const { pid } = rows[0] as { pid: number };
        await pool.raw('select pg_terminate_backend(?::int)', [pid]);
        await until(async () => {
          const left = await pool.raw('select pid from pg_stat_activity where pid = ?::int', [pid]);
          return (left as { rows: unknown[] }).rows.length === 0;
        }, 'its process has ended');
        await sleep(100);
        await session.query('select 1');
      })
      .catch((error: unknown) => error);
    expect(failed).to.include({ code: '57P01' });
    expect((failed as Error).message).to.match(/terminating connection/);
    const next = await pool.session((session) => session.query('select 7 as n'));
    expect(next.rows).to.deep.equal([{ n: 7 }]);
  });

  it('is refused when it has ended', async () => {
    await pool.end();
    const failed: unknown = await nameOf(pool).catch((error: unknown) => error);
    expect((failed as Error).message).to.equal('the storage is closed.');
  });

  it('keeps no process alive', async function () {
    this.timeout(20_000);
    const began = performance.now();
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', idleHost],
      { env: { PATH: process.env.PATH ?? '', SETTINGS: JSON.stringify({ ...server().connection }) } },
    );
    expect(stdout).to.equal('1');
    expect(performance.now() - began).to.be.below(9000);
  });
});
