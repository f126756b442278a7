import { expect } from 'chai';
import { pageOf } from '../../../app/panels/shared/rows.ts';

const rows = Array.from({ length: 500 }, (_, index) => ({ id: `q${index + 1}` }));

function page(query: Record<string, string>) {
  const { rows: shown, from, next, earlier } = pageOf(rows, { query, cost: () => 500 });
  return { first: shown[0]?.id, length: shown.length, from, next, earlier };
}

describe('a page of rows', () => {
  it('begins with the first, or where the address says', () => {
    expect(page({})).to.deep.equal({ first: 'q1', length: 62, from: 0, next: 62, earlier: false });
    expect(page({ from: '62' })).to.deep.equal({
      first: 'q63',
      length: 62,
      from: 62,
      next: 124,
      earlier: true,
    });
    for (const from of ['-1', 'x', '1e9', '3.5', '']) expect(page({ from }).first, from).to.equal('q1');
  });

  it('begins with the row that is asked for, where the first page does not have it', () => {
    expect(page({ open: 'q62' }).first).to.equal('q1');
    expect(page({ open: 'q63' })).to.include({ first: 'q63', earlier: true });
    expect(page({ open: 'q63', from: '2' }).first).to.equal('q3');
    expect(page({ open: 'q63', all: '1' })).to.include({ first: 'q1', length: 500 });
    for (const open of ['', 'q501', '__proto__']) expect(page({ open }).first, open).to.equal('q1');
  });
});
