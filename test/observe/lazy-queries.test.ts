import { expect } from 'chai';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import createKnex from 'knex';
import type * as kysely from 'kysely';
import pg from 'pg';
import type postgresLibrary from 'postgres';
import { labelPatches, ormCalls } from '../../app/observe/channels/labels.ts';
import { lazyQueryPatches, wrapLazyQuery } from '../../app/observe/channels/lazy-query.ts';
import { pgPatch } from '../../app/observe/channels/pg.ts';
import { observeLabels } from '../../app/observe/databases/labels.ts';
import { pgDriver } from '../../app/observe/databases/pg.ts';
import { postgresDriver, postgresPatch } from '../../app/observe/databases/postgres.ts';
import type { QueryFact } from '../../app/observe/databases/query-fact.ts';
import { type LibraryCase, loadFrom } from '../libraries/cases.ts';
import { type ObservedRequests, observeRequests, recording } from '../support/observed-requests.ts';
import { withPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const HERE = /^test\/observe\/lazy-queries\.test\.ts:(\d+)$/;

/** The line that calls this. */
function here(): number {
  return Number(/lazy-queries\.test\.ts:(\d+)/.exec((new Error().stack ?? '').split('\n')[2] ?? '')?.[1]);
}

function lineOf({ caller }: QueryFact): number {
  return Number(HERE.exec(caller ?? '')?.[1]);
}

/** A library of the same shape: its queries are sent by `then`. */
const LIBRARY = `export class QueryPromise {
  constructor(pool) { this.pool = pool; }
  async execute() { return await this.pool.query('select 1 as one'); }
  then(resolved, rejected) { return this.execute().then(resolved, rejected); }
}`;

interface Lazy {
  QueryPromise: new (pool: object) => PromiseLike<{ rows: unknown[] }>;
}

describe('queries that are sent when they are awaited', () => {
  const server = withPostgres();
  let requests: ObservedRequests;
  let pool: pg.Pool;
  let folder: string;
  let early: Lazy;

  before(async () => {
    folder = freshFolder();
    const library = join(folder, 'node_modules', 'drizzle-orm');
    await mkdir(library, { recursive: true });
    await writeFile(join(library, 'package.json'), '{ "name": "drizzle-orm", "type": "module" }');
    const file = join(library, 'query-promise.js');
    await writeFile(file, LIBRARY);
    early = (await import(pathToFileURL(file).href)) as Lazy;
    pool = new pg.Pool({ ...server().connection, max: 4 });
  });
  after(async () => {
    await pool?.end();
  });
  beforeEach(() => {
    requests = observeRequests(
      { patches: [pgPatch], listen: recording(pgDriver) },
      { patches: [postgresPatch], listen: recording(postgresDriver) },
      { patches: [...labelPatches, ...lazyQueryPatches], listen: observeLabels },
    );
  });
  afterEach(() => {
    requests.close();
  });

  async function withSql(work: (sql: postgresLibrary.Sql) => Promise<void>): Promise<void> {
    const postgres = createRequire(import.meta.url)('postgres') as typeof postgresLibrary;
    const { host, port, user, database } = server().connection;
    const sql = postgres({ host, port, user, database, max: 4, onnotice: () => undefined });
    await sql`select 0`;
    await work(sql).finally(() => sql.end());
  }

  it('have the line that awaits them, in each of 100 requests that run at once: postgres', () =>
    withSql(async (sql) => {
      let line = 0;
      const all = await Promise.all(
        Array.from({ length: 100 }, (_, id) =>
          requests.observed(async () => {
            line = here() + 1;
            await sql.unsafe('select $1::int as id', [id]);
            await Promise.all([sql.unsafe('select $1::int as id', [id]), sql.unsafe('select $1::int as id', [id])]); // prettier-ignore
          }),
        ),
      );
      for (const [id, queries] of all.entries()) {
        expect(queries.map(({ bindings }) => bindings)).to.deep.equal([[id], [id], [id]]);
        expect(queries.map(lineOf)).to.deep.equal([line, line + 1, line + 1]);
      }
    }));

  it('are sent once, settle as before, and what follows has its own line: postgres', () =>
    withSql(async (sql) => {
      let line = 0;
      const results: unknown[] = [];
      const messageOf = (error: unknown): string => (error as Error).message;
      const next = (): Promise<number> => sql.unsafe('select 4').then((rows) => rows.length);
      const nextLine = here() - 1;
      const queries = await requests.observed(async () => {
        const query = sql.unsafe('select 1 as a');
        line = here() + 1;
        results.push(await query);
        results.push(await query.then((rows) => [...rows, 2]));
        results.push(await sql.unsafe('select nothing').catch(messageOf));
        results.push(await sql.unsafe('select 3').then(next));
      });
      expect(results).to.deep.equal([[{ a: 1 }], [{ a: 1 }, 2], 'column "nothing" does not exist', 1]);
      expect(queries.map((made) => [made.sql, lineOf(made)])).to.deep.equal([
        ['select 1 as a', line],
        ['select nothing', line + 2],
        ['select 3', line + 3],
        ['select 4', nextLine],
      ]);
    }));

  it('have the line that awaits them or adds what comes next: knex that nobody passed in', async () => {
    const knex = createKnex({ client: 'pg', connection: server().connection, pool: { min: 1, max: 2 } });
    await knex.raw('select 0');
    let line = 0;
    const results: unknown[] = [];
    const queries = await requests
      .observed(async () => {
        line = here() + 1;
        await knex.select(knex.raw('1 as a')).then((rows) => results.push(rows));
        await knex.raw('select 2 as b').then(({ rows }: pg.QueryResult) => results.push(rows));
        await knex.select('nothing').catch((error: unknown) => results.push(error));
      })
      .finally(() => knex.destroy());
    expect(results.slice(0, 2)).to.deep.equal([[{ a: 1 }], [{ b: 2 }]]);
    expect(results[2]).to.have.property('code', '42703');
    expect(queries.map(lineOf)).to.deep.equal([line, line + 1, line + 2]);
  });

  it('have the line that makes them, and that which asks for them: knex in a function that returns its query', async () => {
    const knex = createKnex({ client: 'pg', connection: server().connection, pool: { min: 1, max: 2 } });
    await knex.schema.createTable('lazy', (table) => table.integer('id'));
    const find = (id: number) => knex('lazy').where({ id });
    const made = here() - 1;
    let line = 0;
    const queries = await requests
      .observed(async () => {
        line = here() + 1;
        await find(1);
        await find(2).first();
        const later = find(3);
        await Promise.resolve();
        await later;
        await knex('lazy').whereIn('id', find(4).select('id'));
      })
      .finally(() => knex.destroy());
    const lines = queries.map(({ caller, path = [] }) =>
      [caller, path[0]].map((place) => Number(HERE.exec(place ?? '')?.[1])),
    );
    expect(lines.slice(0, 3)).to.deep.equal([
      [made, line],
      [made, line + 1],
      [made, line + 2],
    ]);
    expect(lines[3]?.[0]).to.equal(line + 5);
  });

  it('have the line that calls `execute()`, which a callback may do that awaits nothing: Kysely', async () => {
    const { Kysely, PostgresDialect, sql } = createRequire(import.meta.url)('kysely') as typeof kysely;
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
    let line = 0;
    const queries = await requests.observed(async () => {
      line = here() + 2;
      const resolvers = [
        () => sql`select 1`.execute(db),
        () => sql`select 2`.execute(db),
      ]; // prettier-ignore
      await new Promise((resolve) => void Promise.all(resolvers.map((run) => run())).then(resolve));
    });
    // Either may get its connection first.
    const lines = queries.map((made) => [made.sql, lineOf(made)]);
    expect(lines).to.have.deep.members([
      ['select 1', line],
      ['select 2', line + 1],
    ]);
  });

  it('have it from the second on, if an ES module had been loaded before', async () => {
    const { QueryPromise } = early;
    const isWrapped = (): boolean => Object.getOwnPropertyDescriptor(QueryPromise.prototype, 'then')?.get !== undefined; // prettier-ignore
    await requests.observed(async () => {
      await new QueryPromise(pool);
    });
    await until(isWrapped, 'then is wrapped');
    let line = 0;
    const queries = await requests.observed(async () => {
      line = here() + 1;
      const { rows } = await new QueryPromise(pool);
      expect(rows).to.deep.equal([{ one: 1 }]);
    });
    expect(queries.map(lineOf)).to.deep.equal([line]);
  });

  it('lend their line to no other request whose callbacks run on the connection that they opened', async () => {
    const one = new pg.Pool({ ...server().connection, max: 1 });
    await requests.observed(() => ormCalls.runStores({ label: 'Thing.find' }, () => one.query('select 0')));
    let line = 0;
    const queries = await requests.observed(
      () =>
        new Promise((resolve) => {
          one.query('select 1', () => {
            line = here() + 1;
            one.query('select 2', resolve);
          });
        }),
    );
    await one.end();
    expect(queries.map((made) => [lineOf(made), made.label])).to.deep.equal([
      [line - 2, undefined],
      [line, undefined],
    ]);
  });

  it('can have a `then` of their own, and cost nothing outside of a request', async () => {
    class Query {
      then(resolved: (value: number) => unknown): unknown {
        return resolved(1);
      }
    }
    const restore = wrapLazyQuery(Query.prototype) ?? expect.fail('not wrapped');
    const other = new Query();
    other.then = (resolved) => resolved(2);
    expect([await new Query(), await other]).to.deep.equal([1, 2]);
    // Called as it was: what it returns is no promise.
    expect(new Query().then((value) => value)).to.equal(1);
    restore();
    expect(Object.getOwnPropertyDescriptor(Query.prototype, 'then')?.get).to.equal(undefined);
  });
});

const drizzleCase: Pick<LibraryCase, 'folder' | 'library'> = { folder: 'current', library: 'drizzle-orm' };

/** What we use of it; a query of any kind. */
interface Drizzle {
  select(): {
    from(table: object): PromiseLike<unknown> & { where(condition: unknown): PromiseLike<unknown> };
  };
  insert(table: object): { values(row: object): PromiseLike<unknown> };
  update(table: object): { set(row: object): { where(condition: unknown): PromiseLike<unknown> } };
  delete(table: object): { where(condition: unknown): PromiseLike<unknown> };
  execute(sql: unknown): PromiseLike<unknown>;
  $count(table: object): PromiseLike<unknown>;
  query: { things: Record<'findMany' | 'findFirst', () => PromiseLike<unknown>> };
  transaction(work: (inside: Drizzle) => Promise<unknown>): Promise<unknown>;
}

describe('queries of Drizzle', () => {
  const server = withPostgres();

  const require = loadFrom(drizzleCase);
  if (require === null) return;

  for (const kind of ['CommonJS', 'an ES module'])
    it(`have the line that awaits them, as ${kind}`, async () => {
      const load = async (name: string): Promise<object> => {
        if (kind === 'CommonJS') return require(name) as object;
        const file = createRequire(`${process.cwd()}/test/libraries/current/index.js`).resolve(name);
        return (await import(pathToFileURL(file.replace(/\.cjs$/, '.js')).href)) as object;
      };
      const { drizzle } = (await load('drizzle-orm/node-postgres')) as {
        drizzle(pool: object, options: object): Drizzle;
      };
      const { pgTable, integer } = (await load('drizzle-orm/pg-core')) as {
        pgTable(name: string, columns: object): Record<string, unknown>;
        integer(): object;
      };
      const { eq, sql } = (await load('drizzle-orm')) as {
        eq(column: unknown, value: unknown): unknown;
        sql: { raw(text: string): unknown };
      };
      const pool = new pg.Pool({ ...server().connection, max: 4 });
      await pool.query('drop table if exists things; create table things (id int)');
      const things = pgTable('things', { id: integer() });
      const db = drizzle(pool, { schema: { things } });
      const requests = observeRequests(
        { patches: [pgPatch], listen: recording(pgDriver) },
        { patches: [...labelPatches, ...lazyQueryPatches], listen: observeLabels },
      );
      try {
        // An ES module that was loaded before is found by its first statements.
        await requests.observed(async () => {
          await db.select().from(things);
          await db.$count(things);
          await db.execute(sql.raw('select 1'));
        });
        await until(
          async () => (await requests.observed(async () => void (await db.$count(things))))[0]?.caller?.match(HERE) !== null, // prettier-ignore
          'the line is known',
        );
        let line = 0;
        const queries = await requests.observed(async () => {
          line = here() + 1;
          await db.select().from(things);
          await db.insert(things).values({ id: 1 });
          await db.update(things).set({ id: 2 }).where(eq(things.id, 1));
          await db.delete(things).where(eq(things.id, 2));
          await db.execute(sql.raw('select 1'));
          await db.$count(things);
          await db.query.things.findMany();
          await db.query.things.findFirst();
          await Promise.all([1].map(() => db.select().from(things)));
          await db.transaction(async (inside) => {
            await inside.select().from(things);
          });
        });
        const asked = queries.filter(({ sql: text }) => !/^(?:begin|commit)/.test(text));
        expect(asked.map(lineOf).map((at) => at - line)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 10]);
        const find = (id: number) => db.select().from(things).where(eq(things.id, id));
        const [made] = await requests.observed(async () => {
          line = here() + 1;
          await find(1);
        });
        expect([made?.caller, made?.path?.[0]].map((place) => Number(HERE.exec(place ?? '')?.[1]))).to.deep.equal([line - 3, line]); // prettier-ignore
        const all = await Promise.all(
          Array.from({ length: 100 }, (_, id) =>
            requests.observed(async () => {
              await db.select().from(things).then(() => db.delete(things).where(eq(things.id, id))); // prettier-ignore
            }),
          ),
        );
        expect(all.map((made) => made.map(({ bindings }) => bindings))).to.deep.equal(
          all.map((_, id) => [[], [id]]),
        );
      } finally {
        requests.close();
        await pool.end();
      }
    });
});
