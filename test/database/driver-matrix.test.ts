/**
 * Each driver, with a real server: every way to ask, while others ask at the same time, and every kind of value. A statement must be in its
 * own request, with its duration and error, and so must be the one that its callback or event sends; and the statement that its page shows
 * to copy, run in the same database, must return the same rows, or say that it can't.
 */
import { expect } from 'chai';
import { createRequire } from 'node:module';
import type { Knex } from 'knex';
import type * as kysely from 'kysely';
import type mysql from 'mysql2';
import type pg from 'pg';
import type Cursor from 'pg-cursor';
import type { IMain } from 'pg-promise';
import type postgres from 'postgres';
import type { Sequelize } from 'sequelize';
import express from 'express';
import type { Readable } from 'node:stream';
import { hindsight, type Profiler } from '../../app/index.ts';
import type { DatabaseData } from '../../app/panels/database/data.ts';
import { mongodbDriver } from '../../app/observe/databases/mongodb.ts';
import { mysqlDriver } from '../../app/observe/databases/mysql.ts';
import { pgDriver } from '../../app/observe/databases/pg.ts';
import { postgresDriver } from '../../app/observe/databases/postgres.ts';
import { createQueryRecorder } from '../../app/observe/databases/queries.ts';
import { sqliteDriver } from '../../app/observe/databases/sqlite.ts';
import { Context, type ContextTracker } from '../../app/profiler/record/context.ts';
import { queryDetail } from '../../app/panels/database/query-detail.ts';
import { close, listen } from '../support/listen.ts';
import { withMariadb } from '../support/mariadb.ts';
import { type TestConnection, withPostgres } from '../support/postgres.ts';

const load = createRequire(import.meta.url);
const LONG = 'x'.repeat(3000);
const NAP_MS = 30;
/** Two requests ask at once: one connection is left for what they send next. */
const POOL = 3;

/** Sends a statement in one way, and what `then` sends when the first tells that it is over. */
type Then = () => Promise<unknown>;
type Way = (sql: string, then: Then) => unknown;
type Ways = Readonly<Record<string, Way>>;
type Done = (error: unknown, result?: unknown) => void;

interface Driver {
  dialect: keyof typeof DIALECTS;
  /** Rows of a statement, as this driver reads them. */
  ask(sql: string, values: unknown[]): PromiseLike<unknown>;
  /** A kind of value that the driver changes or drops before it sends it. */
  changes?: string;
  /** The first driver of each dialect runs what was copied. */
  run?(sql: string): PromiseLike<unknown>;
  ways?: Ways;
  /** They give up, or are cancelled, before the statement is over. */
  stopped?: Ways;
  /** To be passed in, so that the lines of callbacks are known. */
  knex?: Knex;
  close?(): unknown;
}

class Money {
  amount = 3;
  toJSON(): string {
    return 'three';
  }
}

