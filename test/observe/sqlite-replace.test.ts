import { expect } from 'chai';
import {
  sqliteChannels,
  sqliteDriver,
  sqlitePatches,
  type SqliteQuery,
} from '../../app/observe/databases/sqlite.ts';
import { subscribeToCalls } from '../../app/observe/subscribe.ts';

/** Changes of a database with two rows that refer to each row. */
function createLibrary() {
  class StatementSync {
    readonly sourceSQL: string;
    readonly database: DatabaseSync;
    constructor(sql: string, database: DatabaseSync) {
      this.sourceSQL = sql;
      this.database = database;
    }
    run() {
      this.database.total += this.sourceSQL.includes('replace') ? 3 : 1;
      return { changes: 1 };
    }
    get() {
      return { n: this.database.total };
    }
    all() {
      return [];
    }
    iterate() {
      return [];
    }
  }
  class DatabaseSync {
    total = 40;
    prepare(sql: string) {
      return new StatementSync(sql, this);
    }
    exec() {
      return undefined;
    }
  }
  return { StatementSync, DatabaseSync };
}

describe('a REPLACE of SQLite', () => {
  it('has the rows that changed with it, and asks for them unobserved', () => {
    const library = createLibrary();
    const seen: SqliteQuery[] = [];
    const outcomes: (number | undefined)[] = [];
    const asyncEnd = (query: SqliteQuery): void => {
      seen.push(query);
      outcomes.push(sqliteDriver.outcome(query)?.alsoChanged);
    };
    const undo = sqlitePatches.find(({ name }) => name === 'node:sqlite')?.patch(library);
    const unsubscribe = subscribeToCalls(sqliteChannels.query, { start: () => undefined, asyncEnd });
    try {
      const database = new library.DatabaseSync();
      for (const sql of ['insert or replace into a values (1)', 'insert into a values (1)'])
        database.prepare(sql).run();
    } finally {
      unsubscribe();
      undo?.();
    }
    expect(seen.map(({ sql }) => sql)).to.deep.equal([
      'insert or replace into a values (1)',
      'insert into a values (1)',
    ]);
    expect(outcomes).to.deep.equal([2, 0]);
  });
});
