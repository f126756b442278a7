/**
 * The databases and ORMs of docs/libraries.md, each doing the same things as an application would. Libraries are loaded from the project,
 * or from `current` and `previous` beside this file, which `npm run libraries` installs.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Knex } from 'knex';
import type * as Kysely from 'kysely';
import type * as mongodb from 'mongodb';
import type * as mysql from 'mysql2';
import type pg from 'pg';
import type { IMain } from 'pg-promise';
import type postgres from 'postgres';
import type * as sequelize from 'sequelize';

export interface Servers {
  postgres: { host: string; port: number; user: string; database: string };
  mysql: { host: string; port: number; user: string; database: string };
  mongodb: string;
}

/** What an application does with its library. The table or collection `things` has a row for each id. */
export interface Work {
  one(id: number): Promise<unknown>;
  /** Runs a statement inside of a transaction. */
  transaction?(id: number): Promise<unknown>;
  /** Runs a statement that takes as long as a slow one. */
  slow?(): Promise<unknown>;
  close(): Promise<unknown>;
}

type Load = (name: string) => unknown;

export interface LibraryCase {
  /** As docs/libraries.md names it. */
  name: string;
  folder: 'project' | 'current' | 'previous';
  /** What has to be there. */
  library: string;
  open(load: Load, servers: Servers): Work | Promise<Work>;
}

const SLOW = 'select t.id from things t, (select pg_sleep(0.06)) as nap where t.id = 1';

/** Two connections: requests that run at once wait for each other. */
const POOL = 2;

/** Loads from the folder that has the library; null if it has not. */
export function loadFrom({ folder, library }: Pick<LibraryCase, 'folder' | 'library'>): Load | null {
  if (library.startsWith('node:')) {
    const module: unknown = process.getBuiltinModule(library);
    return module === undefined ? null : () => module;
  }
  const place = folder === 'project' ? process.cwd() : `${process.cwd()}/test/libraries/${folder}`;
  return existsSync(`${place}/node_modules/${library}`) ? createRequire(`${place}/index.js`) : null;
}

function openPg(load: Load, servers: Servers): Work {
  const { Pool } = load('pg') as typeof pg;
  const pool = new Pool({ ...servers.postgres, max: POOL });
  return {
    one: (id) => pool.query('select * from things where id = $1', [id]),
    async transaction(id) {
      const client = await pool.connect();
      await client.query('begin');
      await client.query('select * from things where id = $1', [id]);
      await client.query('commit');
      client.release();
    },
    slow: () => pool.query(SLOW),
    close: () => pool.end(),
  };
}

function openPostgres(load: Load, servers: Servers): Work {
  const sql = (load('postgres') as typeof postgres)({ ...servers.postgres, max: POOL });
  return {
    one: (id) => sql`select * from things where id = ${id}`,
    transaction: (id) => sql.begin((inside) => inside`select * from things where id = ${id}`),
    slow: () => sql`select t.id from things t, (select pg_sleep(0.06)) as nap where t.id = 1`,
    close: () => sql.end(),
  };
}

function openMysql(library: string): LibraryCase['open'] {
  return (load, servers) => {
    const pool = (load(library) as typeof mysql).createPool({ ...servers.mysql, connectionLimit: POOL });
    const ask = (on: Pick<mysql.Connection, 'query'>, id: number): Promise<unknown> =>
      new Promise((resolve, reject) => {
        on.query('select * from things where id = ?', [id], (error, rows) => {
          if (error === null) resolve(rows);
          else reject(error);
        });
      });
    const control = (on: mysql.Connection, text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        on.query(text, (error) => {
          if (error === null) resolve();
          else reject(error);
        });
      });
    return {
      one: (id) => ask(pool, id),
      transaction: (id) =>
        new Promise((resolve, reject) => {
          pool.getConnection((_error, connection) => {
            const all = async (): Promise<void> => {
              await control(connection, 'START TRANSACTION');
              await ask(connection, id);
              await control(connection, 'COMMIT');
              connection.release();
            };
            all().then(resolve, reject);
          });
        }),
      close: () => new Promise<void>((resolve) => pool.end(() => resolve())),
    };
  };
}

async function openMongodb(load: Load, servers: Servers): Promise<Work> {
  const { MongoClient } = load('mongodb') as typeof mongodb;
  const client = await MongoClient.connect(servers.mongodb, { maxPoolSize: POOL });
  const things = client.db().collection('things');
  return { one: (id) => things.findOne({ id }), close: () => client.close() };
}

interface Mongoose {
  createConnection(
    url: string,
    options: object,
  ): {
    asPromise(): Promise<unknown>;
    model(name: string, schema: object): { findOne(filter: object): Promise<unknown> };
    close(): Promise<void>;
  };
  Schema: new (fields: object, options: object) => object;
}

