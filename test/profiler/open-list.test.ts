import { expect } from 'chai';
import { createOpenList } from '../../app/profiler/open-list.ts';

describe('an open list', () => {
  it('holds what has come and not gone', () => {
    const list = createOpenList<string>();
    for (const item of ['a', 'b', 'c', 'd']) list.add(item);
    list.delete('b');
    list.delete('b');
    list.delete('d');
    list.delete('never there');
    expect(list.size).to.equal(2);
    expect([...list]).to.have.members(['a', 'c']);
    expect(['a', 'b', 'c', 'd'].filter(list.has)).to.deep.equal(['a', 'c']);
    expect(list.find((item) => item > 'b')).to.equal('c');
    expect(list.find((item) => item > 'c')).to.equal(undefined);
    list.clear();
    expect([list.size, ...list]).to.deep.equal([0]);
  });

  it('can be emptied by who walks it', () => {
    const list = createOpenList<number>();
    for (let item = 0; item < 100; item++) list.add(item);
    const met: number[] = [];
    for (const item of list) {
      met.push(item);
      list.delete(item);
    }
    expect(met).to.have.length(100);
    expect(list.size).to.equal(0);
  });
});
