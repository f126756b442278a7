import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createLive, type Live, type LiveListener } from '../../../app/controllers/profiler/list/live.ts';
import type { ProfileIndex } from '../../../app/profiler/store/profile-index.ts';
import { itemOf } from '../../storage/store-contract.ts';
import { until } from '../../support/waiting.ts';

const EVERY_MS = 10;

interface Heard extends LiveListener {
  told: string[];
  greeted: string[] | null;
  ended: boolean;
  leaving: boolean;
}

function listener(query: Partial<LiveListener['query']> = {}): Heard {
  const heard: Heard = {
    query: { limit: 25, offset: 0, ...query },
    told: [],
    greeted: null,
    ended: false,
    leaving: false,
    tell: (message) => {
      if (message !== null && 'now' in message) heard.greeted = [...message.now];
      else heard.told.push(...(message?.new ?? []));
    },
    isLeaving: () => heard.leaving,
    end: () => {
      heard.ended = true;
    },
  };
  return heard;
}

describe('live', () => {
  let rows: ProfileIndex[];
  let pinned: string[];
  let polls: number;
  let live: Live;

  beforeEach(() => {
    rows = [itemOf(1, { startedAt: Date.now() }).row];
    pinned = [];
    polls = 0;
    live = createLive({
      find: () => Promise.resolve((polls++, { rows: [...rows], pinned: [...pinned] })),
      everyMs: EVERY_MS,
      mostListeners: 2,
    });
  });
  afterEach(() => {
    live.close();
  });

  const add = (number: number, changes: Partial<ProfileIndex> = {}): unknown =>
    rows.unshift(itemOf(number, { startedAt: Date.now(), ...changes }).row);

  /** As often as what is there has to be looked at for it to be told, and once more for what must not be told. */
  async function looks(): Promise<void> {
    const before = polls;
    await until(() => polls >= before + 3, 'three more looks');
  }

  it('tells of what came since it listens, once', async () => {
    const heard = listener();
    live.listen(heard);
    await looks();
    add(2);
    add(3);
    await looks();
    expect(heard.told).to.deep.equal(['000003', '000002']);
  });

  it('says first what is there, to each that comes', async () => {
    const [first, failed, short] = [listener(), listener({ hasError: true }), listener({ limit: 1 })];
    live.listen(first);
    await looks();
    expect(first.greeted).to.deep.equal(['000001']);
    add(2);
    await looks();
    const leave = live.listen(failed);
    await looks();
    leave?.();
    live.listen(short);
    await looks();
    expect([failed.greeted, short.greeted]).to.deep.equal([[], ['000002']]);
    expect([failed.told, short.told, first.told]).to.deep.equal([[], [], ['000002']]);
  });

  it('tells again of a request that ran and has ended', async () => {
    const heard = listener();
    live.listen(heard);
    await looks();
    add(2, { state: 'running' });
    await looks();
    rows.shift();
    add(2);
    await looks();
    expect(heard.told).to.deep.equal(['000002', '000002']);
  });

  it('tells each listener of what its filters let through, with one question for all', async () => {
    const [all, failed] = [listener(), listener({ hasError: true })];
    live.listen(all);
    live.listen(failed);
    await looks();
    const [before, startedAt] = [polls, performance.now()];
    add(2);
    add(3, { status: 500 });
    await looks();
    expect(polls - before).to.be.at.most(2 + (performance.now() - startedAt) / EVERY_MS);
    expect(all.told).to.deep.equal(['000003', '000002']);
    expect(failed.told).to.deep.equal(['000003']);
  });

  it('tells a list of pinned requests of no other', async () => {
    const heard = listener({ pinned: true });
    live.listen(heard);
    await looks();
    add(2);
    add(3);
    pinned = ['000002'];
    await looks();
    expect([heard.greeted, heard.told]).to.deep.equal([[], ['000002']]);
  });

  it('asks nothing while nobody listens', async () => {
    const leave = live.listen(listener());
    await looks();
    leave?.();
    const before = polls;
    await sleep(5 * EVERY_MS);
    expect(polls).to.equal(before);
  });

  it('takes so many listeners and no more', () => {
    expect(live.listen(listener())).to.not.equal(null);
    const leave = live.listen(listener());
    expect(live.listen(listener())).to.equal(null);
    leave?.();
    expect(live.listen(listener())).to.not.equal(null);
  });

  it('ends with the profiler, and where the server closes', async () => {
    const [one, other] = [listener(), listener()];
    live.listen(one);
    live.listen(other);
    one.leaving = true;
    await until(() => one.ended, 'the end of the one that leaves');
    await looks();
    expect([one.ended, other.ended]).to.deep.equal([true, false]);
    live.close();
    expect(other.ended).to.equal(true);
    expect(live.listen(listener())).to.equal(null);
  });
});
