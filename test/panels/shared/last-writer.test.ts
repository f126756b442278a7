import { expect } from 'chai';
import { lastWriters } from '../../../app/panels/shared/last-writer.ts';
import { type AskedQuery, keptQueries } from '../../support/kept-queries.ts';

/** Of a process that began at 1,000 ms. */
function request(token: string, startedAt: number, asked: readonly AskedQuery[], process = 'web.2') {
  const { statements, queries } = keptQueries(...asked);
  const database = { statements, queries: queries.map((query) => ({ ...query, transaction: null })) };
  return {
    head: { token, startedAt, process },
    kept: { database, runtime: { startMark: startedAt - 1000 } },
  } as never;
}

const READ = {
  sql: 'select * from carts where id = $1',
  bindings: { id: 7 },
  found: [{ id: 7, note: 'gift', total: 3 }],
};
const update = (set: string, value: string | number, where: Record<string, number> = { id: 7 }): AskedQuery => ({
  sql: `update carts set ${set} = $1 where ${Object.keys(where).map((column, at) => `${column} = $${at + 2}`).join(' and ')}`,
  bindings: { [set]: value, ...where },
}); // prettier-ignore

function writerOf(read: AskedQuery, ...others: never[]): string | undefined {
  return lastWriters(request('own', 5000, [read]), others).get('database 0')?.request.head.token;
}

describe('the last writer of a row', () => {
  it('is the latest of those examined, in whatever order they are', () => {
    const before = request('b', 3000, [update('total', 3)]);
    const first = request('a', 2000, [update('note', 'gift')]);
    expect(writerOf(READ, first, before)).to.equal('b');
    expect(writerOf(READ, before, first)).to.equal('b');
    expect(writerOf(READ, request('c', 6000, [update('total', 3)]), first), 'later than the read').to.equal(
      'a',
    );
  });

  it('of an earlier run is known only by a value that it wrote', () => {
    expect(writerOf(READ, request('a', 500, [update('total', 3)], 'web.1'))).to.equal('a');
    expect(writerOf(READ, request('a', 500, [update('used', 3)], 'web.1'))).to.equal(undefined);
    expect(writerOf(READ, request('a', 2000, [update('used', 3)], 'web.1')), 'beside this one').to.equal('a');
  });

  it('is found by a condition that holds for the row, and not if the row may be another', () => {
    const owned = { ...READ, found: [{ id: 7, owner_id: 4 }] };
    expect(writerOf(owned, request('a', 2000, [update('total', 3, { owner_id: 4 })]))).to.equal('a');
    expect(writerOf(owned, request('a', 2000, [update('total', 3, { owner_id: 5 })]))).to.equal(undefined);
    const open = request('b', 3000, [{ sql: 'update carts set total = 0 where note is null or id > 3' }]);
    expect(writerOf(owned, request('a', 2000, [update('total', 3)]), open)).to.equal(undefined);
    const other = request('b', 3000, [{ sql: 'update lines set total = 0 where note is null or id > 3' }]);
    expect(writerOf(owned, request('a', 2000, [update('total', 3)]), other)).to.equal('a');
  });

  it('is not sure of a row that a LIMIT may have left out', () => {
    const sql = 'select * from lines where cart_id = $1 order by id limit 2';
    const page = { sql, bindings: { cart_id: 7 }, rows: 2, found: [{ id: 1 }, { id: 2 }] };
    const insert = { sql: 'insert into lines (cart_id) values ($1) returning id', bindings: { cart_id: 7 } };
    const added = (id: number): never => request('a', 2000, [{ ...insert, found: [{ id }] }]);
    expect(writerOf(page, added(2))).to.equal('a');
    expect(writerOf(page, added(3))).to.equal(undefined);
  });

  it('is found for the table whose key a statement with joins names', () => {
    const joined = (where: string): AskedQuery => ({
      sql: `select c.*, o.name from carts as c left join owners o on o.id = c.owner_id where ${where}`,
      bindings: { id: 7 },
      found: [{ id: 4, name: 'Ann' }],
    });
    const cart = request('a', 2000, [update('total', 3)]);
    expect(writerOf(joined('c.id = $1'), cart)).to.equal('a');
    for (const where of ['o.id = $1', 'id = $1']) expect(writerOf(joined(where), cart)).to.equal(undefined);
  });

  it('is found among several rows of one INSERT, and by the conflict of an upsert', () => {
    const lines = { sql: 'select * from lines where cart_id = $1', bindings: { cart_id: 7 }, rows: 2 };
    const insert = 'insert into lines (cart_id, sku) values ($1, $2), ($3, $4)';
    const several = (second: number): never =>
      request('a', 2000, [{ sql: insert, rows: 2, bindings: [['cart_id', 6], ['sku', 'x'], ['cart_id', second], ['sku', 'y']] }]); // prettier-ignore
    expect(writerOf(lines, several(7))).to.equal('a');
    expect(writerOf(lines, several(8))).to.equal(undefined);
    const upsert = 'insert into carts (id, total) values ($1, $2) on conflict (id) do update set total = $3';
    const bindings = [['id', 7], ['total', 3], ['total', 3]] as const; // prettier-ignore
    expect(writerOf(READ, request('a', 2000, [{ sql: upsert, bindings }]))).to.equal('a');
  });
});
