import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createOneAtATime } from '../../app/profiler/one-at-a-time.ts';

describe('works one at a time', () => {
  it('run in their order, also after one that failed', async () => {
    const inTurn = createOneAtATime();
    const seen: string[] = [];
    const work = (name: string) => async (): Promise<string> => {
      seen.push(`${name} begins`);
      await sleep(2);
      seen.push(`${name} ends`);
      if (name === 'b') throw new Error(name);
      return name;
    };
    const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => inTurn(work(name))));
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(seen).to.deep.equal(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });
});
