import { expect } from 'chai';
import { pathText, shownCallers } from '../../app/view-helpers/call-path.ts';

const place = 'repo.ts:9';

/** The path is stored with the nearest first. */
function textOf(...lines: readonly string[]): string | null {
  return pathText(place, shownCallers({ path: lines.toReversed(), place }));
}

describe('the lines that led to a place', () => {
  it('begin with the handler, and leave out the middle of many', () => {
    expect(textOf('list.ts:3')).to.equal('list.ts:3 → repo.ts:9');
    expect(textOf('a.ts:1', 'b.ts:2', 'c.ts:3')).to.equal('a.ts:1 → b.ts:2 → c.ts:3 → repo.ts:9');
    expect(textOf('a.ts:1', 'b.ts:2', 'c.ts:3', 'd.ts:4', 'e.ts:5')).to.equal(
      'a.ts:1 → … → d.ts:4 → e.ts:5 → repo.ts:9',
    );
    expect(textOf()).to.equal('repo.ts:9');
    expect(pathText(null, ['a.ts:1'])).to.equal(null);
  });

  it('leave out a way within one file before lines of others', () => {
    expect(textOf('routes.ts:16', 'tickets.ts:25', 'repo.ts:23', 'repo.ts:14')).to.equal(
      'routes.ts:16 → tickets.ts:25 → repo.ts:23 → … → repo.ts:9',
    );
    expect(textOf('a.ts:1', 'b.ts:2', 'b.ts:3', 'c.ts:4')).to.equal(
      'a.ts:1 → … → b.ts:3 → c.ts:4 → repo.ts:9',
    );
  });
});