const MOMENT = new Date('2026-07-02T12:00:00.123Z');
const TEXT = 'it\'s "quoted" \\ back\n\t \u0001 ? $1 :a -- 🎉';
const DIALECTS = {
  postgresql: {
    fine: `select pg_sleep(NAP), 'MARK' as mark`,
    fails: `select 1 / length(pg_sleep(NAP)::text) as "MARK"`,
    values: {
      date: ['?::timestamptz::text', MOMENT],
      'date without zone': ['?::timestamp::text', MOMENT],
      bytes: [`encode(?::bytea, 'hex')`, Buffer.from([1, 2, 255])],
      bigint: ['?::int8', 9007199254740993n],
      null: ['?::text', null],
      undefined: ['?::text', undefined],
      boolean: ['?::bool', true],
      'boolean as text': ['?::text', false],
      number: ['1 -?::numeric', -1.5],
      'number as text': [`'7' = ?`, 7],
      text: ['?::text', TEXT],
      'text like a mark': ['?::text', '… 3 more'],
      list: ['?::int[]', [1, 2, null]],
      'list of texts': ['?::text[]', ["a'b", 'c"d', 'e\\f', 'NULL', '', ' x ', '{1,2}', undefined]],
      'list of bigints': ['?::int8[]', [1n, 9007199254740993n]],
      'list of bytes': ['?::bytea[]::text', [Buffer.from([1, 2])]],
      'nested list': ['?::text[]', [['a,b', 'c'], ['d}', 'e']]], // prettier-ignore
      object: ['?::jsonb', { a: [1, { b: null, c: [{ d: TEXT }] }], at: MOMENT, no: undefined }],
      json: [`?::jsonb ->> 'a'`, JSON.stringify({ a: TEXT })],
      'JSON operator': [`'{"7": "x"}'::jsonb ->> ?`, '7'],
      'long text': ['length(?::text)', LONG],
      'many bytes': ['length(?::bytea)', Buffer.alloc(65)],
      map: ['?::jsonb', new Map([['a', 1]])],
      'class that writes itself': ['?::jsonb', new Money()],
    },
  },
  mysql: {
    fine: `select sleep(NAP), 'MARK' as mark`,
    fails: `select sleep(NAP), (select 1 union select 2) as \`MARK\``,
    values: {
      date: ['cast(cast(? as datetime(3)) as char)', MOMENT],
      bytes: ['hex(?)', Buffer.from([1, 2, 255])],
      bigint: ['cast(? as char)', 9007199254740993n],
      null: ['?', null],
      undefined: ['?', undefined],
      boolean: ['? = 1', true],
      number: ['cast(3 -? as char)', -5],
      text: ['?', TEXT],
      'text like a mark': ['?', '… 3 more'],
      name: ['?? from (select 1 as a) t', 'a'],
      list: ['2 in (?)', [1, 2, null, true, MOMENT]],
      'list of bigints': ['2 in (?)', [1, 2n]],
      'list of bytes': [`x'01' in (?)`, [Buffer.from([1])]],
      'nested list': ['(1, 2) in (?)', [[1, 2], [3, 4]]], // prettier-ignore
      object: ['1 from (select 1 as a) t where ?', { a: 1 }],
      json: [`json_value(?, '$.a')`, JSON.stringify({ a: TEXT.replace('🎉', '') })],
      'long text': ['length(?)', LONG],
      'many bytes': ['length(?)', Buffer.alloc(65)],
    },
  },
  sqlite: {
    fine: `select 'MARK' as mark`,
    fails: `select abs(-9223372036854775808) as "MARK"`,
    values: {
      bytes: ['hex(?)', Buffer.from([1, 2, 255])],
      bigint: ['cast(? as text)', 9007199254740993n],
      null: ['?', null],
      number: ['3 -?', -5],
      text: ['?', TEXT],
      'text like a mark': ['?', '… 3 more'],
      object: [':a || $b || @a', { a: 'x', $b: TEXT }],
      'long text': ['length(?)', LONG],
      'many bytes': ['length(?)', Buffer.alloc(65)],
      date: ['?', MOMENT],
      boolean: ['?', true],
      undefined: ['?', undefined],
      list: ['?', [5]],
      'typed array': ['hex(?)', new Uint8Array([1, 255])],
      infinite: ['?', -Infinity],
      'no number': ['?', NaN],
      map: ['?', new Map([['a', 1]])],
    },
  },
} as const;

/** Only of these, the page may say that the copy can't be run. */
const NOT_WHOLE = ['long text', 'many bytes', 'map', 'class that writes itself'];

async function awaited(then: Then, asked: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await asked;
  } finally {
    await then();
  }
}

/** `then` runs inside of the callback, or of the first event that ends it. */
function called(then: Then, start: (done: Done) => void): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    start((error) => {
      if (isOver) return;
      isOver = true;
      then().then(() => (error ? reject(error as Error) : resolve(null)), reject);
    });
  });
}

const promise = (ask: (sql: string) => PromiseLike<unknown>): Way => (sql, then) => awaited(then, ask(sql)); // prettier-ignore
const callback = (ask: (sql: string, done: Done) => unknown): Way => (sql, then) => called(then, (done) => void ask(sql, done)); // prettier-ignore
const events = (ask: (sql: string) => unknown): Way =>
  callback((sql, done) => {
    const emitter = ask(sql) as Readable;
    emitter.on('error', done).on('end', done);
    if ('resume' in emitter) emitter.resume();
  });

