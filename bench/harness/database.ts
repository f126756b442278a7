/**
 * PostgreSQL for the rows that need one: Debian's, in a folder of its own, with fsync on as in production, with the tables of
 * the measured application.
 */
import type { Knex } from 'knex';
import { openKnex, startPostgres, type TestConnection } from '../../test/support/postgres.ts';

export interface Database {
  connection: TestConnection;
  knex: Knex;
  stop(): Promise<void>;
}

const SETTINGS = ['fsync=on', 'shared_buffers=128MB', 'max_connections=100'];

async function createTables(knex: Knex): Promise<void> {
  await knex.raw('create table authors (id int primary key, name text not null)');
  await knex.raw(
    'create table articles (id int primary key, author_id int not null, title text not null, text text not null)',
  );
  await knex.raw('create table comments (id int primary key, article_id int not null, text text not null)');
  await knex.raw('create index on comments (article_id, id)');
  await knex.raw("insert into authors select n, 'Author ' || n from generate_series(1, 10) n");
  await knex.raw(
    "insert into articles select n, 1 + n % 10, 'Article ' || n, repeat('Text. ', 30) from generate_series(1, 100) n",
  );
  await knex.raw(
    "insert into comments select n, 1 + n % 100, 'Comment ' || n from generate_series(1, 2000) n",
  );
  await knex.raw('analyze');
}

export async function startDatabase(): Promise<Database> {
  const server = await startPostgres(SETTINGS);
  const { connection } = server;
  const knex = openKnex(connection);
  await createTables(knex);
  return {
    connection,
    knex,
    async stop() {
      await knex.destroy();
      await server.stop();
    },
  };
}
