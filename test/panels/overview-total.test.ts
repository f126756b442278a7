import { expect } from 'chai';
import { totalRow } from '../../app/panels/overview/total.ts';

describe('a total beside its list', () => {
  const of = (sent: object, truncated = false) => {
    const response = { text: JSON.stringify(sent), truncated };
    return totalRow({ panels: { request: { data: { response } } } } as never).map(({ text }) => text);
  };
  const lines = [{ text: 'a', euros: '14127.86' }, { text: 'b', euros: '46.50' }]; // prettier-ignore

  it('stands out if it is nearly the sum', () => {
    expect(of({ notice: { id: 7, lines, total: '14174.00' } })).to.deep.equal([
      'total is 14174.00, and euros of the 2 lines add up to 14174.36',
    ]);
  });

  it('does not if it is the sum, or may have other parts', () => {
    const silent: [string, object][] = [
      ['equal', { lines, total: '14174.36' }],
      ['as a computer writes it', { lines: [{ n: 0.1 }, { n: 0.2 }], total: 0.3 }],
      ['another part beside it', { lines, discount: 0.36, total: '14174.00' }],
      ['a page of them', { lines, total: 20_000.5 }],
      ['two lists', { lines, fees: lines, total: '14174.00' }],
      ['a count', { lines, count: 14_174 }],
    ];
    for (const [what, sent] of silent) expect(of(sent), what).to.deep.equal([]);
    expect(of({ lines, total: '14174.00' }, true), 'only its beginning').to.deep.equal([]);
  });
});
