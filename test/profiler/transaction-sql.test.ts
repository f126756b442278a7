import { expect } from 'chai';
import { cpuMsOf } from '../support/waiting.ts';
import {
  beginsTransaction,
  commits,
  endsTransaction,
  rollsBack,
  rollsBackToSavepoint,
} from '../../app/profiler/transaction-sql.ts';

describe('the statements of a transaction', () => {
  it('begin it', () => {
    for (const sql of ['BEGIN', 'begin;', 'START TRANSACTION READ ONLY', 'begin; update carts set total = 1'])
      expect(beginsTransaction(sql), sql).to.equal(true);
    for (const sql of ['beginning', "insert into notes values ('begin')"])
      expect(beginsTransaction(sql), sql).to.equal(false);
  });

  it('commit it', () => {
    const ends = [
      'COMMIT',
      'commit;',
      'commit work',
      'END TRANSACTION',
      'commit /* traceparent=00-1 */',
      'begin; update carts set total = 1; commit',
    ];
    for (const sql of ends) {
      expect(commits(sql), sql).to.equal(true);
      expect(endsTransaction(sql), sql).to.equal(true);
    }
    for (const sql of ['commit and chain', "insert into notes values ('done; commit')", 'ending'])
      expect(endsTransaction(sql), sql).to.equal(false);
  });

  it('roll it back, or only to a savepoint', () => {
    for (const sql of [
      'ROLLBACK',
      'rollback transaction;',
      'abort',
      'update carts set total = 1; rollback',
    ]) {
      expect(rollsBack(sql), sql).to.equal(true);
      expect(endsTransaction(sql), sql).to.equal(true);
    }
    for (const sql of ['rollback to savepoint trx2', 'ROLLBACK WORK TO trx2']) {
      expect(rollsBackToSavepoint(sql), sql).to.equal(true);
      expect(endsTransaction(sql), sql).to.equal(false);
    }
  });

  it('are told in linear time, whatever a value holds', () => {
    for (const end of ['end', 'rollback'])
      expect(cpuMsOf(() => endsTransaction(`select '; ${end}${' '.repeat(20_000)}x;'`))).to.be.lessThan(100);
  });

  it('prepare it for a commit on another connection', () => {
    expect(endsTransaction("prepare transaction 'order-7'")).to.equal(true);
    expect(commits("prepare transaction 'order-7'")).to.equal(false);
  });
});