async function openMongoose(load: Load, servers: Servers): Promise<Work> {
  const { createConnection, Schema } = load('mongoose') as Mongoose;
  const connection = createConnection(servers.mongodb, { maxPoolSize: POOL, autoIndex: false });
  const fields = new Schema({ id: Number, name: String }, { autoCreate: false, collection: 'things', id: false }); // prettier-ignore
  const Thing = connection.model('Thing', fields);
  await connection.asPromise();
  return { one: (id) => Thing.findOne({ id }), close: () => connection.close() };
}

interface Sqlite {
  DatabaseSync: new (path: string) => {
    exec(sql: string): void;
    prepare(sql: string): { get(id: number): unknown };
    close(): void;
  };
}

function openSqlite(Database: Sqlite['DatabaseSync']): Work {
  const database = new Database(':memory:');
  database.exec('create table things (id integer, name text)');
  database.exec(
    'with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200) insert into things select i, i from n',
  );
  const find = database.prepare('select * from things where id = ?');
  return {
    one: (id) => Promise.resolve(find.get(id)),
    transaction(id) {
      database.exec('begin');
      find.get(id);
      database.exec('commit');
      return Promise.resolve();
    },
    close() {
      database.close();
      return Promise.resolve();
    },
  };
}

interface Sqlite3 {
  Database: new (file: string) => {
    run(sql: string, done: (error: Error | null) => void): void;
    all(sql: string, values: unknown[], done: (error: Error | null, rows: unknown) => void): void;
    close(done: () => void): void;
  };
}

