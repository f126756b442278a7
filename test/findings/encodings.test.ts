import { expect } from 'chai';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';

describe('finding text-decomposed', () => {
  const of = (lastName: string, bound: string, { rows = 0, operator = '=' } = {}) => {
    const database = keptQueries({
      sql: `SELECT id FROM alumni WHERE last_name ${operator} ?`,
      system: 'sqlite',
      bindings: { last_name: bound },
      rows,
    });
    const request = keptRequest({ query: { lastName } });
    return sentencesOf('text-decomposed', { database, request });
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
    return draftsOf('written-with-warning', { database }).length;
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
    return sentencesOf('byte-order-mark', { request }, { status });
  };

  it('says that a file has one, if the request was refused', () => {
    expect(of(422, true)).to.deep.equal([
      'The file list.csv begins with a byte order mark (U+FEFF), and the request was refused with 422: if the mark is not removed, it is part of the name of the first column',
    ]);
    expect(of(422), 'without a mark').to.deep.equal([]);
    expect(of(201, true), 'accepted').to.deep.equal([]);
  });
});

describe('finding characters-lost', () => {
  const cut = 'Malm\uFFFD\uFFFD';
  const insert = (city: string) => ({
    sql:
      "insert into `contacts` (`email`, `city`) values ('a@example.org', 'Lund'), ('it''s (b)', '" +
      city +
      "')",
    system: 'mysql',
  });
  const of = (
    { request = keptRequest(), beside = {} }: { request?: object; beside?: object },
    ...asked: readonly AskedQuery[]
  ) => {
    const kept = { database: keptQueries(...asked), request, ...beside };
    return sentencesOf('characters-lost', kept);
  };

  it('names the column and the value of a character that was cut', () => {
    expect(of({}, insert(cut))).to.deep.equal([
      'insert into contacts wrote “Malm\uFFFD\uFFFD” for city: bytes were cut within a character, and each part was decoded for itself',
    ]);
    const bound = { sql: 'update contacts set city = $1 where id = $2', bindings: { city: cut, id: 1 } };
    expect(of({}, bound, insert(cut))).to.deep.equal([
      'update contacts wrote “Malm\uFFFD\uFFFD” for city, the first of 2 such values: bytes were cut within a character, and each part was decoded for itself',
    ]);
    const literal = { sql: `update contacts set name = 'Li, (x', city = '${cut}' where id = 1` };
    expect(of({}, literal)[0]).to.contain('for city:');
    const upload = keptRequest({ files: [{ name: 'c.csv', bytes: 132_442 }] });
    expect(of({ request: upload }, insert(cut))).to.have.length(1);
    expect(of({}, insert(`(${cut}, a-z) @ 1: x`))[0], 'with marks').to.contain('for city:');
  });

  it('names the call that responded with the text whole', () => {
    const call = { method: 'GET', url: 'http://r.test/towns', caller: 'src/towns.js:7' };
    const kept = (text: string) => ({
      http_client: { calls: [{ ...call, responseBody: { text } }] },
      database: keptQueries(insert(cut)),
    });
    const found = (text: string) => draftsOf('characters-lost', kept(text))[0];
    expect(found('[{"town":"Malmö"}]')?.place).to.equal('src/towns.js:7');
    expect(found('[{"town":"Malmö"}]')?.sentence).to.match(
      /for city: GET r\.test\/towns responded with the whole text, so the parts of its response were decoded one by one/,
    );
    expect(found('[{"town":"Malm"}]')?.sentence).to.contain('for city: bytes were cut');
  });

  it('is silent about what came in so, what may have, and a single mark', () => {
    expect(of({ request: keptRequest({ body: { city: cut } }) }, insert(cut)), 'received').to.deep.equal([]);
    const small = keptRequest({ files: [{ name: 'c.csv', bytes: 4000 }] });
    expect(of({ request: small }, insert(cut)), 'a file of one chunk').to.deep.equal([]);
    const read = { sql: 'select city from old', found: [{ city: cut }] };
    expect(of({}, read, insert(cut)), 'read before').to.deep.equal([]);
    expect(of({}, insert(cut), read), 'read back').to.have.length(1);
    const calls = [{ responseBody: { text: cut } }];
    expect(of({ beside: { http_client: { calls } } }, insert(cut)), 'of a call').to.deep.equal([]);
    expect(of({}, insert('Malm\uFFFD')), 'a text of another encoding').to.deep.equal([]);
    expect(of({ request: keptRequest({ body: { text: '\ud83d' } }) }, insert(cut)), 'half').to.deep.equal([]);
    expect(of({}, { sql: `select * from contacts where city = '${cut}'` })).to.deep.equal([]);
    expect(of({}, insert('Malmö'))).to.deep.equal([]);
  });
});
