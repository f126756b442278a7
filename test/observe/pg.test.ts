import { expect } from 'chai';
import knexLibrary from 'knex';
import pg from 'pg';
import { pgPatch } from '../../app/observe/channels/pg.ts';
import { pgDriver } from '../../app/observe/databases/pg.ts';
import {
  expectOnceBelow,
  type ObservedRequests,
  observeRequests,
  recording,
} from '../support/observed-requests.ts';
import { withPostgres } from '../support/postgres.ts';

const HERE = /^test\/observe\/pg\.test\.ts:\d+$/;

describe('pg as it is observed', () => {
  const server = withPostgres();
  let pool: pg.Pool;
  let requests: ObservedRequests;

  before(async () => {
    pool = new pg.Pool({ ...server().connection, max: 2 });
    await pool.query('create table things (id int primary key, name text)');
    await pool.query("insert into things select i, 'thing ' || i from generate_series(1, 9) i");
  });
  after(() => pool?.end());
  beforeEach(() => {
    requests = observeRequests({ patches: [pgPatch], listen: recording(pgDriver) });
  });
  afterEach(() => {
    requests.close();
  });

  it('sees the client of pg.native once it is read, and not before', async () => {
    class NativeClient {
      query(_text: string): Promise<object> {
        return Promise.resolve({ rows: [{}] });
      }
    }
    let reads = 0;
    // As pg does: the getter is replaced by what it made.
    const library: { Client: object; Pool: object; native?: { Client: typeof NativeClient } } = {
      Client: class {
        query(): object {
          return this;
        }
      },
      Pool: pg.Pool,
    };
    Object.defineProperty(library, 'native', {
      configurable: true,
      get() {
        reads++;
        const value = { Client: NativeClient };
        Object.defineProperty(library, 'native', { value });
        return value;
      },
    });
    const undo = pgPatch.patch(library);
    expect(reads).to.equal(0);
    const { Client } = library.native!;
    const queries = await requests.observed(async () => {
      await new Client().query('select 1');
    });
    expect(queries.map(({ sql }) => sql)).to.deep.equal(['select 1']);
    undo?.();
    expect(await requests.observed(() => new Client().query('select 1').then(() => undefined))).to.be.empty;
  });

  it('knows a prepared statement that is sent by its name alone', async () => {
    const client = await pool.connect();
    const queries = await requests.observed(async () => {
      await client.query({ name: 'by-id', text: 'select name from things where id = $1', values: [1] });
      await client.query({ name: 'by-id', values: [2] } as unknown as { text: string });
    });
    client.release();
    const { host, port, database } = server().connection;
    expect(queries.map((query) => query.server)).to.deep.equal(Array(2).fill(`${host}:${port}/${database}`));
    expect(queries.map(({ sql, bindings }) => [sql, bindings])).to.deep.equal([
      ['select name from things where id = $1', [1]],
      ['select name from things where id = $1', [2]],
    ]);
  });

  it('records the first rows by column, and a day as PostgreSQL has it', async () => {
    const queries = await requests.observed(async () => {
      await pool.query('select id, name from things order by id');
      await pool.query({
        text: "select id, date '2026-03-01' as due from things where id = 2",
        rowMode: 'array',
      });
      await pool.query("update things set name = 'other' where id = 9");
    });
    const found = queries.map((query) => query.found);
    expect(found[0]).to.deep.equal([1, 2, 3, 4, 5].map((id) => ({ id, name: `thing ${id}` })));
    expect(found[1]).to.deep.equal([{ id: 2, due: '2026-03-01' }]);
    expect(found[2]).to.equal(undefined);
  });

  it('leaves errors to the application: same object, same stack, unhandled where nobody handles it', async () => {
    const client = await pool.connect();
    const fail = async (): Promise<Error> => {
      try {
        await client.query('select nothing');
      } catch (error) {
        return error as Error;
      }
      throw new Error('it did not fail');
    };
    let seen: Error | undefined;
    const queries = await requests.observed(async () => {
      seen = await fail();
    });
    expect(queries[0]?.error).to.equal('column "nothing" does not exist');
    requests.close();
    const unseen = await fail();
    const lines = (error: Error | undefined) =>
      error?.stack?.split('\n').filter((line) => !line.includes('observed'));
    expect(lines(seen)?.slice(0, 4)).to.deep.equal(lines(unseen)?.slice(0, 4));
    const listeners = process.rawListeners('unhandledRejection') as NodeJS.UnhandledRejectionListener[];
    process.removeAllListeners('unhandledRejection');
    try {
      requests = observeRequests({ patches: [pgPatch], listen: recording(pgDriver) });
      const unhandled = new Promise((resolve) => process.once('unhandledRejection', resolve));
      await requests.observed(() => {
        void client.query('select nobody');
      });
      expect(String(await unhandled)).to.contain('"nobody" does not exist');
    } finally {
      for (const listener of listeners) process.on('unhandledRejection', listener);
    }
    client.release();
  });

  it('names who held the connections of a pool that had none left', async () => {
    const small = new pg.Pool({ ...server().connection, max: 1 });
    let isHeld: () => void = () => undefined;
    const held = new Promise<void>((done) => (isHeld = done));
    const holding = requests.observed(async () => {
      const client = await small.connect();
      isHeld();
      await client.query('select pg_sleep(0.05)');
      client.release();
    });
    await held;
    const [waited] = await requests.observed(() => small.query('select 1'));
    await holding;
    const [holder, ...others] = waited?.heldBy ?? [];
    expect(holder).to.include({ connections: 1 });
    expect(holder?.place).to.match(HERE);
    expect(others).to.have.length(0);
    const [alone] = await requests.observed(() => small.query('select 1'));
    expect(alone).not.to.have.property('heldBy');
    await small.end();
  });

  it('records how long a request waited for a connection, and that it got none', async () => {
    const small = new pg.Pool({ ...server().connection, max: 1 });
    const held = await small.connect();
    const waiting = requests.observed(() => small.query('select 1'));
    const alone = requests.observed(() => held.query('select pg_sleep(0.02)'));
    await alone;
    held.release();
    const [query] = await waiting;
    expect(query?.waitMs).to.be.greaterThan(15);
    expect(query?.caller).to.match(HERE);
    expect((await alone)[0]?.waitMs).to.equal(0);
    await small.end();
    const [refused] = await requests.observed(() => small.query('select 1').catch(() => undefined));
    expect(refused).to.include({ sql: '' });
    expect(refused?.error).to.contain('calling end on the pool');
    expect(refused?.caller).to.match(HERE);
  });

  it('is shared by two observers and gone with the last', async () => {
    const other = observeRequests({ patches: [pgPatch], listen: recording(pgDriver) });
    expect(await other.observed(() => pool.query('select 1'))).to.have.length(1);
    other.close();
    expect(await requests.observed(() => pool.query('select 1'))).to.have.length(1);
    expect(requests.libraries.found()).to.deep.include({ name: 'pg', version: '8.23.1' });
    const { query } = pg.Client.prototype;
    requests.close();
    expect(pg.Client.prototype.query).not.to.equal(query);
    expect(await requests.observed(() => pool.query('select 1'))).to.have.length(0);
  });

  it('is silent below a Knex that records: each statement once', async () => {
    const knex = knexLibrary({
      client: 'pg',
      connection: { ...server().connection },
      pool: { min: 0, max: 2 },
    });
    await expectOnceBelow(requests, knex, 'postgresql');
  });
});
