import { expect } from 'chai';
import { pathText, shownCallers } from '../../app/view-helpers/call-path.ts';

/** As stored: the nearest first. */
function row(...lines: readonly string[]) {
  return { path: lines.toReversed() };
}

function texts(rows: readonly { path: readonly string[] }[]): (string | null)[] {
  return shownCallers(rows).map((callers) => pathText('repo.ts:9', callers));
}

describe('the lines that led to a place', () => {
  it('begin with the handler, and leave out the middle of many', () => {
    expect(texts([row('list.ts:3')])).to.deep.equal(['list.ts:3 → repo.ts:9']);
    expect(texts([row('a.ts:1', 'b.ts:2', 'c.ts:3', 'd.ts:4', 'e.ts:5')])).to.deep.equal([
      'a.ts:1 → … → e.ts:5 → repo.ts:9',
    ]);
    expect(texts([row()])).to.deep.equal(['repo.ts:9']);
    expect(pathText(null, ['a.ts:1'])).to.equal(null);
  });

  it('are not repeated for a row that begins as the one before it', () => {
    const rows = [row('a.ts:1', 'b.ts:2'), row('a.ts:1', 'b.ts:3'), row('a.ts:1', 'b.ts:3'), row('c.ts:4')];
    expect(texts([...rows, row('c.ts:4', 'd.ts:1', 'd.ts:2', 'd.ts:3')])).to.deep.equal([
      'a.ts:1 → b.ts:2 → repo.ts:9',
      '… → b.ts:3 → repo.ts:9',
      '… → repo.ts:9',
      'c.ts:4 → repo.ts:9',
      '… → d.ts:2 → d.ts:3 → repo.ts:9',
    ]);
  });
});