function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/\?/g, () => `$${++count}`);
}

function openKnex(client: string, connection: object): Knex {
  const pool = { min: 0, max: POOL };
  return (load('knex') as (settings: Knex.Config) => Knex)({ client, connection, pool } as Knex.Config);
}

function pgDrivers(at: TestConnection): Driver[] {
  const { Pool, Query } = load('pg') as typeof pg;
  const CursorClass = load('pg-cursor') as typeof Cursor;
  const Stream = load('pg-query-stream') as new (sql: string) => Readable & pg.Submittable;
  const pool = new Pool({ ...at, max: POOL });
  const db = (load('pg-promise') as (options: object) => IMain)({ noWarnings: true })({ ...at, max: POOL });
  const sql = (load('postgres') as typeof postgres)({ ...at, max: POOL });
  const knex = openKnex('pg', at);
  const { Kysely, PostgresDialect, CompiledQuery } = load('kysely') as typeof kysely;
  const ky = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
  const { Sequelize: Orm } = load('sequelize') as { Sequelize: typeof Sequelize };
  const orm = new Orm(at.database, at.user, '', { host: at.host, port: at.port, dialect: 'postgres', logging: false }); // prettier-ignore
  const dialect = 'postgresql';
  async function held<T>(work: (client: pg.PoolClient) => T | Promise<T>): Promise<T> {
    const client = await pool.connect();
    try {
      return await work(client);
    } finally {
      client.release();
    }
  }
  const on = (way: (client: pg.PoolClient) => Way): Way => (text, then) => held((client) => way(client)(text, then)); // prettier-ignore
  const CANCEL = 'select pg_cancel_backend(pid) from pg_stat_activity where pid = $1 and query = $2';
  return [
    {
      dialect,
      ask: async (text, values) => (await pool.query(numbered(text), values)).rows as unknown,
      run: async (text) => (await pool.query(text)).rows as unknown,
      ways: {
        'pg, promise': on((client) => promise((text) => client.query(text))),
        'pg, callback': on((client) => callback((text, done) => client.query(text, done))),
        'pg, values and callback': on((client) => callback((text, done) => client.query(text, [], done))),
        'pg, callback in an object': on((client) => callback((text, done) => client.query({ text, callback: done } as pg.QueryConfig))), // prettier-ignore
        'pg, events': on((client) => events((text) => client.query(new Query(text)))),
        'pg, stream': on((client) => events((text) => client.query(new Stream(text)))),
        'pg, cursor': on((client) => callback((text, done) => client.query(new CursorClass(text)).read(9, done))), // prettier-ignore
        'pg, prepared': on((client) => promise((text) => client.query({ text, name: text }))),
        'pg, pool': promise((text) => pool.query(text)),
        'pg, callback of a pool': callback((text, done) => pool.query(text, done)),
        'pg, transaction': (text, then) =>
          held(async (client) => {
            await client.query('begin');
            return awaited(then, client.query(text)).finally(() => client.query('rollback'));
          }),
      },
      stopped: {
        'pg, time limit': on((client) => promise((text) => client.query({ text, query_timeout: 5 } as pg.QueryConfig))), // prettier-ignore
        'pg, cancelled': (text, then) =>
          held(async (client) => {
            const { processID } = client as unknown as { processID: number };
            const asked = awaited(then, client.query(text));
            asked.catch(() => undefined);
            while ((await pool.query(CANCEL, [processID, text])).rowCount === 0);
            return asked;
          }),
      },
      close: () => pool.end(),
    },
    {
      dialect,
      ask: (text, values) =>
        held(async (client) => {
          const cursor = client.query(new CursorClass(numbered(text), values));
          return cursor.read(9).finally(() => cursor.close());
        }),
    },
    {
      dialect,
      ask: (text, values) => sql.unsafe(numbered(text), values as never[]),
      ways: {
        'postgres, promise': promise((text) => sql.unsafe(text)),
        'postgres, simple': promise((text) => sql.unsafe(text).simple()),
        'postgres, forEach': promise((text) => sql.unsafe(text).forEach(() => undefined)),
        'postgres, cursor': promise((text) => sql.unsafe(text).cursor(() => undefined)),
        'postgres, iterated': promise(async (text) => { for await (const _rows of sql.unsafe(text).cursor()); }), // prettier-ignore
        'postgres, transaction': (text, then) => sql.begin((inside) => awaited(then, inside.unsafe(text))),
      },
      stopped: {
        'postgres, cancelled': promise((text) => {
          const query = sql.unsafe(text);
          setTimeout(() => query.cancel(), 10);
          return query;
        }),
      },
      close: () => sql.end(),
    },
    {
      dialect,
      ask: (text, values) => db.any(numbered(text), values),
      ways: {
        'pg-promise, promise': promise((text) => db.any(text)),
        'pg-promise, transaction': (text, then) => db.tx((task) => awaited(then, task.any(text))),
        'pg-promise, stream': promise((text) =>
          db.stream(new Stream(text) as never, (stream) => (stream as Readable).resume()),
        ),
      },
      close: () => db.$pool.end(),
    },
    {
      dialect,
      ask: async (text, values) => (await knex.raw<{ rows: unknown }>(text, values as never)).rows,
      ways: {
        'Knex, promise': promise((text) => knex.raw(text)),
        'Knex, callback': callback((text, done) => knex.raw(text).asCallback(done)),
        'Knex, stream': events((text) => knex.raw(text).stream()),
        'Knex, transaction': (text, then) => knex.transaction((trx) => awaited(then, trx.raw(text))),
      },
      stopped: { 'Knex, cancelled': promise((text) => knex.raw(text).timeout(5, { cancel: true })) },
      knex,
      close: () => knex.destroy(),
    },
    {
      dialect,
      ask: async (text, values) => (await ky.executeQuery(CompiledQuery.raw(numbered(text), values))).rows,
      ways: { 'Kysely, promise': promise((text) => ky.executeQuery(CompiledQuery.raw(text))) },
    },
    {
      dialect,
      ask: async (text, values) => (await orm.query(numbered(text), { bind: values }))[0],
      ways: { 'Sequelize, promise': promise((text) => orm.query(text)) },
      close: () => orm.close(),
    },
  ];
}

