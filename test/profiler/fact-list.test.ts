import { expect } from 'chai';
import { FactList, type Repeating } from '../../app/profiler/record/fact-list.ts';

interface Fact {
  sql: string;
  startMs: number;
  durationMs: number | null;
  error: string | null;
}

const REPEATED: Repeating<Fact> = { key: ({ sql }) => sql };
const BYTES = 100;
/** Half of the room is for the first facts of a kind: 100 facts. */
const ROOM = 2 * 100 * BYTES;

function factOf(sql: string, startMs: number, changes: Partial<Fact> = {}): Fact {
  return { sql, startMs, durationMs: 1, error: null, ...changes };
}

describe('a list of facts', () => {
  function listOf(count: number, at: Readonly<Record<number, Partial<Fact>>> = {}): FactList<Fact> {
    const list = new FactList<Fact>({ bytes: ROOM, used: 0 });
    for (let index = 0; index < count; index++)
      list.add(factOf('select', index * 2, at[index]), BYTES, REPEATED);
    return list;
  }

  it('keeps the first and the last of many, in order, and counts the rest', () => {
    const list = listOf(1000);
    const starts = list.all().map(({ startMs }) => startMs / 2);
    expect(starts.slice(0, 100)).to.deep.equal(Array.from({ length: 100 }, (_, index) => index));
    expect(starts.slice(100)).to.deep.equal(Array.from({ length: 100 }, (_, index) => 900 + index));
    const { count, byKey } = list.beyond(() => 2000) ?? {};
    expect(count).to.equal(800);
    expect(byKey?.get('select')).to.include({ count: 800, durationMs: 800, slowestMs: 1, failed: 0 });
  });

  it('keeps what failed or was slow, and the first few of another statement', () => {
    const list = listOf(1000, {
      300: { error: 'deadlock' },
      400: { durationMs: 250 },
      500: { durationMs: 40 },
      ...Object.fromEntries([600, 601, 602, 603, 604].map((at) => [at, { sql: 'update' }])),
    });
    const between = list.all().slice(100, -100);
    expect(between.map(({ startMs }) => startMs / 2)).to.deep.equal([300, 400, 600, 601, 602]);
    const { byKey } = list.beyond(() => 2000) ?? {};
    expect(byKey?.get('select')).to.include({ slowestMs: 40, failed: 0 });
    expect(byKey?.get('update')?.count).to.equal(2);
  });

  it('counts failures that repeat without end, too', () => {
    const all = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [at, { error: 'refused' }]));
    const { count = 0, byKey } = listOf(1000, all).beyond(() => 2000) ?? {};
    expect(count).to.be.within(700, 790);
    expect(byKey?.get('select')?.failed).to.equal(count);
  });

  it('decides at its end about one that runs', () => {
    const running = factOf('slow', 300, { durationMs: null });
    const list = listOf(150);
    list.add(running, BYTES, REPEATED);
    for (let index = 200; index < 700; index++) list.add(factOf('select', index * 2), BYTES, REPEATED);
    const before = list.beyond(() => 2000);
    expect(list.all()).to.not.include(running);
    const { startMs = 0, durationMs = 0 } = before?.stretches.at(-1) ?? {};
    expect(startMs + durationMs, 'until now').to.equal(2000);
    running.durationMs = 500;
    expect(list.all()).to.include(running);
    expect(list.beyond(() => 2000)?.count).to.equal((before?.count ?? 0) - 1);
  });

  it('says when those ran that are only counted', () => {
    const gap = Array.from({ length: 1000 }, (_, at) => [at, { startMs: at < 500 ? at : at + 1000 }]);
    const stretches = listOf(1000, Object.fromEntries(gap) as Record<number, Partial<Fact>>).beyond(
      () => 9000,
    );
    expect(stretches?.stretches).to.deep.equal([
      { startMs: 100, durationMs: 400 },
      { startMs: 1500, durationMs: 400 },
    ]);
  });

  it('leaves room for each kind, whatever another one took', () => {
    const room = { bytes: ROOM, used: ROOM };
    const list = new FactList<Fact>(room);
    for (let index = 0; index < 200; index++) list.add(factOf('select', index), BYTES, REPEATED);
    expect(list.all().slice(0, -100)).to.have.length(12);
  });

  it('counts facts that do not repeat, and those that were not made', () => {
    const list = new FactList<string>({ bytes: ROOM, used: 0 });
    for (let index = 0; index < 150; index++) list.add(`value ${index}`, BYTES, undefined);
    expect(list.isFull).to.equal(true);
    list.count();
    expect(list.all()).to.have.length(100);
    expect(list.beyond(() => 0)).to.include({ count: 51 });
  });
});
