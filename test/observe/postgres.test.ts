import { expect } from 'chai';
import Module, { createRequire } from 'node:module';
import type postgresLibrary from 'postgres';
import { postgresDriver, postgresPatch } from '../../app/observe/databases/postgres.ts';
import { type ObservedRequests, observeRequests, recording } from '../support/observed-requests.ts';
import { withPostgres } from '../support/postgres.ts';

const HERE = /^test\/observe\/postgres\.test\.ts:\d+$/;
const library = { patches: [postgresPatch], listen: recording(postgresDriver) };
const loadCommonJs = createRequire(import.meta.url);

describe('postgres as it is observed', () => {
  const server = withPostgres();
  let sql: postgresLibrary.Sql;
  let requests: ObservedRequests;

  function open(postgres: typeof postgresLibrary): postgresLibrary.Sql {
    const { host, port, user, database } = server().connection;
    return postgres({ host, port, user, database, max: 2, onnotice: () => undefined });
  }

  before(async () => {
    sql = open(loadCommonJs('postgres') as typeof postgresLibrary);
    await sql`create table things (id int primary key, name text)`;
    await sql`insert into things select i, 'thing ' || i from generate_series(1, 9) i`;
  });
  after(() => sql?.end());
  beforeEach(() => {
    requests = observeRequests(library);
  });
  afterEach(() => {
    requests.close();
  });

  it('tells statement, values, time, rows, connection and caller', async () => {
    const queries = await requests.observed(async () => {
      await sql`select * from things where id < ${4}`;
      await sql`select ${sql('name')} from things where id = ${1} ${sql`and name <> ${'x'}`}`;
      await sql`select * from things where ${sql`id`} in ${sql([1, 2])} and id < ${sql`${3}::int`}`;
      await sql`select * from things where name is not null ${sql`and id = ${1}`} and id < ${sql`${3}::int`}`;
      await sql.unsafe('update things set name = $2 where id < $1', [3, 'a']);
      await sql`select * from nowhere`.catch(() => undefined);
      await sql`select * from things`.forEach(() => undefined);
    });
    expect(queries.map((query) => [query.sql, query.bindings, query.rows])).to.deep.equal([
      ['select * from things where id < $1', [4], 3],
      ['select "name" from things where id = $1 and name <> $2', [1, 'x'], 1],
      ['select * from things where id in ($1,$2) and id < $3::int', ['1', '2', '3'], 2],
      ['select * from things where name is not null and id = $1 and id < $2::int', [1, 3], 1],
      ['update things set name = $2 where id < $1', [3, 'a'], 2],
      ['select * from nowhere', [], null],
      ['select * from things', [], 9],
    ]);
    for (const query of queries) {
      expect(query).to.include({ system: 'postgresql', transaction: null });
      expect(query.connection).to.match(/^postgresql\d$/);
      expect(query.durationMs).to.be.greaterThan(0);
      // Of a text that isn't a template nobody has kept where it was written.
      if (!query.sql.startsWith('update')) expect(query.caller).to.match(HERE);
    }
    const line = (at: number): number => Number(/\d+$/.exec(queries[at]?.caller ?? '')?.[0]);
    expect([line(1) - line(0), line(5) - line(0), line(6) - line(0)]).to.deep.equal([1, 5, 6]);
    expect(queries[5]?.error).to.equal('relation "nowhere" does not exist');
  });

  it('takes the last step of a cursor for no result', async () => {
    const queries = await requests.observed(async () => {
      for await (const rows of sql`select * from things`.cursor(4)) expect(rows).not.to.be.empty;
    });
    expect(queries.map(({ rows, found, error }) => [rows, found, error])).to.deep.equal([
      [null, undefined, null],
    ]);
  });

  it('is seen as an ES module that is loaded later, or handed over', async function () {
    const { default: postgres } = await import('postgres');
    const other = open(postgres);
    try {
      const canSee = 'registerHooks' in Module;
      expect(await requests.observed(() => other`select 1`)).to.have.length(canSee ? 1 : 0);
      expect(requests.libraries.observe('postgres', other)).to.equal(true);
      expect(await requests.observed(() => other`select 1`)).to.have.length(1);
    } finally {
      await other.end();
    }
  });
});