async function openSqlite3(load: Load): Promise<Work> {
  const database = new (load('sqlite3') as Sqlite3).Database(':memory:');
  const run = (sql: string): Promise<void> =>
    new Promise((resolve, reject) => {
      database.run(sql, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  const one = (id: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      database.all('select * from things where id = ?', [id], (error, rows) => {
        if (error === null) resolve(rows);
        else reject(error);
      });
    });
  await run('create table things (id integer, name text)');
  await run(
    'with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200) insert into things select i, i from n',
  );
  return {
    one,
    async transaction(id) {
      await run('begin');
      await one(id);
      await run('commit');
    },
    close: () =>
      new Promise<void>((resolve) => {
        database.close(resolve);
      }),
  };
}

/** A query of Knex runs where it is awaited. */
async function rowsOf(query: PromiseLike<unknown>): Promise<unknown> {
  return await query;
}

function openKnex(load: Load, servers: Servers): Work {
  const knex = (load('knex') as (settings: Knex.Config) => Knex)({
    client: 'pg',
    connection: servers.postgres,
    pool: { min: 0, max: POOL },
  });
  return {
    one: (id) => rowsOf(knex('things').where({ id })),
    transaction: (id) => knex.transaction((trx) => rowsOf(trx('things').where({ id }))),
    slow: () => rowsOf(knex.raw(SLOW)),
    close: () => knex.destroy(),
  };
}

function openSequelize(load: Load, servers: Servers): Work {
  const { Sequelize, DataTypes } = load('sequelize') as typeof sequelize;
  const { database, user, host, port } = servers.postgres;
  const db = new Sequelize(database, user, '', {
    host,
    port,
    dialect: 'postgres',
    logging: false,
    pool: { max: POOL },
  });
  const Thing = db.define(
    'Thing',
    { id: { type: DataTypes.INTEGER, primaryKey: true }, name: DataTypes.STRING },
    { tableName: 'things', timestamps: false },
  );
  return {
    one: (id) => Thing.findOne({ where: { id } }),
    transaction: (id) => db.transaction((transaction) => Thing.findOne({ where: { id }, transaction })),
    slow: () => db.query(SLOW),
    close: () => db.close(),
  };
}

interface Repository {
  findOneBy(filter: object): Promise<unknown>;
}
interface Typeorm {
  EntitySchema: new (options: object) => object;
  DataSource: new (options: object) => {
    initialize(): Promise<unknown>;
    destroy(): Promise<unknown>;
    getRepository(name: string): Repository;
    transaction(work: (manager: { getRepository(name: string): Repository }) => unknown): Promise<unknown>;
    query(sql: string): Promise<unknown>;
  };
}

async function openTypeorm(load: Load, servers: Servers): Promise<Work> {
  const { EntitySchema, DataSource } = load('typeorm') as Typeorm;
  const { user: username, ...rest } = servers.postgres;
  const columns = { id: { type: Number, primary: true }, name: { type: String } };
  const entity = new EntitySchema({ name: 'Thing', tableName: 'things', columns });
  const source = new DataSource({ type: 'postgres', ...rest, username, poolSize: POOL, entities: [entity] });
  await source.initialize();
  return {
    one: (id) => source.getRepository('Thing').findOneBy({ id }),
    transaction: (id) => source.transaction((manager) => manager.getRepository('Thing').findOneBy({ id })),
    slow: () => source.query(SLOW),
    close: () => source.destroy(),
  };
}

interface Things {
  things: { id: number; name: string };
}

function openKysely(load: Load, servers: Servers): Work {
  const { Kysely: Database, PostgresDialect, sql } = load('kysely') as typeof Kysely;
  const { Pool } = load('pg') as typeof pg;
  const pool = new Pool({ ...servers.postgres, max: POOL });
  const db = new Database<Things>({ dialect: new PostgresDialect({ pool }) });
  const find = (on: Kysely.Kysely<Things>, id: number): Promise<unknown> =>
    on.selectFrom('things').selectAll().where('id', '=', id).executeTakeFirst();
  return {
    one: (id) => find(db, id),
    transaction: (id) => db.transaction().execute((inside) => find(inside, id)),
    slow: () => sql.raw(SLOW).execute(db),
    close: () => db.destroy(),
  };
}

interface ObjectionModel {
  query(on?: object): { findById(id: number): Promise<unknown> };
}

function openObjection(load: Load, servers: Servers): Work {
  const { Model } = load('objection') as { Model: new () => object };
  const createKnex = load('knex') as (settings: Knex.Config) => Knex;
  const db = createKnex({ client: 'pg', connection: servers.postgres, pool: { min: 0, max: POOL } });
  class Thing extends Model {
    static readonly tableName = 'things';
  }
  const things = Thing as unknown as ObjectionModel;
  return {
    one: (id) => things.query(db).findById(id),
    transaction: (id) => db.transaction((inside) => things.query(inside).findById(id)),
    slow: () => db.raw(SLOW).then(() => undefined),
    close: () => db.destroy(),
  };
}

interface DrizzleDatabase {
  select(): { from(table: object): { where(condition: unknown): Promise<unknown> } };
  transaction(work: (inside: DrizzleDatabase) => Promise<unknown>): Promise<unknown>;
  execute(sql: unknown): Promise<unknown>;
}

function openDrizzle(load: Load, servers: Servers): Work {
  const { drizzle } = load('drizzle-orm/node-postgres') as { drizzle: (pool: object) => DrizzleDatabase };
  const { pgTable, integer, text } = load('drizzle-orm/pg-core') as {
    pgTable: (name: string, columns: object) => Record<string, unknown>;
    integer: () => object;
    text: () => object;
  };
  const { eq, sql } = load('drizzle-orm') as {
    eq: (column: unknown, value: unknown) => unknown;
    sql: { raw(text: string): unknown };
  };
  const { Pool } = load('pg') as typeof pg;
  const pool = new Pool({ ...servers.postgres, max: POOL });
  const db = drizzle(pool);
  const things = pgTable('things', { id: integer(), name: text() });
  const find = (on: DrizzleDatabase, id: number): Promise<unknown> =>
    on.select().from(things).where(eq(things.id, id));
  return {
    one: (id) => find(db, id),
    transaction: (id) => db.transaction((inside) => find(inside, id)),
    slow: () => db.execute(sql.raw(SLOW)),
    close: () => pool.end(),
  };
}

function openPgPromise(load: Load, servers: Servers): Work {
  const db = (load('pg-promise') as (options: object) => IMain)({ noWarnings: true })({
    ...servers.postgres,
    max: POOL,
  });
  return {
    one: (id) => db.one('select * from things where id = $1', [id]),
    transaction: (id) => db.tx((inside) => inside.one('select * from things where id = $1', [id])),
    slow: () => db.any(SLOW),
    close: () => db.$pool.end(),
  };
}

interface PrismaModels {
  thing: { findUnique(filter: object): Promise<unknown> };
  $queryRawUnsafe(sql: string): Promise<unknown>;
}
type PrismaClient = new (options: object) => PrismaModels & {
  $transaction(work: (inside: PrismaModels) => Promise<unknown>): Promise<unknown>;
  $disconnect(): Promise<void>;
};

const openPrisma =
  (client: string) =>
  (load: Load, servers: Servers): Work => {
    const { PrismaClient } = load(client) as { PrismaClient: PrismaClient };
    const { PrismaPg } = load('@prisma/adapter-pg') as { PrismaPg: new (options: object) => object };
    const prisma = new PrismaClient({ adapter: new PrismaPg({ ...servers.postgres, max: POOL }) });
    return {
      one: (id) => prisma.thing.findUnique({ where: { id } }),
      transaction: (id) => prisma.$transaction((inside) => inside.thing.findUnique({ where: { id } })),
      slow: () => prisma.$queryRawUnsafe(SLOW),
      close: () => prisma.$disconnect(),
    };
  };

interface EntityManager {
  findOne(name: string, filter: object): Promise<unknown>;
  transactional(work: (inside: EntityManager) => Promise<unknown>): Promise<unknown>;
  execute(sql: string): Promise<unknown>;
}
interface MikroOrm {
  MikroORM: {
    init(options: object): Promise<{ em: { fork(): EntityManager }; close(): Promise<void> }>;
  };
  EntitySchema: new (options: object) => object;
}

async function openMikroOrm(load: Load, servers: Servers): Promise<Work> {
  const { MikroORM, EntitySchema } = load('@mikro-orm/postgresql') as MikroOrm;
  const { database: dbName, ...connection } = servers.postgres;
  const properties = { id: { type: 'number', primary: true }, name: { type: 'string', nullable: true } };
  const entities = [new EntitySchema({ name: 'Thing', tableName: 'things', properties })];
  const orm = await MikroORM.init({ ...connection, dbName, entities, pool: { min: 0, max: POOL } });
  return {
    one: (id) => orm.em.fork().findOne('Thing', { id }),
    transaction: (id) => orm.em.fork().transactional((inside) => inside.findOne('Thing', { id })),
    slow: () => orm.em.fork().execute(SLOW),
    close: () => orm.close(),
  };
}

export const libraryCases: readonly LibraryCase[] = [
  { name: 'pg 8', folder: 'project', library: 'pg', open: openPg },
  { name: 'postgres 3', folder: 'project', library: 'postgres', open: openPostgres },
  { name: 'mysql2 3', folder: 'project', library: 'mysql2', open: openMysql('mysql2') },
  { name: 'mysql2 2', folder: 'previous', library: 'mysql2', open: openMysql('mysql2') },
  { name: 'mysql 2', folder: 'project', library: 'mysql', open: openMysql('mysql') },
  { name: 'node:sqlite', folder: 'project', library: 'node:sqlite', open: (load) => openSqlite((load('node:sqlite') as Sqlite).DatabaseSync) }, // prettier-ignore
  // Compiled: only where somebody has installed it.
  { name: 'better-sqlite3', folder: 'project', library: 'better-sqlite3', open: (load) => openSqlite(load('better-sqlite3') as Sqlite['DatabaseSync']) }, // prettier-ignore
  { name: 'sqlite3 6', folder: 'project', library: 'sqlite3', open: openSqlite3 },
  { name: 'mongodb 7', folder: 'project', library: 'mongodb', open: openMongodb },
  { name: 'mongodb 6', folder: 'previous', library: 'mongodb', open: openMongodb },
  { name: 'Knex 3', folder: 'project', library: 'knex', open: openKnex },
  { name: 'Sequelize 6', folder: 'project', library: 'sequelize', open: openSequelize },
  { name: 'TypeORM 1', folder: 'current', library: 'typeorm', open: openTypeorm },
  { name: 'TypeORM 0.3', folder: 'previous', library: 'typeorm', open: openTypeorm },
  { name: 'MikroORM 7', folder: 'current', library: '@mikro-orm/postgresql', open: openMikroOrm },
  { name: 'MikroORM 6', folder: 'previous', library: '@mikro-orm/postgresql', open: openMikroOrm },
  { name: 'Prisma 7', folder: 'current', library: '.prisma/client', open: openPrisma('@prisma/client') },
  {
    name: 'Prisma 7, its client in a folder',
    folder: 'current',
    library: '.generated',
    open: openPrisma('.generated/client'),
  },
  { name: 'Prisma 6', folder: 'previous', library: '.prisma/client', open: openPrisma('@prisma/client') },
  { name: 'Objection 3', folder: 'current', library: 'objection', open: openObjection },
  { name: 'Drizzle 0.45', folder: 'current', library: 'drizzle-orm', open: openDrizzle },
  { name: 'Kysely 0.29', folder: 'current', library: 'kysely', open: openKysely },
  { name: 'Kysely 0.28', folder: 'project', library: 'kysely', open: openKysely },
  { name: 'pg-promise 12', folder: 'project', library: 'pg-promise', open: openPgPromise },
  { name: 'pg-promise 11', folder: 'previous', library: 'pg-promise', open: openPgPromise },
  { name: 'Mongoose 9', folder: 'current', library: 'mongoose', open: openMongoose },
  { name: 'Mongoose 8', folder: 'previous', library: 'mongoose', open: openMongoose },
];
