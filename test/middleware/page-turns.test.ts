/** Error pages take turns: a flood of one kind of request must not keep all others waiting. */
import { expect } from 'chai';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPageTurns, type PageTurns } from '../../app/middleware/page-turns.ts';

const opened: PageTurns[] = [];

/** Each full page takes 3 of the 8 ms that a turn has, by a clock of its own. */
function withClock(options: { mostFull?: number; mostWaiting?: number } = {}): {
  turns: PageTurns;
  sent: string[];
  /** A turn of the event loop in which a connection comes in, 4 ms after the one before. */
  acceptingTurn: () => Promise<void>;
  take: (connection: object | null, name: string) => void;
} {
  let at = 0;
  const sent: string[] = [];
  const turns = createPageTurns({ turnMs: 8, yieldMs: 10, now: () => at, ...options });
  opened.push(turns);
  return {
    turns,
    sent,
    acceptingTurn() {
      channel('net.server.socket').publish({});
      at += 4;
      return nextTurn();
    },
    take(connection, name) {
      turns.take(connection, (isShort) => {
        at += isShort ? 1 : 3;
        sent.push(isShort ? `${name} short` : name);
      });
    },
  };
}

describe('turns of error pages', () => {
  afterEach(() => {
    for (const turns of opened.splice(0)) turns.close();
  });

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

  it('leave a turn in which a connection comes in to the next one', async () => {
    const { sent, take, acceptingTurn, turns } = withClock();
    await acceptingTurn();
    for (const name of ['a', 'b', 'c', 'd']) take({}, name);
    expect(sent).to.deep.equal(['a', 'b', 'c']);
    await acceptingTurn();
    expect(sent).to.deep.equal(['a', 'b', 'c']);
    await nextTurn();
    expect(sent).to.deep.equal(['a', 'b', 'c', 'd']);
    await nextTurn();
    // Nothing waits, so a client that has ended its side already still gets its page.
    channel('net.server.socket').publish({});
    take({}, 'e');
    expect(turns.waiting).to.equal(0);
  });

  it('make pages again if connections come in for long', async () => {
    const { sent, take, acceptingTurn } = withClock();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']) take({}, name);
    const sentAfter: number[] = [];
    for (let turn = 0; turn < 8; turn++) {
      await acceptingTurn();
      sentAfter.push(sent.length);
    }
    expect(sentAfter).to.deep.equal([3, 3, 3, 6, 6, 6, 6, 9]);
  });

  it('know of connections from Node.js, until they are closed', async () => {
    const { turns, sent, take } = withClock();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const fill = (): void => {
      for (const name of ['a', 'b', 'c', 'd']) take({}, name);
    };
    /** Pages sent by the end of the turn in which Node publishes a connection, after its event. */
    const sentBeside = async (): Promise<number> => {
      const before = sent.length;
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(server, 'connection');
      await new Promise<void>((done) => process.nextTick(done));
      fill();
      await nextTurn();
      const inTurn = sent.length - before;
      socket.destroy();
      await nextTurn();
      await nextTurn();
      return inTurn;
    };
    expect(await sentBeside()).to.equal(3);
    turns.close();
    expect(await sentBeside()).to.equal(4);
    server.close();
  });
});
