/** The pool that pages are read on where a host has no Knex, and chores are done on in the writer's thread. */
import { expect } from 'chai';
import pg from 'pg';
import { createPgPools, numbered, type PgPools } from '../../app/storage/pg-pool.ts';
import type { Pool } from '../../app/storage/pool.ts';
import { withDebianPostgres } from '../support/postgres.ts';

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
  let pools: PgPools;
  let pool: Pool;

  beforeEach(async () => {
    pools = createPgPools(() => pg.Pool);
    pool = await pools.at({ ...server().connection });
    await pool.raw('drop table if exists numbers; create table numbers (n int)');
  });
  afterEach(() => pools.end());

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

  it('is another one where it is somewhere else, and the same where not', async () => {
    expect(await pools.at({ ...server().connection })).to.equal(pool);
    const other = await pools.at({ ...server().connection, application_name: 'other' });
    const { rows } = await other.raw<{ rows: { name: string }[] }>(
      `select current_setting('application_name') as name`,
    );
    expect(rows[0]?.name).to.equal('other');
  });
});
