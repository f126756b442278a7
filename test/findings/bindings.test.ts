import { expect } from 'chai';
import { createFindingRules } from '../../app/findings/index.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

interface Kept {
  database: ReturnType<typeof keptQueries>;
  request: ReturnType<typeof keptRequest>;
}

function found(name: string, own: Kept, earlier: readonly Kept[] = []): string[] {
  const rule = createFindingRules().find((one) => one.name === name);
  const head = { method: 'POST', status: 201 };
  const beside = { earlier: earlier.map((kept, at) => ({ head: { token: `a${at}` }, kept })) };
  return (rule?.find({ ...own }, head as never, beside as never) ?? []).map(({ sentence }) => sentence);
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
});