function mysqlDrivers(library: 'mysql' | 'mysql2', at: object): Driver[] {
  const pool = (load(library) as typeof mysql).createPool({ ...at, connectionLimit: POOL });
  const knex = openKnex(library, at);
  const dialect = 'mysql';
  const on =
    (way: (connection: mysql.PoolConnection) => Way): Way =>
    (text, then) =>
      new Promise((resolve, reject) => {
        pool.getConnection((_error, connection) => {
          void Promise.resolve(way(connection)(text, then)).finally(() => connection.release()).then(resolve, reject); // prettier-ignore
        });
      });
  const rowsBy =
    (method: 'query' | 'execute'): Driver['ask'] =>
    (sql, values) =>
      new Promise((resolve, reject) => {
        pool[method]({ sql, values }, (error: unknown, rows: unknown) => (error ? reject(error as Error) : resolve(rows))); // prettier-ignore
      });
  const drivers: Driver[] = [
    {
      dialect,
      ask: rowsBy('query'),
      run: (text) => rowsBy('query')(text, []),
      ways: {
        [`${library}, callback`]: on((connection) => callback((text, done) => connection.query(text, done))),
        [`${library}, events`]: on((connection) => events((text) => connection.query(text))),
        [`${library}, stream`]: on((connection) => events((text) => connection.query(text).stream())),
        [`${library}, pool`]: callback((text, done) => pool.query(text, done)),
        [`${library}, events of a pool`]: events((text) => pool.query(text)),
      },
      stopped: { [`${library}, time limit`]: callback((sql, done) => pool.query({ sql, timeout: 5 }, done)) },
      close: () => new Promise<void>((resolve) => pool.end(() => resolve())),
    },
    {
      dialect,
      ask: async (text, values) => ((await knex.raw(text, values as never)) as unknown[])[0],
      ways: {
        [`Knex above ${library}, promise`]: promise((text) => knex.raw(text)),
        [`Knex above ${library}, stream`]: events((text) => knex.raw(text).stream()),
      },
      knex,
      close: () => knex.destroy(),
    },
  ];
  if (library === 'mysql') return drivers;
  const ways = {
    'mysql2, promise': promise((text) => pool.promise().query(text)),
    'mysql2, prepared': callback((text, done) => pool.execute(text, done)),
    'mysql2, promise of a prepared one': promise((text) => pool.promise().execute(text)),
  };
  return [...drivers, { dialect, ask: rowsBy('execute'), ways }];
}

