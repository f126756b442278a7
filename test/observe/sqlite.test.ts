import { expect } from 'chai';
import { createRequire } from 'node:module';
import { sqliteDriver, sqlitePatches } from '../../app/observe/sqlite.ts';
import { type ObservedRequests, observeRequests, recording } from '../support/observed-requests.ts';

const HERE = /^test\/observe\/sqlite\.test\.ts:\d+$/;
const load = createRequire(import.meta.url);

/** What both have in common. */
interface Statement {
  run(...args: unknown[]): unknown;
  get(...args: unknown[]): unknown;
  all(...args: unknown[]): unknown[];
  iterate(...args: unknown[]): Iterable<unknown>;
}
interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** node:sqlite came with Node 22; better-sqlite3 is compiled, so not every machine has it. */
const LIBRARIES: Readonly<Record<string, () => Database>> = {
  'node:sqlite': () =>
    new (load('node:sqlite') as { DatabaseSync: new (path: string) => Database }).DatabaseSync(':memory:'),
  'better-sqlite3': () => new (load('better-sqlite3') as new (path: string) => Database)(':memory:'),
};

for (const [name, open] of Object.entries(LIBRARIES))
  describe(`${name} as it is observed`, () => {
    let database: Database;
    let requests: ObservedRequests;

    before(function () {
      try {
        database = open();
      } catch {
        process.stderr.write(`    skipped: ${name} is not on this machine\n`);
        this.skip();
      }
      database.exec('create table things (id integer primary key, name text)');
      database.exec("insert into things values (1, 'a'), (2, 'b'), (3, 'c')");
    });
    after(() => {
      (database as Database | undefined)?.close();
    });
    beforeEach(() => {
      requests = observeRequests({ patches: sqlitePatches, listen: recording(sqliteDriver) });
    });
    afterEach(() => {
      requests.close();
    });

    it('tells statement, values, time, rows, transaction and caller', async () => {
      const queries = await requests.observed(() => {
        database.prepare('select * from things where id < ?').all(3);
        database.prepare('select * from things where id = :id and name <> :other').get({ id: 1, other: 'x' });
        database.exec('begin immediate');
        database.prepare('update things set name = ? where id > ?').run('z', 1);
        database.exec('rollback');
        for (const row of database.prepare('select * from things').iterate())
          expect(row).to.have.property('id');
        expect(() => database.prepare('insert into things values (1, ?)').run('a')).to.throw('UNIQUE');
      });
      expect(queries.map(({ sql, bindings, rows }) => [sql, bindings, rows])).to.deep.equal([
        ['select * from things where id < ?', [3], 2],
        ['select * from things where id = :id and name <> :other', [1, 'x'], 1],
        ['begin immediate', [], null],
        ['update things set name = ? where id > ?', ['z', 1], 2],
        ['rollback', [], null],
        ['select * from things', [], 3],
        ['insert into things values (1, ?)', ['a'], null],
      ]);
      for (const query of queries) {
        expect(query).to.include({ system: 'sqlite', connection: 'sqlite1' });
        expect(query.durationMs).to.be.greaterThan(0);
        expect(query.caller).to.match(HERE);
      }
      expect(queries[6]?.error).to.contain('UNIQUE constraint failed');
      const [, , trx] = queries.map(({ transaction }) => transaction);
      expect(trx).to.match(/^trx\d+$/);
      expect(queries.map(({ transaction }) => transaction)).to.deep.equal([
        null,
        null,
        trx,
        trx,
        trx,
        null,
        null,
      ]);
      expect(requests.libraries.found().map((found) => found.name)).to.include(name);
    });

    it('is not seen after the observer has closed', async () => {
      requests.close();
      expect(await requests.observed(() => database.prepare('select 1').get())).to.have.length(0);
    });
  });
