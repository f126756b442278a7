import { expect } from 'chai';
import pg from 'pg';
import { withFindingsApp } from '../support/findings-app.ts';
import { postgresDatabase } from '../support/postgres.ts';

describe('finding after-commit', () => {
  let pool: pg.Pool;

  /** As ORMs do it: the function gets a client that is released after the end. */
  async function transaction(work: (client: pg.PoolClient) => Promise<void>, end = 'COMMIT'): Promise<void> {
    const client = await pool.connect();
    await client.query('BEGIN');
    await work(client);
    await client.query(end);
    client.release();
  }

  const ask = withFindingsApp((app) => {
    const book = async (client: pg.PoolClient, id: number): Promise<void> => {
      await client.query('insert into lines (id) values ($1)', [id]);
      await client.query('update accounts set balance = balance + 1 where id = $1', [id]);
    };
    for (const end of ['COMMIT', 'ROLLBACK'])
      app.post(`/lost/${end}`, async (_req, res) => {
        const begun: Promise<void>[] = [];
        await transaction(async (client) => {
          await client.query('insert into batches (id) values (1)');
          [1, 2].forEach((id) => begun.push(book(client, id)));
        }, end);
        await Promise.all(begun);
        res.send('booked');
      });
    app.post('/awaited', async (_req, res) => {
      await transaction(async (client) => {
        await client.query('insert into batches (id) values (1)');
        for (const id of [1, 2]) await book(client, id);
      });
      await pool.query('update accounts set balance = 0');
      await Promise.all([1, 2].map((id) => pool.query('select * from accounts where id = $1', [id])));
      res.send('booked');
    });
  });

  before(async function () {
    pool = new pg.Pool({ ...(await postgresDatabase(this)), max: 1 });
    await pool.query(
      'create table batches (id int); create table lines (id int); create table accounts (id int, balance int)',
    );
  });
  after(() => pool?.end());

  it('names the writes that a COMMIT left out', async () => {
    const [finding, ...others] = (await ask('/lost/COMMIT', { method: 'POST' })).of('after-commit');
    expect(others).to.deep.equal([]);
    expect(finding).to.include({
      label: 'after COMMIT',
      severity: 'bad',
      broke: 'unseen',
      sentence:
        '2 statements (update accounts) were sent after the COMMIT of the transaction on whose connection they ran, so they are not part of the transaction: the function that sent them was not awaited',
    });
    expect(finding?.place).to.match(/after-commit\.test\.ts:21$/);
  });

  it('says that a ROLLBACK did not undo them', async () => {
    const [finding] = (await ask('/lost/ROLLBACK', { method: 'POST' })).of('after-commit');
    expect(finding?.sentence)
      .to.contain('after the ROLLBACK of the transaction')
      .and.contain('undid nothing');
  });

  it('ignores work that is awaited, and later work that gets the same connection of the pool', async () => {
    expect((await ask('/awaited', { method: 'POST' })).of('after-commit')).to.deep.equal([]);
  });
});