/** null: it has to be compiled, and was not, or is not in this version. */
function loadCompiled(name: string): unknown {
  try {
    return load(name) as unknown;
  } catch {
    return null;
  }
}

function pgNativeDrivers(at: TestConnection): Driver[] {
  if (loadCompiled('pg-native') === null) return [];
  const { native } = load('pg') as typeof pg;
  const pool = new native!.Pool({ ...at, max: POOL });
  return [
    {
      dialect: 'postgresql',
      ask: async (text, values) => (await pool.query(numbered(text), values)).rows as unknown,
      ways: {
        'pg.native, pool': promise((text) => pool.query(text)),
        'pg.native, callback of a pool': callback((text, done) => pool.query(text, done)),
        'pg.native, prepared': promise((text) => pool.query({ text, name: text })),
        'pg.native, events': (text, then) =>
          pool.connect().then((client) => {
            const Query = native!.Query as unknown as new (text: string) => pg.Submittable;
            const asked = events((sql) => client.query(new Query(sql)))(text, then) as Promise<unknown>;
            return asked.finally(() => client.release());
          }),
      },
      // As if they were text in UTF-8.
      changes: 'bytes',
      close: () => pool.end(),
    },
  ];
}

/** node:sqlite came with Node 22. */
function sqliteDrivers(): Driver[] {
  type Statement = Record<'all' | 'get' | 'run' | 'iterate', (...values: unknown[]) => unknown>;
  interface Database { prepare(sql: string): Statement; exec(sql: string): void; close(): void } // prettier-ignore
  type Class = new (path: string) => Database;
  const builtin = loadCompiled('node:sqlite') as { DatabaseSync: Class } | null;
  const better = loadCompiled('better-sqlite3') as Class | null;
  return [
    ...(builtin === null ? [] : [sqliteDriverOf('node:sqlite', new builtin.DatabaseSync(':memory:'))]),
    // It refuses to `run` what returns rows.
    ...(better === null
      ? []
      : [sqliteDriverOf('better-sqlite3', new better(':memory:'), ['all', 'get', 'iterate'])]),
  ];

  function sqliteDriverOf(
    library: string,
    database: Database,
    names: readonly (keyof Statement)[] = ['all', 'get', 'run', 'iterate'],
  ): Driver {
    const ways = names.map((name): [string, Way] => [
      `${library}, ${name}`,
      promise(async (text) => {
        const rows = database.prepare(text)[name]();
        return name === 'iterate' ? [...(rows as Iterable<unknown>)] : rows;
      }),
    ]);
    return {
      dialect: 'sqlite',
      ask: async (text, values) => database.prepare(text).all(...values),
      run: async (text) => database.prepare(text).all(),
      ways: {
        ...Object.fromEntries(ways),
        [`${library}, exec`]: promise(async (text) => database.exec(text)),
      },
      // For node:sqlite an object without names of parameters; better-sqlite3 refuses it.
      changes: 'date',
      close: () => database.close(),
    };
  }
}

type Query = DatabaseData['queries'][number] & { sql: string; copy: string; note: string | undefined };

