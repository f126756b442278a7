import { expect } from 'chai';
import { numbersAsText } from '../../../app/panels/shared/number-as-text.ts';
import { keptQueries } from '../../support/kept-queries.ts';

describe('numbers that a row has as text', () => {
  const of = (
    value: number | string,
    row: Record<string, string | number>,
    bindings: Record<string, number> = {},
  ) => {
    const { queries } = keptQueries({ sql: 'select * from items where id = $1', found: [row], bindings });
    const given = { query: queries[0], queries } as unknown as Parameters<typeof numbersAsText>[1];
    return numbersAsText([{ name: 'stockCount', value }], given).map(({ name, column }) => [name, column]);
  };

  it('are those of the same name and the same digits that no statement compares', () => {
    expect(of(4, { id: 1, stock_count: '4' })).to.deep.equal([['stockCount', 'stock_count']]);
    expect(of(4, { stock_count: 4 }), 'a number').to.deep.equal([]);
    expect(of(4, { stock_count: '5' }), 'another one').to.deep.equal([]);
    expect(of(4, { stock: '4' }), 'another name').to.deep.equal([]);
    expect(of('4', { stock_count: '4' }), 'received as text').to.deep.equal([]);
    expect(of(4, { stock_count: '4' }, { stock_count: 4 }), 'compared in SQL').to.deep.equal([]);
  });
});
