/** Error pages take turns: a flood of one kind of request must not keep all others waiting. */
import { expect } from 'chai';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPageTurns, type PageTurns } from '../../app/middleware/page-turns.ts';

/** Each full page takes 3 of the 8 ms that a turn has, by a clock of its own. */
function withClock(options: { mostFull?: number; mostWaiting?: number } = {}): {
  turns: PageTurns;
  sent: string[];
  take: (connection: object | null, name: string) => void;
} {
  let at = 0;
  const sent: string[] = [];
  const turns = createPageTurns({ turnMs: 8, now: () => at, ...options });
  return {
    turns,
    sent,
    take(connection, name) {
      turns.take(connection, (isShort) => {
        at += isShort ? 1 : 3;
        sent.push(isShort ? `${name} short` : name);
      });
    },
  };
}

describe('turns of error pages', () => {
  it('send a page at once while there is time, and the rest in later turns of the event loop', async () => {
    const { sent, take } = withClock();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) take({}, name);
    expect(sent).to.deep.equal(['a', 'b', 'c']);
    await nextTurn();
    expect(sent).to.deep.equal(['a', 'b', 'c', 'd', 'e', 'f']);
    await nextTurn();
    expect(sent).to.have.length(7);
  });

  it('give each connection one page before any gets its next', async () => {
    const { sent, take } = withClock();
    for (const name of ['x1', 'x2', 'x3']) take(null, name);
    const [one, other] = [{}, {}];
    for (const name of ['a1', 'a2', 'a3']) take(one, name);
    for (const name of ['b1', 'b2']) take(other, name);
    await nextTurn();
    await nextTurn();
    expect(sent.slice(3)).to.deep.equal(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it('send short pages while more wait than may be full, and at once while more wait than may wait', async () => {
    const { sent, take, turns } = withClock({ mostFull: 2, mostWaiting: 4 });
    for (const name of ['x', 'y', 'z', 'a', 'b', 'c', 'd', 'e']) take({}, name);
    expect(sent).to.deep.equal(['x', 'y', 'z', 'e short']);
    expect(turns.waiting).to.equal(4);
    await nextTurn();
    expect(sent.slice(4)).to.deep.equal(['a short', 'b short', 'c', 'd']);
    expect(turns.waiting).to.equal(0);
  });
});
