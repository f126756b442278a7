import { expect } from 'chai';
import { createRequire } from 'node:module';
import { AsyncResource } from 'node:async_hooks';
import { sqlite3Patch } from '../../app/observe/channels/sqlite3.ts';
import { sqliteDriver } from '../../app/observe/databases/sqlite.ts';
import { type ObservedRequests, observeRequests, recording } from '../support/observed-requests.ts';

const HERE = /^test\/observe\/sqlite3\.test\.ts:\d+$/;

type Callback = (this: { changes: number }, error: Error | null, result?: unknown) => void;
interface Statement {
  all(...args: unknown[]): unknown;
  finalize(): void;
}
interface Database {
  run(sql: string, ...args: unknown[]): unknown;
  get(sql: string, ...args: unknown[]): unknown;
  all(sql: string, ...args: unknown[]): unknown;
  each(sql: string, ...args: unknown[]): unknown;
  exec(sql: string, callback?: Callback): unknown;
  prepare(sql: string, ...args: unknown[]): Statement;
}
interface Library {
  Database: new (file: string) => Database;
}

/** sqlite3's callbacks come from its addon, in no request. */
const outside = new AsyncResource('addon');

/** Methods and callbacks of sqlite3 as it makes them, with three rows for every `select`; it is compiled, so not every machine has it. */
function createStandIn(): Library {
  const rows = [{ id: 1 }, { id: 2 }, { id: 3 }];
  class StandInStatement {
    changes = 2;
    declare sql: string;
    declare onError: ((error: Error) => void) | undefined;
    constructor(sql: string, onError?: (error: Error) => void) {
      this.sql = sql;
      this.onError = onError;
    }
    settle(args: unknown[], result?: unknown): this {
      const callback = args.at(-1);
      const error = this.sql.includes('nowhere') ? new Error('no such table: nowhere') : null;
      setImmediate(() => {
        outside.runInAsyncScope(() => {
          if (error !== null) this.onError?.(error);
          else if (typeof callback === 'function')
            (callback as Callback).call(this, null, ...(result === undefined ? [] : [result]));
        });
      });
      return this;
    }
    run(...args: unknown[]): this {
      return this.settle(args);
    }
    get(...args: unknown[]): this {
      return this.settle(args, rows[0]);
    }
    all(...args: unknown[]): this {
      return this.settle(args, rows);
    }
    each(...args: unknown[]): this {
      const onRow = args.findLast(
        (one, at) => typeof one === 'function' && typeof args[at + 1] !== 'undefined',
      );
      for (const row of rows) setImmediate(onRow as (error: null, row: unknown) => void, null, row);
      return this.settle(args, rows.length);
    }
    finalize(): void {
      this.onError = undefined;
    }
  }
  type Name = 'run' | 'get' | 'all' | 'each';
  const onDatabase = (name: Name) =>
    function (this: unknown, sql: string, ...args: unknown[]) {
      const last = args.at(-1);
      new StandInStatement(sql, typeof last === 'function' ? (last as (error: Error) => void) : undefined)[
        name
      ](...args);
      return this;
    };
  class StandInDatabase {
    prepare(sql: string): StandInStatement {
      return new StandInStatement(sql);
    }
    exec(sql: string, ...args: unknown[]): this {
      new StandInStatement(sql).settle(args);
      return this;
    }
  }
  Object.assign(StandInDatabase.prototype, {
    run: onDatabase('run'),
    get: onDatabase('get'),
    all: onDatabase('all'),
    each: onDatabase('each'),
    map: onDatabase('all'),
  });
  return { Database: StandInDatabase, Statement: StandInStatement } as object as Library;
}

function loadSqlite3(): Library | null {
  try {
    return createRequire(import.meta.url)('sqlite3') as Library;
  } catch {
    return null;
  }
}

for (const [name, library] of Object.entries({
  'what is built like sqlite3': createStandIn(),
  sqlite3: loadSqlite3(),
})) {
  if (library === null) continue;
  describe(`${name} as it is observed`, () => {
    let database: Database;
    let requests: ObservedRequests;
    const called = (start: (callback: Callback) => void): Promise<unknown> =>
      new Promise((resolve, reject) => {
        start((error, result) => {
          if (error === null) resolve(result);
          else reject(error);
        });
      });

    before(async () => {
      requests = observeRequests({ patches: [sqlite3Patch], listen: recording(sqliteDriver) });
      requests.libraries.observe('sqlite3', library);
      database = new library.Database(':memory:');
      await called((callback) => database.exec('create table things (id integer primary key)', callback));
      await called((callback) => database.run('insert into things values (1), (2), (3)', callback));
    });
    after(() => {
      (requests as ObservedRequests | undefined)?.close();
    });

    it('tells statement, values, time, rows, transaction and caller, once each', async () => {
      const returned: unknown[] = [];
      const each: unknown[] = [];
      const queries = await requests.observed(async () => {
        await called((callback) => returned.push(database.all('select * from things', [], callback)));
        await called((callback) => database.get('select * from things where id = ?', 1, callback));
        await called((callback) => database.exec('begin', callback));
        await called((callback) =>
          database.run('update things set id = id where id < $id', { $id: 3 }, callback),
        );
        await called((callback) => database.exec('commit', callback));
        await called((callback) => database.prepare('select id from things').all(callback));
        await called((callback) => database.each('select * from things', (_error: null, row: unknown) => each.push(row), callback)); // prettier-ignore
        await called((callback) => database.get('select * from nowhere', callback)).catch(
          (error: unknown) => error,
        );
      });
      expect(returned[0]).to.equal(database);
      expect(each).to.have.length(3);
      expect(queries.map(({ sql, bindings, rows }) => [sql, bindings, rows])).to.deep.equal([
        ['select * from things', [], 3],
        ['select * from things where id = ?', [1], 1],
        ['begin', [], null],
        ['update things set id = id where id < $id', [3], 2],
        ['commit', [], null],
        ['select id from things', [], 3],
        ['select * from things', [], 3],
        ['select * from nowhere', [], null],
      ]);
      for (const query of queries) {
        expect(query).to.include({ system: 'sqlite', connection: 'sqlite1' });
        expect(query.durationMs).to.be.greaterThan(0);
        expect(query.caller).to.match(HERE);
      }
      expect(queries[7]?.error).to.contain('no such table: nowhere');
      expect(queries.map(({ transaction }) => transaction !== null)).to.deep.equal([
        false,
        false,
        true,
        true,
        true,
        false,
        false,
        false,
      ]);
    });

    it('records what callbacks do in their own request', async () => {
      const texts = await Promise.all(
        [1, 2].map(async (number) => {
          const queries = await requests.observed(() =>
            called((callback) => {
              database.all('select * from things', () => {
                database.get(`select ${number} as id from things`, callback);
              });
            }),
          );
          return queries.map(({ sql }) => sql);
        }),
      );
      expect(texts).to.deep.equal([
        ['select * from things', 'select 1 as id from things'],
        ['select * from things', 'select 2 as id from things'],
      ]);
    });
  });
}