describe('drivers of databases', () => {
  const postgresServer = withPostgres();
  const mariadb = withMariadb();
  /** A zone in which a date that is sent as local time is another one. */
  const { TZ } = process.env;
  let drivers: Driver[];
  let profiler: Profiler;
  let served: Awaited<ReturnType<typeof listen>>;
  /** By path: what a handler is to do, and the milliseconds that it took. */
  const work = new Map<string, () => unknown>();
  const took = new Map<string, number>();

  before(async () => {
    process.env.TZ = 'Asia/Tokyo';
    const app = express();
    profiler = hindsight(app, { enabled: true, explainMs: 60_000 });
    const { database, ...server } = mariadb();
    const first = (load('mysql2') as typeof mysql).createConnection(server).promise();
    await first.query(`create database if not exists ${database}`);
    await first.end();
    drivers = [
      ...pgDrivers(postgresServer().connection),
      ...mysqlDrivers('mysql', { ...mariadb(), timezone: '-05:00' }),
      ...mysqlDrivers('mysql2', mariadb()),
      ...pgNativeDrivers(postgresServer().connection),
      ...sqliteDrivers(),
    ];
    for (const { knex } of drivers) if (knex !== undefined) profiler.watchKnex(knex);
    app.get('/:at', async (request, response) => {
      const since = performance.now();
      await Promise.resolve(work.get(request.path)?.()).catch(() => undefined);
      took.set(request.path, performance.now() - since);
      response.send('done');
    });
    served = await listen(app);
  });
  after(async () => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
    for (const one of drivers ?? []) await one.close?.();
    await close(served.server, profiler);
  });

  /** Runs it in a request of its own; resolves with what was recorded. */
  async function recorded(run: () => unknown): Promise<{ queries: Query[]; elapsedMs: number }> {
    const path = `/${work.size}`;
    work.set(path, run);
    const response = await fetch(served.origin + path);
    await response.text();
    const found = await profiler.profiles.read(response.headers.get('x-debug-token') ?? '');
    const data = found?.profile.panels.database?.data as DatabaseData | null | undefined;
    const queries = (data?.queries ?? []).map((query, index): Query => {
      const [detail] = queryDetail(data!, index, new Map());
      const { sql = '' } = data?.statements[query.statement] ?? {};
      return { ...query, sql, copy: String(detail?.block?.text), note: detail?.note };
    });
    return { queries, elapsedMs: took.get(path) ?? 0 };
  }

  type Outcome = 'fine' | 'failing' | 'stopped';

  async function tryWay({ dialect, ask }: Driver, way: Way, mark: string, outcome: Outcome): Promise<void> {
    const nap = outcome === 'stopped' ? '1' : String(NAP_MS / 1000);
    const sql = DIALECTS[dialect][outcome === 'failing' ? 'fails' : 'fine'].replace('MARK', mark).replace('NAP', nap); // prettier-ignore
    const later = `select '${mark}' as later`;
    const { queries, elapsedMs } = await recorded(() => way(sql, async () => ask(later, [])));
    const [asked, ...others] = queries.filter((one) => /'?\bm\d+\b/.test(one.sql));
    expect(others.map((one) => one.sql), 'what its callback sends').to.deep.equal([later]); // prettier-ignore
    expect(asked?.sql).to.equal(sql);
    expect(asked?.error === null, `error: ${asked?.error}`).to.equal(outcome === 'fine');
    expect(asked?.caller).to.match(/^test\/database\/driver-matrix\.test\.ts:\d+$/);
    const leastMs = dialect === 'sqlite' || outcome !== 'fine' ? 0 : NAP_MS - 2;
    expect(asked?.durationMs, 'duration').to.be.within(leastMs, elapsedMs);
  }

  it('records each way to ask in its own request, with its duration and error, and what follows it', async () => {
    const wrong: string[] = [];
    let count = 100;
    const atOnce = (driver: Driver, ways: Ways = {}, outcomes: readonly Outcome[]) =>
      Object.entries(ways).map(([name, way]) => async (): Promise<void> => {
        const tries = outcomes.map((outcome) =>
          tryWay(driver, way, `m${count++}`, outcome).catch((error: unknown) => {
            wrong.push(`${name}, ${outcome}: ${String(error)}`);
          }),
        );
        await Promise.all(tries);
      });
    for (const driver of drivers)
      for (const run of [
        ...atOnce(driver, driver.ways, ['fine', 'failing']),
        ...atOnce(driver, driver.stopped, ['stopped']),
      ])
        await run();
    expect(wrong).to.deep.equal([]);
  });

  async function tryValue(
    { dialect, ask }: Driver,
    kind: string,
    [expression, value]: readonly [string, unknown],
  ): Promise<void> {
    let rows: unknown;
    let failed: unknown;
    const { queries } = await recorded(async () => {
      try {
        rows = await ask(`select ${expression} as v`, [value]);
      } catch (error) {
        failed = error;
      }
    });
    const [query, ...others] = queries.filter(({ sql }) => sql.endsWith(' as v'));
    // Copies are run outside of requests, with the same pool.
    expect(others, 'statements of others').to.deep.equal([]);
    // Refused by the driver.
    if (failed !== undefined) return void expect(query?.error).not.to.equal(null);
    if (query?.note !== undefined) return void expect(NOT_WHOLE, query.copy).to.include(kind);
    const again = await drivers.find((one) => one.dialect === dialect)?.run?.(query?.copy ?? '');
    expect(JSON.stringify(again), query?.copy).to.equal(JSON.stringify(rows));
  }

  it('records rows by column where better-sqlite3 is told to return lists or values', () => {
    const statement = { columns: () => [{ name: 'rent' }, { name: 'rooms' }] };
    const foundOf = (method: string, result: unknown): unknown =>
      sqliteDriver.outcome({ library: '', database: {}, sql: '', args: [], method, result, statement }).found;
    expect(foundOf('all', [[950, 2], [1100, 3]])).to.deep.equal([{ rent: 950, rooms: 2 }, { rent: 1100, rooms: 3 }]); // prettier-ignore
    expect(foundOf('all', [950, 1100])).to.deep.equal([{ rent: 950 }, { rent: 1100 }]);
    expect(foundOf('get', null)).to.deep.equal([{ rent: null }]);
    expect(foundOf('all', [{ rent: 950 }])).to.deep.equal([{ rent: 950 }]);
  });

  it('enters no proxy and runs no getter of what is bound', () => {
    const entered: unknown[] = [];
    const traps = new Proxy({}, { get: (_target, name) => void entered.push(name) }); // prettier-ignore
    const list = new Proxy([1], traps);
    const object = { get secret() { return entered.push('getter'); }, type: 1, value: new Proxy({}, traps) }; // prettier-ignore
    const values = [list, object, new Proxy({}, traps)];
    const context = new Context({ token: '000001', kind: 'request' });
    const queries = createQueryRecorder({ tracker: { observed: () => context } as ContextTracker });
    const described = [values, list, object].flatMap((bound) => [
      mysqlDriver.describe({ connection: {}, sql: 'select ?', values: bound, isPrepared: true }),
      sqliteDriver.describe({
        library: 'sqlite3',
        database: {},
        sql: 'select ?',
        args: [bound],
        method: 'all',
      }),
      mongodbDriver.describe({ command: { find: 'a', filter: { bound } }, connection: {}, namespace: {} }),
      pgDriver.describe({ client: {}, text: 'select $1', values: bound }),
      postgresDriver.outcome({
        query: { string: '', parameters: values, args: values, strings: [] },
      } as never),
    ]);
    for (const one of described) queries.start({ system: 'other', sql: '', library: '', ...one });
    expect(context.all('query')).to.have.length(described.length);
    expect(entered).to.deep.equal([]);
  });

  it('shows statements that return the same rows when they are copied, for every kind of value', async () => {
    const wrong: string[] = [];
    for (const [index, driver] of drivers.entries())
      await Promise.all(
        Object.entries(DIALECTS[driver.dialect].values)
          .filter(([kind]) => kind !== driver.changes)
          .map(([kind, sample]) =>
            tryValue(driver, kind, sample as readonly [string, unknown]).catch((error: unknown) => {
              wrong.push(`${Object.keys(driver.ways ?? {})[0] ?? index}, ${kind}: ${String(error)}`);
            }),
          ),
      );
    expect(wrong).to.deep.equal([]);
  });
});
