import { expect } from 'chai';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';

interface Kept {
  database: ReturnType<typeof keptQueries>;
  request: ReturnType<typeof keptRequest>;
}

function found(name: string, own: Kept, earlier: readonly Kept[] = []): string[] {
  const head = { method: 'POST', status: 201 };
  const beside = { earlier: earlier.map((kept, at) => ({ head: { token: `a${at}` }, kept })) };
  return sentencesOf(name, { ...own }, head, beside);
}

describe('findings from bound values', () => {
  it('a foreign key of a row that was not inserted', () => {
    const of = (rows: number, key: number, body = {}, column = 'tag_id') =>
      found('key-of-nothing', {
        request: keptRequest({ body }),
        database: keptQueries(
          { sql: 'insert ignore into tags (name) values (?)', system: 'mysql', rows, warnings: 1 - rows },
          {
            sql: `insert into post_tags (post_id, ${column}) values (?, ?)`,
            system: 'mysql',
            bindings: { post_id: '2', [column]: key },
          },
        ),
      });
    expect(of(0, 0)).to.deep.equal([
      'insert into tags added 0 rows with 1 warning of the database, and insert into post_tags then bound 0 for tag_id, as if it was the id of a new row',
    ]);
    expect(of(1, 7)).to.deep.equal([]);
    expect(of(0, 7)).to.deep.equal([]);
    expect(of(0, 0, { tagId: 0 })).to.deep.equal([]);
    expect(of(0, 0, {}, 'parent_id')).to.deep.equal([]);
  });

  it('a foreign key of a row that an upsert left as it was', () => {
    const of = (upsert: string, key: number) =>
      found('key-of-nothing', {
        request: keptRequest(),
        database: keptQueries(
          { sql: `insert into tags (name) values (?)${upsert}`, system: 'mysql', rows: 1 },
          {
            sql: 'insert into post_tags (post_id, tag_id) values (?, ?)',
            system: 'mysql',
            bindings: { post_id: 2, tag_id: key },
          },
        ),
      });
    const upsert = ' on duplicate key update name = values(name)';
    expect(of(upsert, 0)).to.deep.equal([
      'insert into tags has ON DUPLICATE KEY UPDATE, which gives no id of a row that is there already, and insert into post_tags then bound 0 for tag_id, as if it was the id of a new row',
    ]);
    expect(of(upsert, 7)).to.deep.equal([]);
    expect(of('', 0)).to.deep.equal([]);
  });

  it('a list that map(parseInt) read, or in which one is another one', () => {
    const of = (
      query: Record<string, string>,
      members: readonly (number | string)[],
      column = 'id',
      before: readonly AskedQuery[] = [],
    ) =>
      found('list-changed', {
        request: keptRequest({ query }),
        database: keptQueries(...before, {
          sql: `select "name" from "phones" where "phones"."${column}" in (${members.map(() => '?').join(', ')})`,
          system: 'sqlite',
          bindings: members.map((member) => [column, member] as const),
        }),
      });
    const ids = { ids: '10,12,13' };
    expect(of(ids, [10, 1])).to.deep.equal([
      'ids was received as 10, 12, 13, but select … from phones got 10, 1, as map(parseInt) makes of them: it takes the index for the radix',
    ]);
    expect(of(ids, [10, 12, 14])).to.deep.equal([
      'ids was received as 10, 12, 13, but select … from phones got 10, 12, 14',
    ]);
    for (const same of [[10, 12, 13], ['10', '12', '13'], [13, 12, 10], [10, 12], [10]])
      expect(of(ids, same), String(same)).to.deep.equal([]);
    expect(of({ ids: '010,12' }, [10, 12])).to.deep.equal([]);
    expect(of({ ids: 'a,b' }, [10, 1])).to.deep.equal([]);
    expect(of(ids, [10, 1], 'maker')).to.deep.equal([]);
    // The customers of the orders.
    const orders = {
      sql: 'select * from orders where id = any($1)',
      rows: 3,
      bindings: { id: [10, 12, 13] },
    };
    expect(of(ids, [10, 1], 'id', [orders])).to.deep.equal([]);
    const written = { sql: 'select * from orders where id in (10, 12, 13)', rows: 3 };
    expect(of(ids, [10, 1], 'id', [written])).to.deep.equal([]);
    const any = { sql: 'select name from phones where id = any($1)', bindings: { id: [10, 1] } };
    expect(
      found('list-changed', {
        request: keptRequest({ body: { ids: [10, 12, 13] } }),
        database: keptQueries(any),
      }),
    ).to.have.length(1);
    const user = { sql: 'select * from users where id = $1', bindings: { id: 4 } };
    expect(of(ids, [10, 12, 14], 'id', [user])).to.deep.equal([]);
  });

  it('a cent that was cut off', () => {
    const of = (amount: number | string, cents: number) =>
      found('cent-lost', {
        request: keptRequest({ body: { amount } }),
        database: keptQueries({
          sql: 'insert into invoices (amount_cents) values ($1)',
          bindings: { amount_cents: cents },
        }),
      });
    expect(of(19.99, 1998)).to.deep.equal([
      'insert into invoices got one less for amount_cents than amount × 100: its product in floating point was cut off, not rounded',
    ]);
    expect(of('19.99', 1998)).to.have.length(1);
    expect(of(19.99, 1999)).to.deep.equal([]);
    expect(of(12.5, 1250)).to.deep.equal([]);
    expect(of(19.999, 1999)).to.deep.equal([]);
  });

  it('a column for which no row of a file has a value', () => {
    const files = [{ field: 'file', name: 'excel.csv', contentType: 'text/csv', bytes: 39 }];
    const request = keptRequest({ files });
    const insert = (values: string, bindings: Readonly<Record<string, string>>): Kept => ({
      request,
      database: keptQueries({
        sql: `insert into "items" ("name", "sku") values ${values}`,
        rows: 2,
        bindings,
      }),
    });
    const before = insert('($1, $2)', { name: 'Apple', sku: 'A1' });
    const empty = insert('($1, DEFAULT), ($2, DEFAULT)', { name: 'Dill' });
    expect(found('column-without-values', empty, [before])).to.deep.equal([
      'insert into items got no value for sku in any of 2 rows, but had some in 1 earlier request: the file seems to have another name for it, possibly with a byte order mark (U+FEFF) before it',
    ]);
    expect(found('column-without-values', empty)).to.deep.equal([]);
    expect(found('column-without-values', empty, [empty])).to.deep.equal([]);
    expect(found('column-without-values', { ...empty, request: keptRequest() }, [before])).to.deep.equal([]);
    const half = insert('($1, DEFAULT), ($2, $3)', { name: 'Dill' });
    expect(found('column-without-values', half, [before])).to.deep.equal([]);
  });

  it('a byte order mark before a name or a value', () => {
    const of = (body: Record<string, string>, bound = 'a') =>
      found('byte-order-mark', {
        request: keptRequest({ body }),
        database: keptQueries({ sql: 'insert into items (sku) values ($1)', bindings: { sku: bound } }),
      });
    expect(of({ '\uFEFFsku': 'A1' })).to.deep.equal([
      'The name sku begins with a byte order mark (U+FEFF), which nobody sees',
    ]);
    expect(of({}, '\uFEFFA1')).to.deep.equal([
      'The value of sku begins with a byte order mark (U+FEFF), which nobody sees',
    ]);
    expect(of({ sku: 'A1' })).to.deep.equal([]);
  });

  it('UTF-8 that was read as Latin-1', () => {
    const of = (name: string) =>
      found('read-as-latin', {
        request: keptRequest({ files: [{ field: 'file', name, contentType: 'text/plain', bytes: 5 }] }),
        database: keptQueries({ sql: 'insert into files (name) values ($1)', bindings: { name } }),
      });
    const misread = Buffer.from('Größe.txt').toString('latin1');
    expect(of(misread)).to.deep.equal([
      'insert into files got for name (the name of the file) a text whose UTF-8 was read as Latin-1: each letter with an accent is two wrong characters',
    ]);
    for (const name of ['Größe.txt', 'Size.txt', 'Ä', '£5 Â', '日本.txt'])
      expect(of(name), name).to.deep.equal([]);
    const layers = [{ name: 'multerMiddleware', source: 'src/files.ts:13' }];
    const request = keptRequest({ files: [{ name: misread, bytes: 5 }] });
    const database = keptQueries({
      sql: 'insert into files (name) values ($1)',
      bindings: { name: misread },
    });
    const [draft] = draftsOf('read-as-latin', { request, database, routing: { layers } });
    expect(draft, 'the line that read the name').to.include({ place: 'src/files.ts:13', panel: 'database' });
  });

  it('the text “false” that is taken for true', () => {
    const list = (archived: string | null, condition: boolean | null): Kept => ({
      request: keptRequest({ query: { page: '1', ...(archived === null ? {} : { archived }) } }),
      database: keptQueries(
        { sql: 'select id from members where email = $1', bindings: { email: 'a' } },
        condition === null
          ? { sql: 'select id from patients' }
          : { sql: 'select id from patients where archived = $1', bindings: { archived: condition } },
      ),
    });
    const all = list(null, null);
    expect(found('false-as-true', list('false', true), [list('true', true), all])).to.deep.equal([
      'archived=false ran select … from patients exactly as archived=true of an earlier request (a0): the text “false” seems to count as true',
    ]);
    expect(found('false-as-true', list('false', false), [list('true', true), all])).to.deep.equal([]);
    expect(found('false-as-true', list('false', true), [all])).to.deep.equal([]);
    expect(found('false-as-true', list('false', true), [list('true', true)])).to.deep.equal([]);
    const unused = list('true', null);
    expect(found('false-as-true', list('false', null), [unused, all])).to.deep.equal([]);
  });

  it('the text “false” of a body of which a middleware made true', () => {
    const of = (raw: object, parsed: object): string[] => {
      const { body, ...request } = keptRequest({ body: { ...parsed } });
      return sentencesOf('false-as-true', {
        request: { ...request, body: { ...body, text: JSON.stringify(raw) } },
      });
    };
    expect(of({ notify: { mail: 'no' } }, { notify: { mail: true } })).to.deep.equal([
      'notify.mail was received as the text “no”, and is true in the parsed body (Boolean("false") is true, as of any text)',
    ]);
    expect(of({ mail: 'yes' }, { mail: true })).to.deep.equal([]);
    expect(of({ mail: 'no' }, { mail: false })).to.deep.equal([]);
    expect(of({ mail: 'no' }, { mail: 'no' })).to.deep.equal([]);
  });
});
