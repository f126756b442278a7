import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { draftsOf } from '../support/find-by-rule.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

type Fields = Record<string, Json>;

describe('finding zero-replaced', () => {
  const articles: Fields[] = [
    { id: 11, title: 'Snow shovel', min_stock: null, category_min_stock: 10 },
    { id: 12, title: 'Garden chair', min_stock: 0, category_min_stock: 10 },
    { id: 13, title: 'Claw hammer', min_stock: 8, category_min_stock: 5 },
  ];
  const sentOf = (rows: readonly Fields[], minimumOf: (row: Fields) => Json): Json =>
    rows.map((row) => ({ id: row.id ?? null, title: row.title ?? null, minimum: minimumOf(row) }));
  const either = ({ min_stock, category_min_stock }: Fields): Json =>
    (min_stock || category_min_stock) ?? null;
  const found = (sent: Json, rows: readonly Fields[] = articles, views: object = {}) =>
    draftsOf(
      'zero-replaced',
      {
        request: keptRequest({ sent }),
        database: keptQueries({ sql: 'select * from articles', found: rows, rows: rows.length }),
        ...views,
      },
      { status: 200 },
    );

  it('names both columns, and the rows in which null has the fallback as well', () => {
    expect(found(sentOf(articles, either))[0]).to.include({
      sentence:
        'min_stock is 0 in row 12, but minimum was sent as 10, which is category_min_stock: 0 seems to count as missing, as null does in 1 other row',
      panel: 'database',
      anchor: 'q1',
      severity: 'bad',
    });
    const locals = { lines: sentOf(articles, either) };
    expect(found(null, articles, { views: { views: [{ depth: 0, locals }] } })).to.have.length(1);
    expect(found(sentOf(articles.slice(1), either)), 'inherited by its name').to.have.length(1);
    expect(found(sentOf(articles.slice(0, 2), either)), 'no row shows its own').to.have.length(1);
  });

  it('is silent if 0 was sent, or the field may be something else', () => {
    const renamed = (rows: readonly Fields[], column: string, fallback: string): Fields[] =>
      rows.map(({ min_stock = null, category_min_stock = null, ...row }) => ({
        ...row,
        [column]: min_stock,
        [fallback]: category_min_stock,
      }));
    const of = (column: string, fallback: string, rows = articles) =>
      found(sentOf(rows, either), renamed(rows, column, fallback));
    const texts = articles.slice(1).map((row) => ({ ...row, min_stock: row.min_stock === 0 ? '' : 'x' }));
    const near: [string, readonly unknown[]][] = [
      [
        'healthy',
        found(
          sentOf(articles, ({ min_stock, category_min_stock }) => min_stock ?? category_min_stock ?? null),
        ),
      ],
      [
        'the other column itself',
        found(sentOf(articles, ({ category_min_stock }) => category_min_stock ?? null)),
      ],
      [
        'the other column under its name',
        found(
          articles.slice(0, 2).map(({ id = null, title = null }) => ({ id, title, category_minimum: 10 })),
        ),
      ],
      ['0 stands for none', of('sale_price', 'price', articles.slice(1))],
      ['an empty text stands for none', found(sentOf(texts, either), texts)],
      [
        'a minimum of 1',
        found(
          sentOf(articles, ({ min_stock }) => min_stock || 1),
          articles.map((row) => ({ ...row, category_min_stock: 1 })),
        ),
      ],
      ['another thing with that id', found([{ id: 12, title: 'Order', minimum: 10 }])],
      ['an unrelated column', of('reserved', 'stock', articles.slice(0, 2))],
    ];
    for (const [what, drafts] of near) expect(drafts, what).to.deep.equal([]);
  });
});
