import { expect } from 'chai';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { groupBy } from '../../app/profiler/group-by.ts';
import { inTurns, type Steps } from '../../app/profiler/turns.ts';

describe('work in turns', () => {
  it('takes one turn after another, however much begins at once', async () => {
    let turn = 0;
    let left = 10;
    const workers: [turn: number, worker: number][] = [];
    function* work(worker: number): Steps<number> {
      for (let step = 0; step < 20; step++) {
        const until = performance.now() + 1;
        while (performance.now() < until);
        workers.push([turn, worker]);
        yield;
      }
      left--;
      return worker;
    }
    const all = Promise.all(Array.from({ length: left }, (_, at) => inTurns(work(at))));
    while (left > 0) {
      await nextTurn();
      turn++;
    }
    expect(await all).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const byTurn = groupBy(workers, ([at]) => at);
    // In the first turn, all may begin.
    for (const together of [...byTurn.values()].slice(1))
      expect(new Set(together.map(([, worker]) => worker)).size).to.be.lessThan(4);
  });
});
