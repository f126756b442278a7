import { expect } from 'chai';
import { encodingRules } from '../../app/findings/encodings.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

describe('finding text-decomposed', () => {
  const of = (lastName: string, bound: string, { rows = 0, operator = '=' } = {}) => {
    const database = keptQueries({
      sql: `SELECT id FROM alumni WHERE last_name ${operator} ?`,
      system: 'sqlite',
      bindings: { last_name: bound },
      rows,
    });
    const request = keptRequest({ query: { lastName } });
    const rule = encodingRules.find(({ name }) => name === 'text-decomposed');
    return (rule?.find({ database, request }, {} as never, {} as never) ?? []).map(
      ({ sentence }) => sentence,
    );
  };

  it('names the characters of a text that was looked up decomposed', () => {
    const name = 'Lefe\u0300vre';
    const sentence =
      'select … from alumni found no row for lastName, which was received and bound with U+0065 U+0300 in place of U+00E8: a text that is stored in the usual form (NFC) is not equal to it';
    expect(of(name, name)).to.deep.equal([sentence]);
    expect(of(` ${name}`, `%${name.toLowerCase()}%`, { operator: 'like' })).to.deep.equal([sentence]);
    expect(of(name, name.normalize('NFC')), 'bound in NFC').to.deep.equal([]);
    expect(of(name, name, { rows: 1 }), 'found').to.deep.equal([]);
    expect(of('Lefèvre', 'Lefèvre')).to.deep.equal([]);
  });
});

describe('finding written-with-warning', () => {
  const labels = (sql: string, rows: number) => {
    const database = keptQueries({ sql, system: 'mysql', rows, warnings: 1 });
    const rule = encodingRules.find(({ name }) => name === 'written-with-warning');
    return (rule?.find({ database }, {} as never, {} as never) ?? []).length;
  };

  it('is silent about a duplicate that the statement leaves out on purpose', () => {
    expect(labels("INSERT INTO notes (text) VALUES ('long')", 1)).to.equal(1);
    expect(labels("INSERT IGNORE INTO notes (text) VALUES ('long')", 1), 'stored').to.equal(1);
    expect(labels("INSERT IGNORE INTO notes (text) VALUES ('known')", 0)).to.equal(0);
    expect(labels("INSERT IGNORE INTO notes (text) VALUES ('known'), ('new')", 1)).to.equal(0);
    expect(labels("INSERT IGNORE INTO notes (text) VALUES ('known'), ('a'), ('b')", 2)).to.equal(0);
  });
});

describe('finding byte-order-mark', () => {
  const of = (status: number, byteOrderMark?: true) => {
    const request = keptRequest({ files: [{ name: 'list.csv', bytes: 127, byteOrderMark }] });
    const rule = encodingRules.find(({ name }) => name === 'byte-order-mark');
    return (rule?.find({ request }, { status } as never, {} as never) ?? []).map(({ sentence }) => sentence);
  };

  it('says that a file has one, if the request was refused', () => {
    expect(of(422, true)).to.deep.equal([
      'The file list.csv begins with a byte order mark (U+FEFF), and the request was refused with 422: if the mark is not removed, it is part of the name of the first column',
    ]);
    expect(of(422), 'without a mark').to.deep.equal([]);
    expect(of(201, true), 'accepted').to.deep.equal([]);
  });
});
